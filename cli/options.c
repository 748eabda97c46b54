/* What the options of each command mean: `onced help COMMAND` prints nothing else. */
#include "cli/cli.h"

#include <stddef.h>

#include "common/record/names.h"

#define SOCKET                                                                                                         \
        { "--socket PATH", "the instance's socket; else $ONCED_SOCKET, else run_dir of -c FILE,\n"                     \
                           "else /run/onced/onced.sock", NULL }
#define CONFIGURATION                                                                                                  \
        { "-c FILE", "the configuration of the instance, to find its socket", NULL }
#define CONFIGURATION_OR(what)                                                                                         \
        { "-c FILE", "the configuration of the instance, to find its socket; without an instance\n" what, NULL }
#define JSON                                                                                                           \
        { "--json", "for programs", NULL }
#define TIMES                                                                                                          \
        { NULL, "A TIME is written as 2026-11-30T17:00:00Z, or with an offset as 2026-11-30T18:00:00+01:00.", NULL }
#define END                                                                                                            \
        { NULL, NULL, NULL }

const struct option_help run_options[] = {
        { "FILE", "the configuration; `onced check FILE` says whether it is good", NULL },
        { "--notify-fd N", "a newline is written to this descriptor, and it is closed, when all processes are\n"
                           "ready (s6, runit); systemd is told by itself", NULL },
        { NULL, "SIGTERM or SIGINT drains and stops, a second one stops runs now, a third kills. SIGQUIT stops runs\n"
                "now, SIGUSR1 opens new log files, SIGTTIN and SIGTTOU are one worker more or less.", NULL },
        END
};

#define ROUND                                                                                                          \
        { NULL, "A round looks at every task once: what its policies say is due is run and waited for, and so is\n"    \
                "what waits in its queue. No other process is needed, and none may be at work on the same state_dir.\n"\
                "SIGTERM, SIGINT or SIGHUP lets what runs end and begins nothing more, a second one, or SIGQUIT,\n"    \
                "stops runs now. A task of `singleton: none` remembers nothing from one start to the next.", NULL },   \
        { NULL, "Exits with 0: all runs succeeded, or nothing was due; 70: a run failed, was interrupted or has an\n"  \
                "unknown end, also one of an earlier start that was found so, or a ledger was not to be had;\n"        \
                "75: another instance is at work.", NULL }

const struct option_help once_options[] = {
        { "FILE", "the configuration", NULL },
        ROUND,
        END
};

const struct option_help work_options[] = {
        { "COUNT", "how many rounds, 1 to 1000000", NULL },
        { "INTERVAL_MS", "from the begin of one round to that of the next, 10 to 86400000; a round that takes longer\n"
                         "takes the place of the next ones", NULL },
        { "FILE", "the configuration", NULL },
        ROUND,
        END
};

const struct option_help check_options[] = {
        { "FILE", "the configuration; what is wrong goes to standard error, with line and column", NULL },
        { "--dump", "print the effective values, defaults filled in. Left out are secret keys, and headers and\n"
                    "variables with a name as Authorization, Cookie or *_TOKEN; a URL or a body is shown", NULL },
        { "--strict", "warnings count as errors", NULL },
        { "--keys", "print every key with its type, range, default and meaning; takes no FILE", NULL },
        { NULL, "Exits with 0 when `onced run` would take the file, else 78: also for what is read and checked, but\n"
                "not in this version. Commands and folders that are not on this machine are warnings.", NULL },
        END
};

#define SCHEDULE                                                                                                       \
        { "--cron EXPR", "five or six fields, or a macro as @daily; onced-schedule(7) has the grammar", NULL },        \
        { "--tz ZONE", "on whose clock the expression is read, as Europe/Berlin; default UTC", NULL },                 \
        { "--fold first|both", "a local time that comes twice fires the first time (default) or both times", NULL },   \
        { "--every SPAN", "an interval, as 250ms, 30s, 10m, 1h or 2d", NULL },                                         \
        { "--anchor TIME", "an instant of its grid, past or future, or milliseconds since 1970 (negative: before);\n"  \
                           "default 0", NULL },                                                                        \
        { "TASK", "the schedule of this task", NULL },                                                                 \
        { "-c FILE", "the configuration that has the task", NULL }
#define REFUSED                                                                                                        \
        { NULL, "Exits with 78 when a configuration would refuse the schedule, with the reason.", NULL }

const struct option_help next_options[] = {
        SCHEDULE,
        { "--from TIME", "only instants later than this; default now", NULL },
        { "--until TIME", "no instant later than this", NULL },
        { "--count N", "at most so many, 1 to 10000; default 10, with --until all up to 10000", NULL },
        { "--json", "an array of UTC times", NULL },
        TIMES,
        { NULL, "Each line is an instant in UTC and, for a cron schedule, on the clock of its zone. Between the lines\n"
                "it is said where a local time of the schedule does not exist, or comes twice.", NULL },
        REFUSED,
        END
};

