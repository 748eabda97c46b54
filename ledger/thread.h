/* A ledger's own thread: the loop hands calls over and never waits for a disk or a lock. What waits while the
 * thread is busy is served as one batch. */
#ifndef ONCED_LEDGER_THREAD_H
#define ONCED_LEDGER_THREAD_H

#include "ledger/ledger.h"

struct ledger_thread;

/* What runs on the thread; all get `store`. */
struct thread_work {
        /* Answers every call of the list (by `next`): error, why and out. */
        void (*serve)(void *store, struct ledger_call *calls);
        /* First of all, after each batch's answers left, and when its time has come: opening, repairs,
         * upkeep. Returns the ms until it wants to run again; below 0: not before the next batch. */
        int64_t (*tend)(void *store);
        /* Last of all. */
        void (*end)(void *store);
};

/* *ret is set before the first callback on the thread. `batch`: most calls in one list. */
int ledger_thread_start(uv_loop_t *loop, const struct thread_work *work, void *store, size_t batch,
                        ledger_health_cb health, void *arg, struct ledger_thread **ret);

/* Calls of one turn of the loop go over together. */
void ledger_thread_send(struct ledger_thread *t, struct ledger_call *c);

/* From the thread: the newest health is told on the loop, before the answers of the batch. */
void ledger_thread_report(struct ledger_thread *t, enum ledger_health h, const char *why);

/* What has not begun is answered with -ECANCELED, what runs with its own answer. `closed` runs on the loop
 * when the thread is gone (it must not be NULL); `t` is freed then. */
void ledger_thread_close(struct ledger_thread *t, void (*closed)(void *arg), void *arg);

#endif
