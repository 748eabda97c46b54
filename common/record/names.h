/* The words of an occurrence's life: claim outcomes, states, causes, paths. One spelling everywhere:
 * trigger log, ledger, API, metrics and `prove` all use these names. */
#ifndef ONCED_NAMES_H
#define ONCED_NAMES_H

#include <stdbool.h>

/* Answers to a claim. */
enum outcome {
        OUTCOME_GRANTED,     /* fence given: this process starts it */
        OUTCOME_DONE,        /* decided by another before */
        OUTCOME_DECIDED,     /* this call wrote the record: skipped or missed, with a cause */
        OUTCOME_QUEUED,      /* this call wrote a queued record */
        OUTCOME_BUSY,        /* run slot taken or ending; nothing was written */
        OUTCOME_EARLY,       /* planned lies ahead of the store's clock */
        OUTCOME_MOVED,       /* the cursor is not where the claimer believed: recompute, ask again */
        OUTCOME_STALE,       /* term, revision or shard count is old; nothing was written */
        OUTCOME_NOT_OWNER,   /* scope main, and another node is main */
        OUTCOME_DOWN,        /* the store did not answer; nothing is started */
        OUTCOME_HALTED,      /* store lost, hold, unit lost, corrupt: claims stop until it is cured */
        OUTCOME_LOST_LOCAL,  /* a sibling holds the lock or the shared word; it is looked at again */
        OUTCOME_UNREGISTERED,/* ledger only, never logged: the unit has no cursor yet, register first */
        OUTCOME_COUNT_
};

enum state {
        STATE_QUEUED,
        STATE_RUNNING,
        STATE_SUCCEEDED,     /* final from here on */
        STATE_FAILED,
        STATE_INTERRUPTED,
        STATE_UNKNOWN,
        STATE_SKIPPED,
        STATE_MISSED,
        STATE_COUNT_
};

enum cause {
        CAUSE_NONE,
        CAUSE_OVERLAP,
        CAUSE_MISFIRE,
        CAUSE_DISABLED,
        CAUSE_REVISED,
        CAUSE_NOT_OWNER,
        CAUSE_QUEUE_FULL,
        CAUSE_LATE,
        CAUSE_LEDGER_DOWN,
        CAUSE_ABANDONED,
        CAUSE_UNREPLICATED,
        CAUSE_NOBODY,
        CAUSE_NO_HANDLE,
        CAUSE_BARRIER,
        CAUSE_TIMEOUT,
        CAUSE_LEASE_LOST,
        CAUSE_STOPPED,
        CAUSE_WORKER_DIED,
        CAUSE_POWER,
        CAUSE_NOT_SENT,      /* http: no connection stood; exec: the command could not be started; redis: not executed */
        CAUSE_NO_ANSWER,     /* http, redis: sent, connection lost before a whole answer */
        CAUSE_STATUS,        /* http: answered, but not 2xx; exec: exit code not 0; redis: the script or server said so */
        CAUSE_SIGNAL,        /* exec: ended by a signal that was not ours */
        CAUSE_CLEANUP,       /* a task tree could not be ended */
        CAUSE_LOG,           /* the run line could not be written: not started */
        CAUSE_COUNT_
};

enum result {
        RESULT_NONE,
        RESULT_DONE,
        RESULT_NOOP,         /* ran, no business result */
        RESULT_COUNT_
};

/* Ways to be once (`singleton:`). */
enum path {
        PATH_NONE,
        PATH_DEDICATED,
        PATH_FLOCK,
        PATH_REDIS,
        PATH_COUNT_
};

extern const char *const outcome_names[];   /* all NULL-terminated, in the order of their enum */
extern const char *const state_names[];
extern const char *const cause_names[];     /* CAUSE_NONE is "" */
extern const char *const result_names[];    /* RESULT_NONE is "" */
extern const char *const path_names[];

bool state_is_final(enum state s);

/* Index of `word` in a NULL-terminated list, or -1. */
int name_index(const char *const *names, const char *word);

#endif
