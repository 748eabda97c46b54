/* The subcommands of onced, and help about them: both from one table. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/complaint.h"
#include "common/exits.h"
#include "common/process.h"
#include "supervisor/master.h"

#define SCHEDULE_USAGE "(--cron EXPR [--tz ZONE] [--fold first|both] | --every SPAN [--anchor TIME] | TASK -c FILE)"
#define CLIENT_USAGE "[--socket PATH] [-c FILE] [--json]"

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command commands[] = {
        { "run", "[--notify-fd N] FILE", "run the tasks of a configuration, in the foreground", command_run, run_options },
        { "once", "FILE", "one round of all tasks in this process, for cron or a container", command_once, once_options },
        { "work", "COUNT INTERVAL_MS FILE", "a number of such rounds, at an interval", command_work, work_options },
        { "check", "[--dump] [--strict] FILE | --keys",
          "check a configuration; --dump prints its effective values, --keys every key there is", command_check,
          check_options },
        { "next", SCHEDULE_USAGE " [--from TIME] [--until TIME] [--count N] [--json]", "when a schedule is due", command_next,
          next_options },
        { "due", SCHEDULE_USAGE " --cursor TIME|none [--now TIME] [--misfire skip|catch_up] [--grace SPAN] [--limit N] "
          "[--lookback SPAN] [--json]",
          "what the misfire policy runs now, and what it skips", command_due, due_options },
        { "explain", SCHEDULE_USAGE, "a schedule and the policies of its task, in words", command_explain,
          explain_options },
        { "status", CLIENT_USAGE, "how a running instance is", command_status, client_options },
        { "workers", CLIENT_USAGE, "the processes of a running instance", command_workers, client_options },
        { "tasks", CLIENT_USAGE, "the tasks, when they run, and what became of them since the master began",
          command_tasks, tasks_options },
        { "history", "[TASK] [--state STATE] [--since TIME] [--limit N] " CLIENT_USAGE, "what ran, newest first",
          command_history, history_options },
        { "metrics", CLIENT_USAGE, "counters for a scraper, as OpenMetrics text or JSON", command_metrics,
          client_options },
        { "prove", "[--since TIME] [--until TIME] [--task NAME] [--json] [--verbose] LOG...",
          "show from the trigger logs alone that each task ran once per interval", command_prove,
          prove_options },
        { "recover", "(--ledger | --store | TASK --cursor now) -c FILE [--yes]",
          "go on after a ledger was lost, damaged or put back, or a clock was wrong; nothing is run twice",
          command_recover, recover_options },
        { "help", "[COMMAND]", "this list, or one command", command_help, help_options },
        { "version", "", "the version", command_version, no_options },
};

static const struct {
        int code;
        const char *meaning;
} exits[] = {
        { EXIT_FINE, "fine" },
        { EXIT_KILLED, "stopped, but tasks had to be killed (prove: a duplicate; 2 missed, 3 inconclusive)" },
        { EXIT_USAGE, "the command line is wrong" },
        { EXIT_FAILED, "a failure was found, or no instance answers" },
        { EXIT_OS, "the system refused: processes, memory, descriptors" },
        { EXIT_CANTCREAT, "a file, folder or socket cannot be created, or standard output not be written" },
        { EXIT_HELD, "another instance holds the state folder" },
        { EXIT_CONFIGURATION, "the configuration or a schedule is wrong, or the ledger is not what it was" },
        { EXIT_CRASH_LOOP, "all workers crash again and again (give_up)" },
};

static const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (strcmp(commands[i].name, name) == 0)
                        return &commands[i];
        return NULL;
}

static void print_usage(FILE *out, const struct command *c)
{
        fprintf(out, "usage: onced %s%s%s\n", c->name, *c->usage ? " " : "", c->usage);
}

int usage_error(const char *name, const char *format, ...)
{
        const struct command *c = command_find(name);
        va_list ap;

        fprintf(stderr, "onced %s: ", name);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
        if (c)
                print_usage(stderr, c);
        return EXIT_USAGE;
}

static int unknown_command(const char *name)
{
        const char *names[ARRAY_SIZE(commands) + 1] = { NULL };

        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                names[i] = commands[i].name;
        const char *near = nearest_word(name, names);
        if (near)
                fprintf(stderr, "onced: no command \"%s\"; did you mean \"%s\"?\n", name, near);
        else
                fprintf(stderr, "onced: no command \"%s\"; `onced help` lists them\n", name);
        return EXIT_USAGE;
}

static void print_help(FILE *out)
{
        fprintf(out, "onced: timers of many processes, each planned instant once\n\nusage: onced COMMAND ...\n\n");
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
        fprintf(out, "\n`onced help COMMAND` shows the options of a command.\n\nexit codes:\n");
        for (size_t i = 0; i < ARRAY_SIZE(exits); i++)
                fprintf(out, "  %3d  %s\n", exits[i].code, exits[i].meaning);
}

/* Every line of an option's text begins in the same column. */
static void print_option(const struct option_help *o, int widest)
{
        if (!o->name) {
                printf("\n%s\n", o->text);
                return;
        }
        printf("  %-*s  ", widest, o->name);
        for (const char *p = o->text; *p; p++) {
                putchar(*p);
                if (*p == '\n')
                        printf("%*s", widest + 4, "");
        }
        if (o->words)
                printf("\n%*s", widest + 4, "");
        for (size_t i = 0; o->words && o->words[i]; i++)
                printf("%s%s", i ? ", " : "", o->words[i]);
        putchar('\n');
}

