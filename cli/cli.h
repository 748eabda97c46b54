/* The subcommands of onced: one table (main.c), one file a command or family of commands. */
#ifndef ONCED_CLI_H
#define ONCED_CLI_H

#include <stdbool.h>

/* One option or operand of a command; without a name a paragraph that follows them. */
struct option_help {
        const char *name;       /* "--state STATE" */
        const char *text;       /* may have several lines; NULL with a NULL name: the end */
        const char *const *words;   /* NULL, or the words that are printed behind the text */
};

struct command {
        const char *name;
        const char *usage;      /* "FILE [--dump]" */
        const char *help;       /* one line */
        int (*run)(int argc, char **argv);   /* argv[0] is the command's name; returns an exit code. What it
                                              * printed is flushed, and looked after, by main. */
        const struct option_help *options;
};

/* options.c */
extern const struct option_help run_options[], once_options[], work_options[], check_options[], next_options[],
        due_options[], explain_options[], client_options[], tasks_options[], history_options[], prove_options[], recover_options[], help_options[],
        no_options[];

int command_run(int argc, char **argv);       /* run.c */
int command_once(int argc, char **argv);      /* once.c */
int command_work(int argc, char **argv);
int command_check(int argc, char **argv);     /* check.c */
int command_next(int argc, char **argv);      /* next.c */
int command_due(int argc, char **argv);       /* due.c */
int command_explain(int argc, char **argv);   /* explain.c */
int command_prove(int argc, char **argv);     /* prove/prove.c */
int command_recover(int argc, char **argv);   /* recover.c */
int command_status(int argc, char **argv);    /* client commands: one file each family */
int command_workers(int argc, char **argv);
int command_tasks(int argc, char **argv);
int command_history(int argc, char **argv);
int command_metrics(int argc, char **argv);

/* Prints "onced COMMAND: message" and the usage line; returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
