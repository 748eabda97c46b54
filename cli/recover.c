/* `onced recover`: a person accepts the loss of what a ledger knew. It says first what was found and what may be
 * lost, and goes on only by a yes: nothing of this may happen by itself. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "ledger/recover.h"
#include "supervisor/node_lock.h"

DEFINE_CLEANUP(struct config *, config_freep, (void) config_free)

struct recover {
        bool ledger, store, yes;
        const char *task, *cursor, *file;
        const struct config *config;
        char why[RECOVER_TEXT];
};

static int parse(int argc, char **argv, struct recover *ret)
{
        for (int i = 1; i < argc; i++) {
                const char **value = strcmp(argv[i], "-c") == 0         ? &ret->file
                                     : strcmp(argv[i], "--cursor") == 0 ? &ret->cursor
                                                                        : NULL;
                if (value && i + 1 == argc)
                        return usage_error("recover", "%s needs a value", argv[i]);
                if (value && *value)
                        return usage_error("recover", "%s is given twice", argv[i]);
                if (value)
                        *value = argv[++i];
                else if (strcmp(argv[i], "--ledger") == 0)
                        ret->ledger = true;
                else if (strcmp(argv[i], "--store") == 0)
                        ret->store = true;
                else if (strcmp(argv[i], "--yes") == 0)
                        ret->yes = true;
                else if (argv[i][0] == '-')
                        return usage_error("recover", "unknown option %s", argv[i]);
                else if (ret->task)
                        return usage_error("recover", "more than one TASK");
                else
                        ret->task = argv[i];
        }
        if (ret->ledger + ret->store + (ret->task != NULL) != 1)
                return usage_error("recover", "one of --ledger, --store and TASK --cursor now is needed");
        if (!!ret->task != !!ret->cursor || (ret->cursor && strcmp(ret->cursor, "now") != 0))
                return usage_error("recover", "TASK and --cursor now belong together");
        return ret->file ? 0 : usage_error("recover", "-c FILE is missing");
}

static int load(const char *path, struct config **ret)
{
        struct complaints complaints = COMPLAINTS_NONE;
        int r = config_load(path, ret, &complaints);

        if (r < 0)
                complaints_print(&complaints, stderr);
        if (r < 0 && complaints.errors == 0)
                (void) fprintf(stderr, "onced recover: %s: %s\n", path, strerror(-r));
        complaints_done(&complaints);
        return r < 0 ? EXIT_CONFIGURATION : EXIT_FINE;
}

static int gave_up(const struct recover *o)
{
        (void) fprintf(stderr, "onced recover: %s\n", o->why);
        return EXIT_FAILED;
}

/* EXIT_FINE: go on. */
static int agreed(const struct recover *o)
{
        char line[16];

        if (o->yes)
                return EXIT_FINE;
        if (!isatty(STDIN_FILENO))
                return usage_error("recover", "nothing was changed; there is no terminal to ask at: --yes says yes");
        printf("Go on? [y/N] ");
        (void) fflush(stdout);
        if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
                return EXIT_FINE;
        printf("Nothing was changed.\n");
        return EXIT_FAILED;
}

/* Files made by another user would be refused by the daemon; a running instance would go on with the old ones. */
static int ground_take(const struct recover *o, int *ret_lock)
{
        const char *dir = o->config->state_dir;
        struct stat st;

        if (stat(dir, &st) < 0) {
                (void) fprintf(stderr, "onced recover: state_dir: %s: %s\n", dir, strerror(errno));
                return EXIT_CANTCREAT;
        }
        if (st.st_uid != geteuid()) {
                (void) fprintf(stderr, "onced recover: state_dir: %s belongs to uid %d: run this as that user\n", dir,
                               (int) st.st_uid);
                return EXIT_CANTCREAT;
        }
        int code = node_lock_take(dir, 0, ret_lock);
        return code == EXIT_FINE && *ret_lock < 0 ? EXIT_FAILED : code;
}

static void print_done(const struct recover_done *d)
{
        char barrier[STAMP_TEXT];

        if (*d->ledger_aside)
                printf("The old ledger is kept: %s\n", d->ledger_aside);
        if (*d->node_id_aside)
                printf("The old node_id is kept: %s\n", d->node_id_aside);
        instant_text(d->barrier, barrier);
        printf("Recovered%s%s. Instants up to %s are not started; they become unknown (barrier).\n",
               *d->node ? ": node " : "", d->node, barrier);
}

