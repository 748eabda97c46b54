/* The one spelling of every word of an occurrence's life. */
#include "common/record/names.h"

#include <string.h>

const char *const outcome_names[] = {
        "granted", "done", "decided", "queued", "busy", "early", "moved", "stale", "not_owner", "down", "halted",
        "lost_local", "unregistered", NULL,
};

const char *const state_names[] = {
        "queued", "running", "succeeded", "failed", "interrupted", "unknown", "skipped", "missed", NULL,
};

const char *const cause_names[] = {
        "", "overlap", "misfire", "disabled", "revised", "not_owner", "queue_full", "late", "ledger_down",
        "abandoned", "unreplicated", "nobody", "no_handle", "barrier", "timeout", "lease_lost", "stopped",
        "worker_died", "power", "not_sent", "no_answer", "status", "signal", "cleanup", "log", NULL,
};

const char *const result_names[] = { "", "done", "noop", NULL };
const char *const path_names[] = { "none", "dedicated", "flock", "redis", NULL };

_Static_assert(sizeof(outcome_names) / sizeof(char *) == OUTCOME_COUNT_ + 1, "a name for every outcome");
_Static_assert(sizeof(state_names) / sizeof(char *) == STATE_COUNT_ + 1, "a name for every state");
_Static_assert(sizeof(cause_names) / sizeof(char *) == CAUSE_COUNT_ + 1, "a name for every cause");
_Static_assert(sizeof(result_names) / sizeof(char *) == RESULT_COUNT_ + 1, "a name for every result");
_Static_assert(sizeof(path_names) / sizeof(char *) == PATH_COUNT_ + 1, "a name for every path");

bool state_is_final(enum state s)
{
        return s >= STATE_SUCCEEDED && s < STATE_COUNT_;
}

int name_index(const char *const *names, const char *word)
{
        for (int i = 0; names[i]; i++)
                if (strcmp(names[i], word) == 0)
                        return i;
        return -1;
}
