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

extern const struct CMUnitTest claim_cases[], life_cases[], death_cases[];
extern const size_t claim_case_count, life_case_count, death_case_count;

#endif
