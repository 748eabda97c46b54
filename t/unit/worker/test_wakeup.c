/* The wake-up, by a clock that the test sets: the calls of libc are replaced when this is linked. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "t/unit/cases.h"
#include "worker/wakeup.h"

static int64_t wall_ahead_ns, boot_ahead_ns;
static int timer_fd;
static bool has_news;            /* the clock was set, and the kernel has told nobody yet */
static unsigned due_count, step_count;
static struct clock_jump newest;
static uv_loop_t loop;
static uv_timer_t patience;      /* a wake-up that never comes is a failure and not a test without end */
static struct wakeup *wakeup;

int clock_gettime(clockid_t id, struct timespec *ts)
{
        int r = (int) syscall(SYS_clock_gettime, id, ts);
        int64_t ahead = id == CLOCK_REALTIME ? wall_ahead_ns : id == CLOCK_BOOTTIME ? boot_ahead_ns : 0;
        int64_t ns = (int64_t) ts->tv_sec * NS_PER_S + ts->tv_nsec + ahead;

        ts->tv_sec = ns / NS_PER_S;
        ts->tv_nsec = ns % NS_PER_S;
        return r;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
        struct itimerspec own = *at;
        int64_t ns = (int64_t) at->it_value.tv_sec * NS_PER_S + at->it_value.tv_nsec - wall_ahead_ns;

        timer_fd = fd;
        own.it_value.tv_sec = ns > 1 ? ns / NS_PER_S : 0;
        own.it_value.tv_nsec = ns > 1 ? ns % NS_PER_S : 1;
        assert_int_equal(syscall(SYS_timerfd_settime, fd, flags, &own, old), 0);
        assert_true(at->it_value.tv_sec || at->it_value.tv_nsec);   /* it is never off */
        if (!has_news)
                return 0;
        has_news = false;
        errno = ECANCELED;
        return -1;
}

ssize_t read(int fd, void *buf, size_t count)
{
        ssize_t n = syscall(SYS_read, fd, buf, count);

        if (fd != timer_fd || !has_news)
                return n;
        has_news = false;
        errno = ECANCELED;
        return -1;
}

static void on_due(void *arg)
{
        (void) arg;
        due_count++;
        uv_stop(&loop);
}

static void on_stepped(const struct clock_jump *jump, void *arg)
{
        (void) arg;
        step_count++;
        newest = *jump;
        uv_stop(&loop);
}

static void on_impatient(uv_timer_t *t)
{
        (void) t;
        uv_stop(&loop);
}

static int up(void **state)
{
        static const struct wakeup_calls calls = { on_due, on_stepped, NULL };
        (void) state;

        wall_ahead_ns = boot_ahead_ns = 0;
        due_count = step_count = 0;
        has_news = false;
        assert_int_equal(uv_loop_init(&loop), 0);
        (void) uv_timer_init(&loop, &patience);
        (void) uv_timer_start(&patience, on_impatient, 5000, 0);
        assert_int_equal(wakeup_open(&loop, &calls, &wakeup), 0);
        return 0;
}

static void on_closed(void *arg)
{
        (void) arg;
}

static int down(void **state)
{
        (void) state;
        uv_close((uv_handle_t *) &patience, NULL);
        wakeup_close(wakeup, on_closed, NULL);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        return uv_loop_close(&loop);
}

static struct instant in_s(int64_t s)
{
        return (struct instant) { stamp_instant(clock_wall()).ms + s * MS_PER_S };
}

/* What the kernel does with a timer that asked to be told. */
static void set_clock(int64_t ns)
{
        static const struct itimerspec now = { .it_value = { 0, 1 } };

        wall_ahead_ns += ns;
        has_news = true;
        assert_int_equal(syscall(SYS_timerfd_settime, timer_fd, TFD_TIMER_ABSTIME, &now, NULL), 0);
}

static void an_instant_that_has_come_is_due(void **state)
{
        (void) state;
        assert_int_equal(wakeup_arm(wakeup, in_s(-1)), 0);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(due_count, 1);
        assert_int_equal(step_count, 0);
}

static void a_step_is_told_with_its_amount(void **state)
{
        (void) state;
        assert_int_equal(wakeup_arm(wakeup, in_s(3600)), 0);
        set_clock(-1800 * NS_PER_S);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(due_count, 0);
        assert_int_equal(step_count, 1);
        assert_true(newest.wall_ns < -1799 * NS_PER_S && newest.wall_ns > -1801 * NS_PER_S);
        assert_int_equal(newest.slept_ns, 0);
}

static void a_step_whose_notice_the_next_setting_takes_is_not_lost(void **state)
{
        (void) state;
        assert_int_equal(wakeup_arm(wakeup, in_s(3600)), 0);
        set_clock(-1800 * NS_PER_S);
        assert_int_equal(wakeup_arm(wakeup, in_s(7200)), 0);
        assert_false(has_news);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(step_count, 1);
}

static void a_step_while_nothing_is_planned_is_told(void **state)
{
        (void) state;
        assert_int_equal(wakeup_arm(wakeup, INSTANT_NONE), 0);
        set_clock(NS_PER_S);
        assert_int_equal(wakeup_arm(wakeup, INSTANT_NONE), 0);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(step_count, 1);
}

static void a_timer_that_ran_out_before_the_notice_tells_of_the_step(void **state)
{
        (void) state;
        wall_ahead_ns = 3600 * NS_PER_S;
        assert_int_equal(wakeup_arm(wakeup, in_s(-1)), 0);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(due_count, 0);
        assert_int_equal(step_count, 1);
        /* Told once: the next wake-up is an ordinary one. */
        assert_int_equal(wakeup_arm(wakeup, in_s(-1)), 0);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(due_count, 1);
        assert_int_equal(step_count, 1);
}

static void suspend_is_not_a_step(void **state)
{
        (void) state;
        assert_int_equal(wakeup_arm(wakeup, in_s(3600)), 0);
        boot_ahead_ns = 7200 * NS_PER_S;
        set_clock(7200 * NS_PER_S);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(step_count, 1);
        assert_int_equal(newest.wall_ns, 0);
        assert_true(newest.slept_ns > 7199 * NS_PER_S && newest.slept_ns < 7201 * NS_PER_S);
}

/* A clock in small steps all the time is one that is kept right; what they come to is still noticed. */
static void small_steps_add_up_until_they_are_told(void **state)
{
        (void) state;
        for (int i = 0; i < 4 && step_count == 0; i++) {
                assert_int_equal(wakeup_arm(wakeup, in_s(3600 + i)), 0);
                set_clock(600 * NS_PER_US);
                (void) uv_run(&loop, UV_RUN_DEFAULT);
        }
        assert_true(due_count >= 1);
        assert_int_equal(step_count, 1);
        assert_true(newest.wall_ns >= NS_PER_MS);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                CASE(an_instant_that_has_come_is_due),
                CASE(a_step_is_told_with_its_amount),
                CASE(a_step_whose_notice_the_next_setting_takes_is_not_lost),
                CASE(a_step_while_nothing_is_planned_is_told),
                CASE(a_timer_that_ran_out_before_the_notice_tells_of_the_step),
                CASE(suspend_is_not_a_step),
                CASE(small_steps_add_up_until_they_are_told),
        };

        return RUN_CASES(argc, argv, "wakeup", tests);
}
