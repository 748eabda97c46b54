/* What a worker and onced-keeper say to each other. A keeper is the parent of one command: it starts it,
 * reports how it ended, and ends everything the command left behind. It ends the tree also when its control
 * socket closes, so that no command outlives its worker unwatched, and when the right to run it is not prolonged,
 * since a worker that is stopped ends nothing.
 *
 *   onced-keeper VERSION KILL_AFTER_MS LEAVE_CHILDREN UMASK NICE IDENTITY CWD LIMIT COMMAND [ARGUMENT]...
 *
 * Its environment is the command's. Descriptors: 0 /dev/null, 1 and 2 the command's output, then the three
 * below. The two holds are kept open to the keeper's end and never reach the command: whoever waits for the
 * node lock, or for the end of the tree pipe, waits for the tree. */
#ifndef ONCED_KEEPER_H
#define ONCED_KEEPER_H

#include <stdint.h>

#define KEEPER_VERSION   "3"   /* another version is refused: worker and keeper are of one build */
#define KEEPER_CONTROL   3     /* SOCK_SEQPACKET; one message a packet */
#define KEEPER_NODE_LOCK 4     /* may be absent */
#define KEEPER_TREE_PIPE 5     /* may be absent */
#define KEEPER_FDS_END   6

/* Where a command without a slash is looked for, whatever PATH the task has. */
#define KEEPER_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum keeper_argument {
        KEEPER_ARG_VERSION = 1,
        KEEPER_ARG_KILL_AFTER,       /* ms between TERM and KILL */
        KEEPER_ARG_LEAVE_CHILDREN,   /* 0 or 1 */
        KEEPER_ARG_UMASK,            /* octal */
        KEEPER_ARG_NICE,             /* added to the worker's own */
        KEEPER_ARG_IDENTITY,         /* "-", or "uid:gid:group,group,...": numbers, since a static program has no NSS */
        KEEPER_ARG_CWD,
        KEEPER_ARG_LIMIT,            /* ms of CLOCK_BOOTTIME from which the tree may not run; 0 none */
        KEEPER_ARG_COMMAND,
};

#define KEEPER_GROUPS_MAX 64

/* Exit codes of the keeper itself. */
#define KEEPER_EXIT_GONE    0    /* nothing of the tree is left, or it was left on purpose */
#define KEEPER_EXIT_REFUSED 1    /* the command was not started */
#define KEEPER_EXIT_USAGE   64

/* Keeper to worker. */
enum keeper_word {
        KEEPER_STARTED = 1,   /* pid */
        KEEPER_REFUSED,       /* step, error: the command was not started */
        KEEPER_EXITED,        /* status and usage of the command */
        KEEPER_LIMIT,         /* the limit has come, no later one was told: the tree is being ended */
        KEEPER_GONE,          /* left, ended: processes that the command left behind; the keeper exits now */
};

enum keeper_step {
        KEEPER_STEP_NONE,
        KEEPER_STEP_FORK,
        KEEPER_STEP_IDENTITY,
        KEEPER_STEP_NICE,
        KEEPER_STEP_CWD,
        KEEPER_STEP_EXEC,
        KEEPER_STEP_COUNT_
};

struct keeper_message {
        uint32_t word;        /* enum keeper_word */
        uint32_t step;        /* enum keeper_step */
        int32_t error;        /* errno */
        int32_t pid;
        int32_t status;       /* as of wait(2) */
        uint32_t left;        /* still running, on purpose */
        uint32_t ended;       /* were running when the command had exited, and were ended */
        uint32_t unused;
        int64_t user_us, system_us, max_rss_kb;
};

/* Worker to keeper. */
enum keeper_request {
        KEEPER_ASK_END = 1,   /* end the tree: TERM, KILL after KILL_AFTER_MS */
        KEEPER_ASK_LIMIT,     /* limit_ms: a later one than before */
};

struct keeper_ask {
        int64_t request;      /* enum keeper_request */
        int64_t limit_ms;     /* as KEEPER_ARG_LIMIT */
};

#endif
