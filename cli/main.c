/* The subcommands of onced, and help about them: both from one table. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/complaint.h"
#include "common/exits.h"
#include "common/process.h"
#include "supervisor/master.h"

#define CLIENT_USAGE "[--socket PATH] [-c FILE] [--json]"

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command commands[] = {
        { "run", "[--notify-fd N] FILE", "run the tasks of a configuration, in the foreground", command_run },
        { "check", "[--dump] [--strict] [--keys] FILE",
          "check a configuration; --dump prints its effective values, --keys every key there is", command_check },
        { "status", CLIENT_USAGE, "how a running instance is", command_status },
        { "workers", CLIENT_USAGE, "the processes of a running instance", command_workers },
        { "tasks", CLIENT_USAGE, "the tasks, when they run, and what became of them", command_tasks },
        { "history", "[TASK] [--state STATE] [--since TIME] [--limit N] " CLIENT_USAGE, "what ran, newest first",
          command_history },
        { "metrics", CLIENT_USAGE, "counters for a scraper, as OpenMetrics text or JSON", command_metrics },
        { "prove", "[--since TIME] [--until TIME] [--task NAME] [--json] [--verbose] LOG...",
          "show from the trigger logs alone that each task ran once per interval", command_prove },
        { "recover", "(--ledger | --store | TASK --cursor now) -c FILE [--yes]",
          "go on after a ledger was lost, damaged or put back, or a clock was wrong; nothing is run twice",
          command_recover },
        { "help", "[COMMAND]", "this list, or one command", command_help },
        { "version", "", "the version", command_version },
};

static const struct {
        int code;
        const char *meaning;
} exits[] = {
        { EXIT_FINE, "fine" },
        { EXIT_KILLED, "stopped, but tasks had to be killed (prove: a duplicate)" },
        { EXIT_USAGE, "the command line is wrong" },
        { EXIT_FAILED, "a failure was found, or no instance answers" },
        { EXIT_OS, "the system refused: processes, memory, descriptors" },
        { EXIT_CANTCREAT, "a file, folder or socket cannot be created" },
        { EXIT_HELD, "another instance holds the state folder" },
        { EXIT_CONFIGURATION, "the configuration is wrong" },
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

static void print_command(const struct command *c)
{
        print_usage(stdout, c);
        printf("\n%s\n", c->help);
        if (strstr(c->usage, CLIENT_USAGE))
                printf("\n  --socket PATH   the instance's socket; else $ONCED_SOCKET, else run_dir of -c FILE,\n"
                       "                  else /run/onced/onced.sock\n"
                       "  -c FILE         the configuration of the instance\n"
                       "  --json          for programs\n");
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

int main(int argc, char **argv)
{
        const char *name = argc > 1 ? command_name(argv[1]) : "";

        if (strcmp(name, "run") == 0)
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
                return EXIT_FINE;
        }
        return c->run(argc - 1, argv + 1);
}
