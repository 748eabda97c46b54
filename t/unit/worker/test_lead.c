/* The timer worker's part: what the ledger tells of the dead gets its lines, and is forgotten only then. */
#include "t/unit/worker/rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/cases.h"
#include "worker/lead.h"

static struct rig rig, *r = &rig;
static struct lead *lead;
static unsigned settled;
static uint64_t term;

static void on_led(uint64_t t, void *arg)
{
        (void) arg;
        term = t;
}

static void on_settled(const char *owner, bool trees_gone, void *arg)
{
        (void) owner, (void) trees_gone, (void) arg;
        settled++;
}

static int up(void **state)
{
        (void) state;
        rig_up(r);
        settled = 0;
        term = 0;
        struct lead_options o = { .delays = r->delays, .place = board_place(r->board, r->place),
                                  .shortfalls = r->shortfalls, .local = &r->ledger,
                                  .node = "n", .owner = "n.0.1.s", .boot = "b", .life = 3, .led = on_led,
                                  .settled = on_settled };
        return lead_open(&o, &lead);
}

static int down(void **state)
{
        (void) state;
        lead_cancel(lead);
        lead_free(lead);
        rig_down(r);
        return 0;
}

static struct told_range *one_told(void)
{
        struct told_range *t = calloc(1, sizeof(*t));

        assert_non_null(t);
        *t = (struct told_range) { .task = "mail", .first = { 10 }, .last = { 30 }, .count = 3, .state = STATE_MISSED,
                                   .cause = CAUSE_NOBODY, .owner = "n.1.7.s" };
        return t;
}

static struct ended_record *one_ended(void)
{
        struct ended_record *e = calloc(1, sizeof(*e));

        assert_non_null(e);
        *e = (struct ended_record) { .task = "mail", .trig = "n.1.7.s.5", .state = STATE_INTERRUPTED,
                                     .cause = CAUSE_WORKER_DIED };
        return e;
}

/* A worker's death and that of its trees come one right after the other. */
static void the_second_step_of_a_death_waits_until_the_first_is_said(void **state)
{
        (void) state;
        assert_int_equal(lead_gone(lead, "n.1.7.s", false), 0);
        assert_int_equal(lead_gone(lead, "n.1.7.s", true), 0);
        assert_int_equal(lead_gone(lead, "n.2.8.s", true), 0);
        assert_int_equal(r->call_count, 2);
        assert_string_equal(r->calls[1]->in.interrupt.owner, "n.2.8.s");
        struct ledger_call *first = r->calls[0];
        assert_false(first->in.interrupt.trees_gone);
        first->out.interrupt = (struct interrupt_out) { one_ended(), 1, NULL, 0 };
        first->done(first);
        assert_int_equal(r->call_count, 3);
        assert_int_equal(first->op, LEDGER_SAID);
        first->done(first);
        assert_int_equal(settled, 1);
        assert_int_equal(r->call_count, 4);
        assert_int_equal(rig_call(r)->op, LEDGER_INTERRUPT);
        assert_true(rig_call(r)->in.interrupt.trees_gone);
        rig_answer_call(r, 0);
        r->calls[1]->done(r->calls[1]);
        assert_int_equal(settled, 3);
        assert_int_equal(rig_lines("finish"), 1);
}

static void a_step_that_waits_ends_with_the_worker(void **state)
{
        (void) state;
        assert_int_equal(lead_gone(lead, "n.1.7.s", false), 0);
        assert_int_equal(lead_gone(lead, "n.1.7.s", true), 0);
        lead_cancel(lead);
        rig_answer_call(r, -ECANCELED);
        assert_int_equal(r->call_count, 1);
        assert_int_equal(settled, 0);
}

static void answer_gone(void)
{
        assert_int_equal(lead_gone(lead, "n.1.7.s", true), 0);
        struct ledger_call *c = rig_call(r);
        assert_int_equal(c->op, LEDGER_INTERRUPT);
        c->out.interrupt = (struct interrupt_out) { one_ended(), 1, one_told(), 1 };
        rig_answer_call(r, 0);
}

static void assert_lines(void)
{
        assert_int_equal(rig_lines("finish"), 1);
        assert_string_equal(rig_line("finish", 0)->what, "of");
        assert_int_equal(rig_lines("range"), 1);
        assert_string_equal(rig_line("range", 0)->trig, "n.1.7.s");
        assert_int_equal(rig_line("range", 0)->first.ms, 10);
        assert_int_equal(rig_line("range", 0)->last.ms, 30);
        assert_int_equal(rig_line("range", 0)->cause, CAUSE_NOBODY);
}

static void what_a_dead_worker_decided_is_logged_in_its_place(void **state)
{
        (void) state;
        answer_gone();
        assert_lines();

        /* Only with the lines written the ledger may forget, and the master. */
        assert_int_equal(rig_call(r)->op, LEDGER_SAID);
        assert_string_equal(rig_call(r)->in.said.owner, "n.1.7.s");
        assert_int_equal(settled, 0);
        rig_answer_call(r, 0);
        assert_int_equal(settled, 1);
}

static void a_ledger_that_does_not_hear_it_delays_nothing(void **state)
{
        (void) state;
        answer_gone();
        rig_answer_call(r, -EAGAIN);
        assert_int_equal(settled, 1);
}

static void what_could_not_be_written_stays_to_be_told(void **state)
{
        (void) state;
        rig_log.state = -ENOSPC;
        answer_gone();
        assert_int_equal(r->call_count, 1);
        assert_int_equal(settled, 1);
}

static void the_leader_logs_what_an_earlier_life_decided(void **state)
{
        (void) state;
        lead_take(lead);
        rig_call(r)->out.lead = (struct lead_out) { 8, one_ended(), 1, one_told(), 1 };
        rig_answer_call(r, 0);
        assert_lines();
        assert_int_equal(term, 8);
        assert_int_equal(rig_call(r)->op, LEDGER_SAID);
        assert_null(rig_call(r)->in.said.owner);
        assert_int_equal(rig_call(r)->in.said.life, 3);
        rig_answer_call(r, 0);
}

static void nothing_told_needs_no_word(void **state)
{
        (void) state;
        lead_take(lead);
        rig_answer_call(r, 0);
        assert_int_equal(r->call_count, 1);
        assert_int_equal(lead_gone(lead, "n.1.7.s", false), 0);
        rig_answer_call(r, 0);
        assert_int_equal(r->call_count, 2);
        assert_int_equal(settled, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(the_second_step_of_a_death_waits_until_the_first_is_said),
                CASE(a_step_that_waits_ends_with_the_worker),
                CASE(what_a_dead_worker_decided_is_logged_in_its_place),
                CASE(a_ledger_that_does_not_hear_it_delays_nothing),
                CASE(what_could_not_be_written_stays_to_be_told),
                CASE(the_leader_logs_what_an_earlier_life_decided),
                CASE(nothing_told_needs_no_word),
        };

        return RUN_CASES(argc, argv, "lead", tests);
}
