/* A relay between a ledger and its server, on the ledger's loop, that can lose replies or requests: the network
 * as it must be expected. */
#ifndef ONCED_T_REDIS_CUT_H
#define ONCED_T_REDIS_CUT_H

#include <stdbool.h>
#include <uv.h>

struct redis_cut {
        uv_tcp_t listener;
        unsigned port, to_port;
        char url[64];
        bool lose_replies;       /* what the server says is thrown away from now on */
        bool hold_requests;      /* what the client says is kept back, and sent on by release */
        bool cut_on_request;     /* the client is cut off as soon as its request has gone on */
        struct cut_pair *pairs;
        unsigned open_handles;
};

void redis_cut_start(struct redis_cut *c, uv_loop_t *loop, unsigned to_port);
void redis_cut_release(struct redis_cut *c);   /* held requests go on, also those of clients long gone */
void redis_cut_stop(struct redis_cut *c, uv_loop_t *loop);

#endif