static int recover_ledger(struct recover *o)
{
        struct recover_look look;
        struct recover_done done;

        if (recover_local_look(o->config, &look, o->why) < 0)
                return gave_up(o);
        printf("%s\n", look.ledger);
        if (*look.node_id)
                printf("%s\n", look.node_id);
        if (look.kept)
                printf("It stays. To recover it is to say that it is all there is left, as after a copy was put back.\n");
        else
                printf("%sA new one is begun: history, and what was running at the end, are not known any more.\n",
                       look.present ? "It is moved aside. " : "");
        printf("What it does not know of instants up to now may have run: none of them is started.\n");
        if (!look.node_id_kept && !look.kept)
                printf("This node gets a new name.\n");
        int code = agreed(o);
        if (code != EXIT_FINE)
                return code;
        if (recover_local(o->config, &done, o->why) < 0)
                return gave_up(o);
        print_done(&done);
        return EXIT_FINE;
}

static int recover_redis(struct recover *o)
{
        struct recover_look look;
        struct recover_done done;

        if (recover_store_look(o->config, &look, o->why) < 0)
                return gave_up(o);
        printf("%s\n", look.ledger);
        if (look.sound) {
                printf("There is nothing to recover; nothing was changed. If a node halts all the same, it remembers "
                       "another store: this is to be run with its configuration, there.\n");
                return EXIT_FINE;
        }
        printf("It gets a new identity, for all nodes of the group: what the store does not know of instants up to now "
               "may have run: none of them is started.\n");
        if (!look.kept)
                printf("History, overrides and what was running are not known any more.\n");
        int code = agreed(o);
        if (code != EXIT_FINE)
                return code;
        if (recover_store(o->config, &done, o->why) < 0)
                return gave_up(o);
        print_done(&done);
        return EXIT_FINE;
}

static void print_ahead(const char *task, const struct recover_ahead *a)
{
        char furthest[STAMP_TEXT];

        instant_text(a->furthest, furthest);
        if (a->units > 0)
                printf("task %s: %u unit%s decided up to %s, which lies ahead of now\n", task, a->units,
                       a->units == 1 ? "" : "s", furthest);
        if (a->lost > 0)
                printf("task %s: the store has lost the cursor of %u unit%s\n", task, a->lost, a->lost == 1 ? "" : "s");
}

static int recover_task(struct recover *o)
{
        const struct task *t = config_task(o->config, o->task);
        struct recover_ahead ahead;

        if (!t) {
                (void) fprintf(stderr, "onced recover: %s has no task %s\n", o->file, o->task);
                return EXIT_CONFIGURATION;
        }
        if (t->singleton == PATH_NONE) {
                (void) fprintf(stderr, "onced recover: task %s keeps no cursor (singleton: none)\n", o->task);
                return EXIT_CONFIGURATION;
        }
        int (*cursor)(const struct config *, const char *, bool, struct recover_ahead *, char *) =
                t->singleton == PATH_REDIS ? recover_cursor_store : recover_cursor_local;
        if (cursor(o->config, o->task, false, &ahead, o->why) < 0)
                return gave_up(o);
        if (ahead.units + ahead.lost == 0) {
                printf("task %s: no cursor lies ahead of now; nothing to do\n", o->task);
                return EXIT_FINE;
        }
        print_ahead(o->task, &ahead);
        printf("Set to now, its instants start again. One that did run while the clock was ahead is known by its record "
               "and not run again, as long as the record is in the history.\n");
        int code = agreed(o);
        if (code != EXIT_FINE)
                return code;
        if (cursor(o->config, o->task, true, &ahead, o->why) < 0)
                return gave_up(o);
        printf("Recovered: %u cursor%s set to now.\n", ahead.units + ahead.lost,
               ahead.units + ahead.lost == 1 ? "" : "s");
        return EXIT_FINE;
}

/* The group's store is not this node's: its nodes may run, and are told by its identity. */
static bool is_local(const struct recover *o)
{
        const struct task *t = o->task ? config_task(o->config, o->task) : NULL;

        return o->ledger || (t && t->singleton != PATH_REDIS);
}

int command_recover(int argc, char **argv)
{
        _cleanup_(config_freep) struct config *config = NULL;
        _cleanup_(closep) int lock = -1;
        struct recover o = { 0 };

        int code = parse(argc, argv, &o);
        if (code != 0)
                return code;
        code = load(o.file, &config);
        if (code != EXIT_FINE)
                return code;
        o.config = config;
        if (o.store && !config->redis.url) {
                (void) fprintf(stderr, "onced recover: %s names no redis server\n", o.file);
                return EXIT_CONFIGURATION;
        }
        if (is_local(&o)) {
                code = ground_take(&o, &lock);
                if (code != EXIT_FINE)
                        return code;
        }
        return o.ledger ? recover_ledger(&o) : o.store ? recover_redis(&o) : recover_task(&o);
}
