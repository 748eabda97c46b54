/* The families of the node and of its processes; those of the tasks are metrics_tasks.c. */
#include "console/metrics.h"

#include <errno.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "console/answer.h"
#include "console/exposition.h"
#include "console/metrics_tasks.h"
#include "console/status.h"

static void one_gauge(struct exposition *x, const char *name, const char *help, uint64_t value)
{
        exposition_family(x, name, "gauge", "", help);
        exposition_uint(x, "", NO_LABELS, value);
}

static void one_counter(struct exposition *x, const char *name, const char *help, uint64_t value)
{
        exposition_family(x, name, "counter", "", help);
        exposition_uint(x, "_total", NO_LABELS, value);
}

/* The counters every node has, whatever it runs: a fixed list, since dashboards name them. */
static const struct {
        enum board_counter counter;
        const char *name, *help;
} node_counters[] = {
        { COUNT_TRIGGERED, "onced_triggered", "Occurrences started." },
        { COUNT_FAILED, "onced_failed", "Runs that failed." },
        { COUNT_INTERRUPTED, "onced_interrupted", "Runs ended from outside." },
        { COUNT_LEASE_CONFLICTS, "onced_lease_conflicts", "Leases found lost at renewal or at the finish." },
        { COUNT_STORAGE_FAILURES, "onced_storage_failures", "Failures of the ledger or of the trigger log." },
        { COUNT_CLEANUP_FAILURES, "onced_cleanup_failures", "Task trees that could not be ended." },
        { COUNT_LIMIT_REACHED, "onced_limit_reached", "Times that tick_limit or max_handles was reached." },
        { COUNT_STOP_REJECTIONS, "onced_stop_rejections", "Instants due while draining, not taken." },
        { COUNT_LEDGER_CALLS, "onced_ledger_calls", "Calls answered by the ledger." },
        { COUNT_REDIS_NOSCRIPT, "onced_redis_noscript", "Scripts that the server had forgotten." },
        { COUNT_REDIS_RECONNECTS, "onced_redis_reconnects", "Connections to the server made anew." },
};

static void node_families(struct exposition *x, const struct view *v, const struct workers *w, uint64_t in_flight)
{
        uint64_t totals[BOARD_COUNTER_COUNT_];
        struct master_facts facts;

        board_get_master(v->board, &facts);
        board_totals(v->board, totals);

        exposition_family(x, "onced_build", "info", "", "The running version.");
        exposition_uint(x, "_info", LABELS({ "version", ONCED_VERSION }, { "node", v->node }), 1);
        exposition_family(x, "onced_start_time_seconds", "gauge", "seconds", "Start of the master.");
        exposition_real(x, "", NO_LABELS, (double) facts.started.ns / 1e9);
        one_gauge(x, "onced_generation", "Generation of the running configuration.", facts.generation);
        one_gauge(x, "onced_ready", "1 when the node does its work.", readiness(v, w) == NULL);
        one_gauge(x, "onced_draining", "1 when nothing new is started.", facts.draining);
        one_gauge(x, "onced_degraded", "1 when all workers are in a crash loop.", facts.degraded);
        unsigned troubles = workers_troubles(w);
        one_gauge(x, "onced_ledger_down", "1 when a worker's local ledger is down or halted.",
                  (troubles & TROUBLE_LEDGER) != 0);
        one_gauge(x, "onced_redis_down", "1 when a worker finds Redis down or halted.", (troubles & TROUBLE_GROUP) != 0);
        one_gauge(x, "onced_log_down", "1 when a worker cannot write its trigger log.", (troubles & TROUBLE_LOG) != 0);
        one_gauge(x, "onced_stopped", "1 when no worker is ready to start anything.", node_stopped(w));
        one_gauge(x, "onced_in_flight", "Runs under way.", in_flight);
        one_gauge(x, "onced_tick_limit", "Most starts in one turn of one worker.", v->config->tick_limit);
        one_gauge(x, "onced_workers", "Workers wanted.", facts.workers);
        for (size_t i = 0; i < ARRAY_SIZE(node_counters); i++)
                one_counter(x, node_counters[i].name, node_counters[i].help, totals[node_counters[i].counter]);
        exposition_family(x, "onced_ledger_latency_seconds", "counter", "seconds",
                          "Time that calls waited for the ledger, in sum.");
        exposition_real(x, "_total", NO_LABELS, (double) totals[COUNT_LEDGER_US] / 1e6);
        one_counter(x, "onced_worker_restarts", "Workers started in place of a dead one.", facts.restarts);
        one_counter(x, "onced_worker_crashes", "Workers that died by themselves.", facts.crashes);
        one_counter(x, "onced_worker_hangs", "Workers ended because their loop stood.", facts.hangs);
        one_counter(x, "onced_strangers_reaped", "Processes reaped that were no children of ours.", facts.strangers);
}

/* Labels of one process. Two live processes may share a slot, never a place. */
struct process_labels {
        char slot[12], place[12];
};

static bool process_labels(const struct worker_view *w, struct process_labels *ret)
{
        if (w->place.state == PLACE_ENDED)
                return false;
        if (w->place.role == ROLE_WORKER)
                (void) snprintf(ret->slot, sizeof(ret->slot), "%u", w->place.slot);
        else
                (void) snprintf(ret->slot, sizeof(ret->slot), "c");
        (void) snprintf(ret->place, sizeof(ret->place), "%u", w->place.place);
        return true;
}

