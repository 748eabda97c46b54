/* The table of signals. Nothing runs in a signal handler: they are blocked and read from a signalfd. */
#include "supervisor/verb.h"

#include "common/cleanup.h"

static const struct {
        int signum;
        enum verb verb;
} signal_verbs[] = {
        { SIGTERM, VERB_STOP },    { SIGINT, VERB_STOP },     { SIGQUIT, VERB_STOP_FAST }, { SIGHUP, VERB_RELOAD },
        { SIGUSR1, VERB_REOPEN },  { SIGUSR2, VERB_UPGRADE }, { SIGTTIN, VERB_MORE },      { SIGTTOU, VERB_FEWER },
        { SIGWINCH, VERB_NONE },   { SIGPIPE, VERB_NONE },    { SIGCHLD, VERB_NONE },
};

static const char *const verb_names[VERB_COUNT_] = {
        "nothing", "reload", "drain", "resume", "stop", "reopen", "workers", "fast stop", "upgrade", "more", "fewer",
};

enum verb verb_of_signal(int signum)
{
        for (size_t i = 0; i < ARRAY_SIZE(signal_verbs); i++)
                if (signal_verbs[i].signum == signum)
                        return signal_verbs[i].verb;
        return VERB_NONE;
}

const char *verb_name(enum verb v)
{
        return verb_names[v];
}

void verb_signals(sigset_t *ret)
{
        (void) sigemptyset(ret);
        for (size_t i = 0; i < ARRAY_SIZE(signal_verbs); i++)
                (void) sigaddset(ret, signal_verbs[i].signum);
}
