/* The arguments of one command, gathered in one piece of memory and kept until its reply has come, since the
 * same arguments may have to be sent again. */
#ifndef ONCED_REDIS_ARGS_H
#define ONCED_REDIS_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/clock.h"

struct redis_args {
        struct buf bytes;
        struct buf ends;      /* of size_t: where each argument ends */
};

void redis_args_done(struct redis_args *a);
void redis_args_bytes(struct redis_args *a, const void *bytes, size_t len);
void redis_args_text(struct redis_args *a, const char *text);      /* NULL: "" */
void redis_args_int(struct redis_args *a, int64_t v);              /* plain decimal */
void redis_args_instant(struct redis_args *a, struct instant i);   /* 15 digits; INSTANT_NONE: "" */

size_t redis_args_count(const struct redis_args *a);

/* Fills argv and lens, redis_args_count each. The pointers hold until the next change of `a`. */
void redis_args_list(const struct redis_args *a, const char **argv, size_t *lens);

/* 0, or -ENOMEM when one of the additions failed. */
int redis_args_state(const struct redis_args *a);

#endif
