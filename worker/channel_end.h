/* A child's end of its channel to the master, on the loop. */
#ifndef ONCED_CHANNEL_END_H
#define ONCED_CHANNEL_END_H

#include <stdint.h>
#include <uv.h>

#include "common/channel/channel.h"

struct birth;
struct channel_end;

struct channel_calls {
        /* `fd` is the callee's; -1: none came along. */
        void (*message)(const struct message *m, int fd, void *arg);
        void (*orphaned)(void *arg);       /* the master is gone */
        void *arg;
};

int channel_end_open(uv_loop_t *loop, const struct birth *b, const struct channel_calls *calls,
                     struct channel_end **ret);

/* Sends, now or as soon as the master reads. `owner` may be NULL. */
void channel_end_say(struct channel_end *c, enum message_type type, uint64_t value, const char *owner,
                     bool trees_gone);

void channel_end_close(struct channel_end *c, void (*closed)(void *arg), void *arg);

#endif
