/* The claim under test and what it told. */
#include "t/unit/worker/claim_rig.h"

#include <stdlib.h>

#include "t/unit/cases.h"

static struct rig rig;
static struct claim claim;
struct rig *const r = &rig;
struct claim *const c = &claim;
struct claimer *claimer;
unsigned done_count, lost_local, lease_late, lease_lost;
char run_dir[64];

static void on_done(struct claim *done)
{
        assert_ptr_equal(done, c);
        done_count++;
}

static void on_notice(struct claim *noticed, enum claim_notice n)
{
        (void) noticed;
        lost_local += n == CLAIM_LOST_LOCAL;
        lease_late += n == CLAIM_LEASE_LATE;
        lease_lost += n == CLAIM_LEASE_LOST;
}

void begin(const struct claim_kind *kind)
{
        r->task.singleton = kind->path;
        r->config.run_dir = run_dir;
        assert_int_equal(kind->open(&r->claims, &r->ledger, &claimer), 0);
        r->job.claimer = claimer;
        claim = (struct claim) {
                .unit = r->unit, .planned = rig_due(r), .expect = r->unit->cursor, .grace_ms = 59000,
                .done = on_done, .notice = on_notice,
        };
        (void) snprintf(c->occ, sizeof(c->occ), "occ");
        (void) snprintf(c->token, sizeof(c->token), "token");
        done_count = lost_local = lease_late = lease_lost = 0;
        claim_ask(claimer, c);
        assert_int_equal(done_count, 0);
}

int claim_rig_up(void **state)
{
        (void) state;
        rig_up(r);
        r->claims.term = 1;
        r->claims.master = (struct process_id) { 7, "9-ab12" };
        (void) snprintf(run_dir, sizeof(run_dir), "/tmp/onced-test-XXXXXX");
        assert_non_null(mkdtemp(run_dir));
        return 0;
}

int claim_rig_down(void **state)
{
        char command[128];
        (void) state;

        claim_release(claimer, c);
        claim_answer_free(c);
        claimer->kind->close(claimer);
        rig_down(r);
        (void) snprintf(command, sizeof(command), "rm -r %s", run_dir);
        return system(command);
}

void grant_call(void)
{
        struct claim_out *out = &rig_call(r)->out.claim;

        out->outcome = OUTCOME_GRANTED;
        out->valid_until.ns = INT64_MAX;
        (void) snprintf(out->fence, sizeof(out->fence), "9");
        rig_answer_call(r, 0);
}

void answer_call(enum outcome outcome)
{
        rig_call(r)->out.claim.outcome = outcome;
        rig_answer_call(r, 0);
}

void revoke_call(enum revoked revoked)
{
        assert_int_equal(rig_call(r)->op, LEDGER_REVOKE);
        assert_string_equal(rig_call(r)->in.revoke.token, "token");
        rig_call(r)->out.revoke.revoked = revoked;
        rig_answer_call(r, 0);
}

void until_called(unsigned before)
{
        for (int i = 0; i < 400 && r->call_count == before; i++)
                rig_pass(r, 5);
        assert_int_equal(r->call_count, before + 1);
}