static void print_command(const struct command *c)
{
        int widest = 0;

        print_usage(stdout, c);
        printf("\n%s\n", c->help);
        for (const struct option_help *o = c->options; o->text; o++)
                if (o->name && (int) strlen(o->name) > widest)
                        widest = (int) strlen(o->name);
        if (widest)
                putchar('\n');
        for (const struct option_help *o = c->options; o->text; o++)
                print_option(o, widest);
}

static int command_help(int argc, char **argv)
{
        if (argc > 2)
                return usage_error("help", "unexpected argument %s", argv[2]);
        if (argc < 2) {
                print_help(stdout);
                return EXIT_FINE;
        }
        const struct command *c = command_find(argv[1]);
        if (!c)
                return unknown_command(argv[1]);
        print_command(c);
        return EXIT_FINE;
}

static int command_version(int argc, char **argv)
{
        if (argc > 1)
                return usage_error("version", "unexpected argument %s", argv[1]);
        printf("onced %s\n", ONCED_VERSION);
        return EXIT_FINE;
}

/* The spellings every program has. */
static const char *command_name(const char *word)
{
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
                return "help";
        if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
                return "version";
        return word;
}

/* What a command printed has arrived, or its exit code must say so: half a dump is worse than none. */
static int end(const char *name, int code)
{
        int error = fflush(stdout) == 0 ? 0 : errno;

        if (!error && !ferror(stdout))
                return code;
        fprintf(stderr, "onced %s: standard output cannot be written%s%s\n", name, error ? ": " : "",
                error ? strerror(error) : "");
        return EXIT_CANTCREAT;
}

int main(int argc, char **argv)
{
        const char *name = argc > 1 ? command_name(argv[1]) : "";

        if (strcmp(name, "run") == 0 || strcmp(name, "once") == 0 || strcmp(name, "work") == 0)
                master_block_signals();
        process_title_init(argc, argv);
        if (!*name) {
                print_help(stderr);
                return EXIT_USAGE;
        }
        const struct command *c = command_find(name);
        if (!c)
                return unknown_command(name);
        if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
                print_command(c);
                return end(name, EXIT_FINE);
        }
        return end(name, c->run(argc - 1, argv + 1));
}
