/* Cases about queues on a real Redis server: one task, and short words for what is asked about it. */
#ifndef ONCED_T_REDIS_QUEUE_H
#define ONCED_T_REDIS_QUEUE_H

#include "t/unit/ledger/conformance.h"
#include "t/unit/ledger/redis_server.h"

#define QUEUE_UNIT "0:,4:" WORLD_TASK ",0"

/* A lease of one second makes the deadline of a command 166 ms. */
extern struct task queue_task;

/* A world on the shared server, and its end. */
void queue_begin(struct world *w);
void queue_end(struct world *w);

/* Claims the instant `at`; the fence is in `texts` when it is granted. */
enum outcome queue_claim(struct world *w, int at, struct ask_texts *texts);

/* The first one runs, `waiting` more wait. */
void queue_fill(struct world *w, int waiting, struct ask_texts *texts);

/* The end of the first run, that takes what is next with the words of attempt `n`; 0: and takes nothing. */
void queue_prepare_finish(struct world *w, struct ask_texts *texts, int n, struct take_texts *words,
                          struct take_in *take, struct ledger_call *ret);
struct finish_out queue_finish(struct world *w, struct ask_texts *texts, int n);

/* Attempt `n` of `owner` (NULL: the world's); `stale_occ` is what it has watched, "" nothing. */
struct take_out queue_take(struct world *w, const char *owner, int n, const char *stale_occ);

unsigned queue_depth(struct world *w);

/* Names of keys of the group, valid until the next. */
const char *queue_key(const struct world *w, const char *name);
const char *queue_key_of(const struct world *w, const char *kind, const char *occ);

#endif
