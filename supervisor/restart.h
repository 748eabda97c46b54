/* What follows the death of a child: a pure function, so that its table is its test. */
#ifndef ONCED_RESTART_H
#define ONCED_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#define STABLE_MS         10000   /* a life this long starts the count of deaths anew */
#define BACKOFF_FIRST_MS  100
#define BACKOFF_MAX_MS    30000
#define CRASH_LOOP_DEATHS 5       /* from here on the slot is called one in a crash loop */
#define JITTER_SCALE      1024    /* jitter is given as 0..JITTER_SCALE */

enum restart { RESTART_NOW, RESTART_AFTER_BACKOFF, RESTART_NEVER };

struct death {
        int status;          /* as waitpid gives it */
        bool said_ready;
        int64_t age_ms;
        unsigned recent;     /* deaths before this one, each after a short life */
};

struct verdict {
        enum restart restart;
        int64_t after_ms;    /* 0 unless after a back-off */
        unsigned recent;     /* for the next death */
};

struct verdict restart_verdict(const struct death *d, unsigned jitter);

/* 100 ms after the first death, doubled with each further one up to 30 s, 20 % more or less by jitter. */
int64_t restart_backoff_ms(unsigned deaths, unsigned jitter);

/* Anything but an end by own will. */
bool death_was_crash(int status);

#endif
