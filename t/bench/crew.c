/* Forking a crew: members meet at a count in shared memory, so that none begins while another prepares. */
#include "t/bench/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/bench/times.h"

#define MEMBERS_MAX 64

struct crew_shared {
        _Atomic int prepared;
        int count;
        _Atomic int64_t begin_ns;
        int64_t seconds;
        struct { int64_t done, cpu_ns, end_ns; } members[MEMBERS_MAX];
};

void crew_begin(struct crew_member *m)
{
        struct crew_shared *s = m->shared;

        /* The last one sets the moment, a little ahead, so that nobody wakes up late for it. */
        if (atomic_fetch_add(&s->prepared, 1) + 1 == s->count)
                atomic_store(&s->begin_ns, times_mono_ns() + 20000000);
        while (atomic_load(&s->begin_ns) == 0)
                (void) usleep(500);
        int64_t begin = atomic_load(&s->begin_ns);
        struct timespec at = { begin / 1000000000, begin % 1000000000 };
        (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        m->until_ns = begin + s->seconds * 1000000000;
        m->cpu_begin_ns = times_cpu_ns();
}

bool crew_goes_on(const struct crew_member *m)
{
        return times_mono_ns() < m->until_ns;
}

static void member(struct crew_shared *s, int index, int64_t (*work)(struct crew_member *m, void *arg), void *arg)
{
        struct crew_member m = { .index = index, .shared = s };

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        s->members[index].done = work(&m, arg);
        s->members[index].end_ns = times_mono_ns();
        s->members[index].cpu_ns = times_cpu_ns() - m.cpu_begin_ns;
        _exit(s->members[index].done >= 0 ? 0 : 71);
}

static int gather(const struct crew_shared *s, int count, struct crew_sum *ret)
{
        int64_t end = 0;

        *ret = (struct crew_sum) { 0 };
        for (int i = 0; i < count; i++) {
                ret->done += (uint64_t) s->members[i].done;
                ret->cpu_ns += s->members[i].cpu_ns;
                if (s->members[i].end_ns > end)
                        end = s->members[i].end_ns;
        }
        ret->seconds = (double) (end - atomic_load(&s->begin_ns)) / 1e9;
        return ret->seconds > 0 ? 0 : -EIO;
}

int crew_run(int count, int64_t seconds, int64_t (*work)(struct crew_member *m, void *arg), void *arg,
             struct crew_sum *ret)
{
        struct crew_shared *s;
        pid_t pids[MEMBERS_MAX];
        int r = 0, started = 0;

        if (count < 1 || count > MEMBERS_MAX || seconds < 1)
                return -EINVAL;
        s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (s == MAP_FAILED)
                return -errno;
        s->count = count;
        s->seconds = seconds;
        for (; started < count; started++) {
                pids[started] = fork();
                if (pids[started] == 0)
                        member(s, started, work, arg);
                if (pids[started] < 0) {
                        r = -errno;
                        break;
                }
        }
        for (int left = started; left > 0; left--) {
                int status;
                pid_t pid = wait(&status);
                if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
                        continue;
                /* The others may wait for it at the beginning. */
                if (r == 0)
                        for (int i = 0; i < started; i++)
                                if (pids[i] != pid)
                                        (void) kill(pids[i], SIGKILL);
                r = -EIO;
        }
        if (r == 0)
                r = gather(s, count, ret);
        (void) munmap(s, sizeof(*s));
        return r;
}

void crew_print(const struct crew_sum *s)
{
        (void) printf("{\"done\":%llu,\"seconds\":%.3f,\"per_second\":%.1f,\"cpu_us\":%.2f}\n",
                      (unsigned long long) s->done, s->seconds, (double) s->done / s->seconds,
                      s->done ? (double) s->cpu_ns / 1e3 / (double) s->done : 0.0);
}