/* One gauge a process; `value` below 0: unknown, left out. */
static void process_gauge(struct exposition *x, const struct workers *w, const char *name, const char *unit,
                          const char *help, double (*value)(const struct worker_view *))
{
        struct process_labels l;

        exposition_family(x, name, "gauge", unit, help);
        for (size_t i = 0; i < w->count; i++)
                if (process_labels(&w->list[i], &l) && value(&w->list[i]) >= 0)
                        exposition_real(x, "", LABELS({ "slot", l.slot }, { "place", l.place }), value(&w->list[i]));
}

static double pid_of(const struct worker_view *w)
{
        return w->place.process.pid;
}

static double generation_of(const struct worker_view *w)
{
        return w->place.generation;
}

static double start_of(const struct worker_view *w)
{
        return (double) w->place.started.ns / 1e9;
}

static double beat_age_of(const struct worker_view *w)
{
        return w->beat_age_ms < 0 ? -1 : (double) w->beat_age_ms / 1e3;
}

static double stale_of(const struct worker_view *w)
{
        return w->stale;
}

static double timer_of(const struct worker_view *w)
{
        return w->place.timer_worker;
}

static double lag_of(const struct worker_view *w)
{
        return (double) w->place.loop_lag_us / 1e6;
}

static double rss_of(const struct worker_view *w)
{
        return (double) w->proc.rss_bytes;
}

static double fds_of(const struct worker_view *w)
{
        return (double) w->proc.fds;
}

static void cpu_family(struct exposition *x, const struct workers *w)
{
        struct process_labels l;

        exposition_family(x, "onced_process_cpu_seconds", "counter", "seconds", "User and system time.");
        for (size_t i = 0; i < w->count; i++)
                if (process_labels(&w->list[i], &l) && w->list[i].proc.cpu_ms >= 0)
                        exposition_real(x, "_total", LABELS({ "slot", l.slot }, { "place", l.place }),
                                        (double) w->list[i].proc.cpu_ms / 1e3);
}

static void state_family(struct exposition *x, const struct workers *w)
{
        struct process_labels l;

        exposition_family(x, "onced_process_state", "gauge", "", "1 for the state the process is in.");
        for (size_t i = 0; i < w->count; i++)
                for (int s = PLACE_STARTING; s <= PLACE_DRAINING && process_labels(&w->list[i], &l); s++)
                        exposition_uint(x, "",
                                        LABELS({ "slot", l.slot }, { "place", l.place },
                                               { "state", place_state_names[s] }),
                                        w->list[i].place.state == (enum place_state) s);
}

/* What each process counted for itself, under one family: the node's families hold the sums. */
static void count_family(struct exposition *x, const struct workers *w)
{
        struct process_labels l;

        exposition_family(x, "onced_process_events", "counter", "", "Counters of the process, by name.");
        for (size_t i = 0; i < w->count; i++)
                for (int c = 0; c < BOARD_COUNTER_COUNT_ && process_labels(&w->list[i], &l); c++)
                        exposition_uint(x, "_total",
                                        LABELS({ "slot", l.slot }, { "place", l.place },
                                               { "counter", board_counter_names[c] }),
                                        w->list[i].place.counters[c]);
}

static void process_families(struct exposition *x, const struct workers *w)
{
        process_gauge(x, w, "onced_process_pid", "", "Process id.", pid_of);
        process_gauge(x, w, "onced_process_generation", "", "Generation the process belongs to.", generation_of);
        process_gauge(x, w, "onced_process_start_time_seconds", "seconds", "Start of the process.", start_of);
        process_gauge(x, w, "onced_process_timer", "", "1 for the timer worker.", timer_of);
        process_gauge(x, w, "onced_process_beat_age_seconds", "seconds", "Age of the last sign of life.", beat_age_of);
        process_gauge(x, w, "onced_process_stale", "", "1 when the last sign of life is too old.", stale_of);
        process_gauge(x, w, "onced_process_loop_lag_seconds", "seconds", "Lateness of the loop's last beat.", lag_of);
        process_gauge(x, w, "onced_process_resident_memory_bytes", "bytes", "Resident memory.", rss_of);
        process_gauge(x, w, "onced_process_open_fds", "", "Open descriptors.", fds_of);
        cpu_family(x, w);
        state_family(x, w);
        count_family(x, w);
}

int metrics_text(const struct view *v, const struct workers *w, struct buf *ret)
{
        struct exposition x = { .out = ret };
        struct tasks_series tasks;
        int r = tasks_series_read(v, &tasks);

        if (r < 0)
                return r;
        node_families(&x, v, w, tasks.running);
        process_families(&x, w);
        tasks_families(&x, &tasks);
        exposition_end(&x);
        tasks_series_done(&tasks);
        return ret->failed ? -ENOMEM : 0;
}

json_t *metrics_json(const struct view *v, const struct workers *w)
{
        struct tasks_series tasks;

        if (tasks_series_read(v, &tasks) < 0)
                return NULL;
        json_t *j = json_pack("{s:o, s:b, s:o, s:i, s:o, s:o}", "status", status_json(v, w), "stopped",
                              node_stopped(w), "in_flight", json_count(tasks.running), "tick_limit",
                              (int) v->config->tick_limit, "processes", workers_json(w), "tasks",
                              tasks_series_json(&tasks));
        tasks_series_done(&tasks);
        return j;
}
