/* ledger.lock: who waits for it, and who does not. The test itself plays the process that holds it. */
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "t/unit/cases.h"

static const struct ask first = { .at = -9, .expect = -10 };

static int begin(void **state)
{
        (void) sqlite_case(state);
        world_open(*state);
        world_task(*state, 1, -10);
        return 0;
}

static int hold_lock(const struct world *w)
{
        int fd = open(state_path(w, "ledger.lock"), O_RDWR | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        return fd;
}

static void on_done(struct ledger_call *c)
{
        *(bool *) c->arg = true;
}

static void on_timer(uv_timer_t *t)
{
        ++*(int *) t->data;
}

static void on_closed(void *arg)
{
        *(bool *) arg = true;
}

/* The loop's own turns while the ledger's thread waits. */
static void turn(struct world *w, int turns)
{
        uv_timer_t timer;
        int fired = 0;

        assert_int_equal(uv_timer_init(&w->loop, &timer), 0);
        timer.data = &fired;
        assert_int_equal(uv_timer_start(&timer, on_timer, 5, 5), 0);
        while (fired < turns)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        uv_close((uv_handle_t *) &timer, NULL);
        (void) uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void loop_turns_while_the_lock_is_waited_for(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        bool done = false;
        int fd = hold_lock(w);

        ask_claim(w, &first, &texts, &c);
        c.done = on_done;
        c.arg = &done;
        ledger_send(w->ledger, &c);
        turn(w, 10);
        assert_false(done);

        (void) close(fd);
        while (!done)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        assert_int_equal(c.out.claim.outcome, OUTCOME_GRANTED);
}

static void request_is_void_when_the_lock_took_too_long(void **state)
{
        struct world *w = *state;
        struct ask a = first;
        struct ask_texts texts;
        struct ledger_call c;
        bool done = false;
        int fd = hold_lock(w);

        a.void_after_ms = 10;
        ask_claim(w, &a, &texts, &c);
        c.done = on_done;
        c.arg = &done;
        ledger_send(w->ledger, &c);
        turn(w, 10);
        (void) close(fd);
        while (!done)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        assert_int_equal(c.error, -EAGAIN);
        assert_int_equal(file_number(w, "ledger.db", "SELECT count(*) FROM record"), 0);
}

static void close_cancels_what_has_not_begun(void **state)
{
        struct world *w = *state;
        struct ask_texts texts[3];
        struct ledger_call begun, waiting, late;
        bool begun_done = false, waiting_done = false, late_done = false, closed = false;
        int fd = hold_lock(w);

        ask_claim(w, &first, &texts[0], &begun);
        begun.done = on_done;
        begun.arg = &begun_done;
        ledger_send(w->ledger, &begun);
        turn(w, 5);
        ask_claim(w, &first, &texts[1], &waiting);
        waiting.done = on_done;
        waiting.arg = &waiting_done;
        ledger_send(w->ledger, &waiting);
        turn(w, 5);
        ledger_close(w->ledger, on_closed, &closed);
        ask_claim(w, &first, &texts[2], &late);
        late.done = on_done;
        late.arg = &late_done;
        ledger_send(w->ledger, &late);
        w->ledger = NULL;
        while (!waiting_done || !late_done)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        assert_int_equal(waiting.error, -ECANCELED);
        assert_int_equal(late.error, -ECANCELED);
        assert_false(begun_done);
        assert_false(closed);

        (void) close(fd);
        while (!closed)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        assert_true(begun_done);
        assert_int_equal(begun.error, 0);
        assert_int_equal(begun.out.claim.outcome, OUTCOME_GRANTED);
}

static void reads_do_not_take_the_lock(void **state)
{
        struct world *w = *state;
        struct ledger_call c = { .op = LEDGER_PEEK };
        int fd = hold_lock(w);

        c.in.peek.unit = (struct unit_key) { "", WORLD_TASK, 0 };
        world_call(w, &c);
        assert_int_equal(c.error, 0);
        assert_int_equal(c.out.peek.cursor.ms, world_at(w, -10).ms);
        (void) close(fd);
}

static void lock_on_a_replaced_file_is_taken_anew(void **state)
{
        struct world *w = *state;
        struct ask_texts texts;
        struct ledger_call c;
        bool done = false;

        /* The ledger still has the old file open; the lock that counts is the one at the path. */
        assert_int_equal(unlink(state_path(w, "ledger.lock")), 0);
        int fd = open(state_path(w, "ledger.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(flock(fd, LOCK_EX), 0);

        ask_claim(w, &first, &texts, &c);
        c.done = on_done;
        c.arg = &done;
        ledger_send(w->ledger, &c);
        turn(w, 10);
        assert_false(done);
        (void) close(fd);
        while (!done)
                (void) uv_run(&w->loop, UV_RUN_ONCE);
        assert_int_equal(c.error, 0);
}

static void idle_ledger_does_not_hold_the_loop(void **state)
{
        struct world *w = *state;

        assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, sqlite_case_end)

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                CASE(loop_turns_while_the_lock_is_waited_for),
                CASE(request_is_void_when_the_lock_took_too_long),
                CASE(close_cancels_what_has_not_begun),
                CASE(reads_do_not_take_the_lock),
                CASE(lock_on_a_replaced_file_is_taken_anew),
                CASE(idle_ledger_does_not_hold_the_loop),
        };

        return RUN_CASES(argc, argv, "sqlite_lock", tests);
}
