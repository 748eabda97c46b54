/* /v1/status, and the two questions of a load balancer. */
#include "console/status.h"

#include "common/config/config.h"
#include "common/process.h"
#include "common/scoreboard/scoreboard.h"
#include "console/answer.h"
#include "console/tasks.h"

const char *readiness(const struct view *v, const struct workers *w)
{
        struct master_facts facts;

        board_get_master(v->board, &facts);
        if (facts.draining)
                return "draining: nothing new is started";
        if (facts.degraded)
                return "degraded: all workers are in a crash loop";
        if (!facts.ready)
                return "starting: not all workers are ready yet";
        if (!workers_timer(w))
                return "no timer worker: the one before has ended and no sibling is ready";
        unsigned troubles = workers_troubles(w);
        if (troubles & TROUBLE_LOG)
                return "a trigger log cannot be written: its worker starts nothing; the log says why";
        if (troubles & TROUBLE_LEDGER)
                return "the ledger is down or halted: its tasks do not start; the log says why";
        if (troubles & TROUBLE_GROUP)
                return "redis is down or halted: its tasks do not start; the log says why";
        if (tasks_stand_ahead(v))
                return "a task's newest decided instant lies further ahead of the clock than max_future: it does not start; "
                       "the log names it; cure: onced recover TASK --cursor now -c FILE";
        return NULL;
}

bool master_lives(const struct view *v)
{
        struct master_facts facts;

        board_get_master(v->board, &facts);
        return process_alive(&facts.process);
}

bool node_stopped(const struct workers *w)
{
        for (size_t i = 0; i < w->count; i++)
                if (w->list[i].place.role == ROLE_WORKER && w->list[i].place.state == PLACE_READY)
                        return false;
        return true;
}

static json_t *worker_counts_json(const struct master_facts *facts, const struct workers *w)
{
        int by_state[PLACE_STATE_COUNT_] = { 0 }, stale = 0;

        for (size_t i = 0; i < w->count; i++) {
                if (w->list[i].place.role != ROLE_WORKER)
                        continue;
                by_state[w->list[i].place.state]++;
                stale += w->list[i].stale;
        }
        return json_pack("{s:i, s:i, s:i, s:i, s:i}", "wanted", (int) facts->workers, "starting",
                         by_state[PLACE_STARTING], "ready", by_state[PLACE_READY], "draining",
                         by_state[PLACE_DRAINING], "stale", stale);
}

static json_t *task_numbers_json(const struct config *c)
{
        int enabled = 0;

        for (size_t i = 0; i < c->task_count; i++)
                enabled += c->tasks[i].enabled;
        return json_pack("{s:I, s:i}", "configured", (json_int_t) c->task_count, "enabled", enabled);
}

static json_t *totals_json(const struct board *b)
{
        uint64_t totals[BOARD_COUNTER_COUNT_];
        json_t *j = json_object();

        board_totals(b, totals);
        for (int i = 0; i < BOARD_COUNTER_COUNT_; i++)
                (void) json_object_set_new(j, board_counter_names[i], json_count(totals[i]));
        return j;
}

static json_t *restarts_json(const struct master_facts *f)
{
        return json_pack("{s:I, s:I, s:I, s:I}", "total", (json_int_t) f->restarts, "crashes",
                         (json_int_t) f->crashes, "hangs", (json_int_t) f->hangs, "strangers",
                         (json_int_t) f->strangers);
}

json_t *status_json(const struct view *v, const struct workers *w)
{
        const struct worker_view *timer = workers_timer(w);
        const char *why = readiness(v, w);
        struct master_facts facts;

        board_get_master(v->board, &facts);
        return json_pack("{s:s, s:o, s:i, s:o, s:o, s:I, s:o, s:s, s:b, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}",
                         "version", ONCED_VERSION,
                         "node", json_text(v->node),
                         "pid", (int) facts.process.pid,
                         "started", json_stamp(facts.started),
                         "now", json_stamp(v->wall),
                         "generation", (json_int_t) facts.generation,
                         "configuration", json_text(v->config->path),
                         "configuration_hash", v->config->hash,
                         "ready", why == NULL,
                         "reason", why ? json_string(why) : json_null(),
                         "draining", facts.draining,
                         "degraded", facts.degraded,
                         "workers", worker_counts_json(&facts, w),
                         "timer_worker", timer ? json_integer(timer->place.slot) : json_null(),
                         "term", timer ? json_integer((json_int_t) timer->place.term) : json_null(),
                         "tasks", task_numbers_json(v->config),
                         "restarts", restarts_json(&facts),
                         "counters", totals_json(v->board));
}