const struct option_help due_options[] = {
        SCHEDULE,
        { "--cursor TIME", "the newest instant that was decided; none: the very first start", NULL },
        { "--now TIME", "the time at which a worker looks; default now", NULL },
        { "--misfire POLICY", "skip or catch_up; default that of TASK, else skip", NULL },
        { "--grace SPAN", "skip: how late an instant may still start; default that of TASK, else the lesser of 59 s\n"
                          "and the interval", NULL },
        { "--limit N", "catch_up: how many are run, the newest; 1 to 1000, default that of TASK, else 1", NULL },
        { "--lookback SPAN", "catch_up: how far back; up to 366d, default that of TASK, else 1h", NULL },
        { "--json", "{\"run\": [TIME...], \"skipped\": N}", NULL },
        TIMES,
        REFUSED,
        END
};

const struct option_help explain_options[] = {
        SCHEDULE,
        { "--json", "the facts: {\"task\": NAME, ..., \"schedule\": TEXT, ..., \"next\": [TIME...]}; durations in ms\n"
                    "(every_ms, timeout_ms)", NULL },
        REFUSED,
        END
};

const struct option_help client_options[] = { SOCKET, CONFIGURATION, JSON, END };

const struct option_help tasks_options[] = {
        SOCKET,
        CONFIGURATION_OR("what it says is shown"),
        JSON,
        END
};

const struct option_help history_options[] = {
        { "TASK", "only this task", NULL },
        { "--state STATE", "only records in this state, one of", state_names },
        { "--since TIME", "only instants planned then or later", NULL },
        { "--limit N", "at most so many, the newest; 1 to 1000, default 100", NULL },
        SOCKET,
        CONFIGURATION_OR("the ledger that it names is read"),
        JSON,
        TIMES,
        { NULL, "SAID is what went wrong, with the last line that a failed command printed, or else what the run\n"
                "gave back.", NULL },
        END
};

const struct option_help prove_options[] = {
        { "LOG...", "trigger logs, or folders of them as <log.dir>/triggers; of all nodes, if there are\n"
                    "several", NULL },
        { "--since TIME", "judge only instants planned then or later", NULL },
        { "--until TIME", "judge only instants planned before then", NULL },
        { "--task NAME", "only this task; may be given again", NULL },
        { "--json", "for programs", NULL },
        { "--verbose", "attempts, outcomes and fences of each task, and every single finding", NULL },
        TIMES,
        { NULL, "Reads the trigger logs of all processes and asks no running instance. DUE counts the instants of the\n"
                "plan within the judged time: from the first line (of a task that began with `once` or `work`, from\n"
                "what that ran first) to where every instant is known to have been decided; what lies behind is named\n"
                "as not judged, and the next start records it. Each due instant is in one place: run once\n"
                "(DONE, NOOP, FAILED, INTERRUPTED, RUNNING, UNKNOWN by its end), TWICE,\n"
                "DROPPED (overlap), QUEUED (it still waits when the logs end), SKIPPED (misfire and other reasons),\n"
                "NOT RUN (recorded as missed, with a reason: late, ledger_down, nobody and others), FAILED before its\n"
                "start (not_sent, log), or MISSED: nobody ran it, and nothing says why. Reasons are listed below the\n"
                "table. Figures add up: without TWICE, DUE is the sum of all from DONE to MISSED, and\n"
                "RUNS that of DONE, NOOP, FAILED, INTERRUPTED, UNKNOWN and RUNNING, less what was not started. Under\n"
                "`none` each process has every instant, so that RUNS alone adds up; a run of a process that was\n"
                "killed is UNKNOWN, and what it kept waiting stays QUEUED. CROSSING counts runs that went on while\n"
                "another of their unit did; runs that had been queued are not in LATE. Clocks that were set, and zone\n"
                "data that are not this machine's, are named below the table. Columns of zeros are left out.", NULL },
        { NULL, "The verdict is about once only, and the worst of all instants: ONCE, each ran once; EXPLAINED, some\n"
                "did not, each for a reason that was recorded; UNKNOWN; MISSED; DUPLICATE. A task may be ONCE and\n"
                "every run of it have failed. Tasks of `singleton: none` are NOT SINGLE, and are not judged.", NULL },
        { NULL, "Exits with 0: every instant ran once, or its absence is explained; 1: a duplicate; 2: a missed\n"
                "instant; 3: inconclusive, since logs are missing or damaged, a run's end is not known, a zone is not\n"
                "on this machine, or nothing was due in the judged time (NOTHING).", NULL },
        END
};

const struct option_help recover_options[] = {
        { "--ledger", "the local ledger was lost, damaged or put back", NULL },
        { "--store", "the Redis server has lost this group's data; where it has not, nothing is changed", NULL },
        { "TASK --cursor now", "what was decided for this task lies ahead of now, since a clock was wrong", NULL },
        { "-c FILE", "the configuration of the instance; it must be stopped, unless what is recovered is\n"
                   "on Redis", NULL },
        { "--yes", "do not ask", NULL },
        { NULL, "Says first what was found and what may be lost, and changes nothing without a yes.", NULL },
        END
};

const struct option_help help_options[] = {
        { "COMMAND", "the one to explain; without it all are listed, with the exit codes", NULL },
        END
};

const struct option_help no_options[] = { END };
