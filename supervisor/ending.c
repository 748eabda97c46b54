/* The stages of the end. */
#include "supervisor/ending.h"

#include <signal.h>

#include "common/config/config.h"
#include "common/exits.h"
#include "common/log.h"
#include "supervisor/crew.h"
#include "supervisor/notify.h"

/* Workers give their tasks 5 s between TERM and KILL, and need a moment to record it. */
#define FAST_MS    7000
#define CONSOLE_MS 2000
/* Keepers of killed workers give the trees the same 5 s. */
#define TREES_MS   10000
/* A killed process that does not go (it hangs in the kernel) is left to the node lock it holds. */
#define KILL_MS    10000

const char *stage_name(enum stage s)
{
        static const char *const names[STAGE_COUNT_] = { "run", "drain", "fast stop", "kill", "close", "over" };

        return names[s];
}

void ending_init(struct ending *e)
{
        *e = (struct ending) { .stage = STAGE_RUN, .deadline = NEVER, .how = "not started", .code = -1 };
}

static void slot_enter(struct slot *s, enum stage stage)
{
        if (!slot_lives(s))
                return;
        if (stage == STAGE_KILL)
                crew_kill(s, SIGKILL);
        if (s->state == SLOT_DYING)
                return;
        if (stage == STAGE_KILL) {
                slot_go(s, SLOT_DYING);
        } else if (stage == STAGE_DRAIN && s->state != SLOT_DRAINING) {
                (void) crew_tell(s, MESSAGE_DRAIN, -1);
                slot_go(s, SLOT_DRAINING);
        } else if (stage == STAGE_FAST && s->state != SLOT_STOPPING) {
                (void) crew_tell(s, MESSAGE_STOP, -1);
                slot_go(s, SLOT_STOPPING);
        }
}

static void stage_go(struct ending *e, struct crew *c, enum stage stage)
{
        const int64_t limits[STAGE_COUNT_] = {
                [STAGE_DRAIN] = c->config->drain_timeout_ms, [STAGE_FAST] = FAST_MS, [STAGE_KILL] = KILL_MS,
                [STAGE_CLOSE] = TREES_MS,
        };

        if (e->stage == STAGE_RUN) {
                notify_manager("STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=%lld",
                               (long long) (limits[STAGE_DRAIN] + FAST_MS + KILL_MS + TREES_MS) * 1000);
                crew_end(c);
        }
        log_info("stopping: %s", stage_name(stage));
        e->stage = stage;
        e->how = stage_name(stage);
        e->deadline = mono_plus_ms(clock_mono(), limits[stage]);
        for (unsigned i = 0; i < c->workers_max; i++)
                slot_enter(&c->slots[i], stage);
}

void ending_ask(struct ending *e, struct crew *c, bool fast)
{
        switch (e->stage) {
        case STAGE_RUN:
                stage_go(e, c, fast ? STAGE_FAST : STAGE_DRAIN);
                break;
        case STAGE_DRAIN:
                stage_go(e, c, STAGE_FAST);
                break;
        case STAGE_FAST:
                e->hurried = true;
                stage_go(e, c, STAGE_KILL);
                break;
        default:
                e->hurried = true;
        }
}

static void close_begin(struct ending *e, struct crew *c, struct mono now)
{
        struct slot *console = crew_console(c);

        e->stage = STAGE_CLOSE;
        e->deadline = mono_plus_ms(now, TREES_MS);
        if (!slot_lives(console) || console->state == SLOT_DYING)
                return;
        (void) crew_tell(console, MESSAGE_STOP, -1);
        slot_go(console, SLOT_STOPPING);
        console->due = mono_plus_ms(now, CONSOLE_MS);
}

static void close_due(struct ending *e, struct crew *c, struct mono now)
{
        struct slot *console = crew_console(c);

        if (console->state == SLOT_STOPPING && now.ns >= console->due.ns) {
                (void) log_warning(0, "the console does not end and is killed");
                crew_kill(console, SIGKILL);
                slot_go(console, SLOT_DYING);
        }
        bool trees = gones_have_trees(&c->gones);
        if (now.ns < e->deadline.ns && (slot_lives(console) || (trees && !e->hurried)))
                return;
        if (trees) {
                (void) log_warning(0, "task trees of ended workers are still being ended by their keepers");
                c->killed++;
        }
        e->stage = STAGE_OVER;
        e->deadline = NEVER;
}

void ending_due(struct ending *e, struct crew *c, struct mono now)
{
        if (e->stage == STAGE_RUN || e->stage == STAGE_OVER)
                return;
        if (e->stage < STAGE_CLOSE && !crew_lives(c))
                close_begin(e, c, now);
        if (e->stage == STAGE_CLOSE)
                close_due(e, c, now);
        else if (now.ns >= e->deadline.ns && e->stage == STAGE_KILL) {
                (void) log_error(0, "a killed worker does not go; the node stays taken until it does");
                c->killed++;
                close_begin(e, c, now);
        } else if (now.ns >= e->deadline.ns)
                stage_go(e, c, e->stage == STAGE_DRAIN ? STAGE_FAST : STAGE_KILL);
}

struct mono ending_next(const struct ending *e)
{
        return e->deadline;
}

int ending_code(const struct ending *e, const struct crew *c)
{
        if (e->code >= 0)
                return e->code;
        return c->killed ? EXIT_KILLED : EXIT_FINE;
}
