/* What the files of the conformance table share among themselves. */
#ifndef ONCED_CONFORMANCE_CASES_H
#define ONCED_CONFORMANCE_CASES_H

#include "t/unit/cases.h"
#include "t/unit/ledger/conformance.h"

int conformance_begin(void **state);
int conformance_end(void **state);
#define CONFORMANCE_CASE(f) cmocka_unit_test_setup_teardown(f, conformance_begin, conformance_end)

/* The world of this case; skips it when the store lacks one of the operations in `needs` (bits). */
struct world *conformance_world(void **state, unsigned needs);

/* Each sends one call and asserts that the ledger decided. `ret` may be NULL. */
enum outcome try_claim(struct world *w, struct ask a, struct ledger_call *ret);
void granted(struct world *w, struct ask a, struct ask_texts *texts);
enum finished try_finish(struct world *w, struct ask a, struct ask_texts *texts, enum state state);
struct peek_out peeked(struct world *w, unsigned shard);
size_t history_count(struct world *w, enum state state);

/* Queues (conformance_queue.c): a world in which queue_first runs and `waiting` more wait, at -8, -7, .. */
#define QUEUE_OTHER "there-0a1b2c3d.1.77.9-cccc"
#define QUEUE_NEEDS (1u << LEDGER_TAKE | 1u << LEDGER_QUEUED)
extern const struct ask queue_first;
struct world *queue_world(void **state, unsigned needs, int waiting, struct ask_texts *texts);
enum outcome try_queue(struct world *w, int at, struct ledger_call *ret);

/* The `n`th take of an owner, NULL: the world's. Its lists are freed. */
struct take_out try_take(struct world *w, const char *owner, int n);
void assert_taken(struct world *w, const struct take_out *out, int at);

/* Ends the run of the claim `a`, and takes the oldest. */
struct finish_out finish_and_take(struct world *w, struct ask a, struct ask_texts *words, enum state state, int n);

/* Ends the run that the `n`th take began at `at`, and takes the next as the `next`th take, unless that is 0. */
struct finish_out finish_taken(struct world *w, const char *owner, int n, const struct take_out *took, int at,
                               int next);

extern const struct CMUnitTest claim_cases[], life_cases[], death_cases[], queue_cases[], waiting_cases[],
                               node_cases[], move_cases[];
extern const size_t claim_case_count, life_case_count, death_case_count, queue_case_count,
                    waiting_case_count, node_case_count, move_case_count;

#endif
