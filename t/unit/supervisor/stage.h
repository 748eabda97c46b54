/* A real master with children of the test's own: tiny ones that say READY, beat, and do what the test wants.
 * What they see and do stands in memory shared with the test. */
#ifndef ONCED_STAGE_H
#define ONCED_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/birth.h"
#include "common/config/config.h"
#include "common/record/ids.h"
#include "common/scoreboard/scoreboard.h"

#define SLOTS 16
#define CONSOLE (SLOTS - 1)   /* where the console is noted */

enum play {
        PLAY_FAIR,            /* does as told */
        PLAY_CRASH,           /* dies before READY */
        PLAY_REFUSE,          /* ends with a configuration error */
        PLAY_SILENT,          /* never says READY */
        PLAY_LIAR,            /* says READY in another's name, and nonsense */
        PLAY_STUBBORN,        /* does not answer DRAIN; to STOP it ends with EXIT_KILLED */
        PLAY_DEAD_EARS,       /* answers neither */
        PLAY_DEAF,            /* closes its channel and lives on */
};

struct told {
        char owner[OWNER_TEXT];
        unsigned trees_gone;
        unsigned by;          /* slot of the one that was told */
};

/* Shared between test, master and children. */
struct notes {
        _Atomic int play[SLOTS];
        _Atomic int pid[SLOTS], births[SLOTS], readies[SLOTS], leads[SLOTS];
        _Atomic int drains[SLOTS], stops[SLOTS], reopens[SLOTS], log_fds[SLOTS];
        _Atomic int leader;           /* who was told last, -1 */
        _Atomic bool mute;            /* GONE is noted and not answered */
        _Atomic bool keeper;          /* a new worker starts a process that holds lock and tree pipe */
        _Atomic int keeper_pid;
        _Atomic int stranger;         /* the console leaves an orphan: counts down */
        _Atomic int verb;             /* the console asks this once */
        _Atomic int told_count;
        struct told told[64];
        struct master_facts facts;    /* as the console sees them; `facts_turn` counts */
        _Atomic int facts_turn;
        /* what a child found at birth, worker 0 and console */
        _Atomic int fds[SLOTS], blocked[SLOTS], ppid[SLOTS], term_default[SLOTS];
        char owner[SLOTS][OWNER_TEXT];
};

struct stage {
        struct notes *notes;
        struct config config;
        char folder[64], state_dir[96], run_dir[96], log_dir[96], socket[108];
        pid_t master;
        int ready;            /* read end: a newline at READY */
};

void stage_open(struct stage *s, unsigned workers);
void stage_start(struct stage *s);              /* forks the master */
bool stage_ready(struct stage *s);              /* waits for the newline; false: the master ended before */
int stage_end(struct stage *s);                 /* waits for the master: its exit code, -signal */
void stage_close(struct stage *s);              /* kills what is left, removes the folder */
pid_t stage_second(struct stage *s);            /* one more master over the same folders */
int stage_code(pid_t pid);
/* This process, a fork, becomes the master and ends as it; `passed` >= 0 becomes descriptor 3. */
void stage_become_master(struct stage *s, int passed) __attribute__((noreturn));

int stage_master_fds(const struct stage *s);    /* how many the master has open */
bool stage_alive(pid_t pid);                    /* and no zombie */
const struct told *stage_told(const struct stage *s, const char *owner, unsigned trees_gone);
struct master_facts stage_facts(struct stage *s);   /* fresh ones, from the console */
bool stage_log_has(const struct stage *s, const char *text);
bool stage_roster_has(const struct stage *s, const char *text);

/* Polls `condition` for ten seconds. */
#define UNTIL(condition)                                                                           \
        do {                                                                                       \
                int tries_ = 0;                                                                    \
                while (!(condition)) {                                                             \
                        if (++tries_ > 5000)                                                       \
                                fail_msg("not within 10 s: %s", #condition);                       \
                        (void) usleep(2000);                                                       \
                }                                                                                  \
        } while (0)

#endif
