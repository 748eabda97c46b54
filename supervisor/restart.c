/* When a dead child is born again. A long life is forgiven at once; short ones wait longer each time;
 * what the configuration has caused no restart can cure. */
#include "supervisor/restart.h"

#include <sys/wait.h>

#include "common/exits.h"

bool death_was_crash(int status)
{
        return !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_FINE;
}

int64_t restart_backoff_ms(unsigned deaths, unsigned jitter)
{
        int64_t ms = BACKOFF_FIRST_MS;

        for (unsigned i = 1; i < deaths && ms < BACKOFF_MAX_MS; i++)
                ms *= 2;
        if (ms > BACKOFF_MAX_MS)
                ms = BACKOFF_MAX_MS;
        if (jitter > JITTER_SCALE)
                jitter = JITTER_SCALE;
        ms = ms * 4 / 5 + ms * 2 / 5 * jitter / JITTER_SCALE;
        return ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms;
}

struct verdict restart_verdict(const struct death *d, unsigned jitter)
{
        if (WIFEXITED(d->status) && WEXITSTATUS(d->status) == EXIT_CONFIGURATION)
                return (struct verdict) { .restart = RESTART_NEVER, .recent = d->recent };
        if (d->said_ready && d->age_ms >= STABLE_MS)
                return (struct verdict) { .restart = RESTART_NOW };

        unsigned recent = d->recent < UINT16_MAX ? d->recent + 1 : d->recent;
        return (struct verdict) {
                .restart = RESTART_AFTER_BACKOFF,
                .after_ms = restart_backoff_ms(recent, jitter),
                .recent = recent,
        };
}
