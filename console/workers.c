/* Reads all places of the scoreboard into one sorted list. Nothing here trusts the board: board_read clamps,
 * and what it calls implausible is left out. */
#include "console/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "console/answer.h"

static int by_slot(const void *left, const void *right)
{
        const struct place_view *a = &((const struct worker_view *) left)->place;
        const struct place_view *b = &((const struct worker_view *) right)->place;

        if (a->role != b->role)
                return a->role < b->role ? -1 : 1;
        if (a->slot != b->slot)
                return a->slot < b->slot ? -1 : 1;
        if (a->generation != b->generation)
                return a->generation < b->generation ? -1 : 1;
        return a->place < b->place ? -1 : a->place > b->place;
}

static bool is_stale(const struct view *v, const struct worker_view *w)
{
        if (w->place.state == PLACE_ENDED)
                return false;
        if (w->beat_age_ms >= 0)
                return w->beat_age_ms > STALE_MS;
        /* A process that still starts has not beaten yet: that is judged by boot_timeout. */
        return w->place.state != PLACE_STARTING && v->wall.ns - w->place.started.ns > STALE_MS * NS_PER_MS;
}

static void worker_fill(const struct view *v, const struct master_facts *facts, bool proc, struct worker_view *w)
{
        w->beat_age_ms = w->place.beat.ns ? mono_since_ms(w->place.beat, v->mono) : -1;
        if (w->place.beat.ns && w->beat_age_ms < 0)
                w->beat_age_ms = 0;   /* it beat between our reading the clock and the board */
        w->stale = is_stale(v, w);
        w->last_exit = w->place.role == ROLE_WORKER && w->place.slot < ARRAY_SIZE(facts->last_exit)
                               ? facts->last_exit[w->place.slot]
                               : -1;
        w->proc = proc && w->place.state != PLACE_ENDED && w->place.process.pid > 0
                          ? proc_facts_read(&w->place.process)
                          : PROC_FACTS_NONE;
}

int workers_read(const struct view *v, bool proc, struct workers *ret)
{
        unsigned places = board_places(v->board);
        struct master_facts facts;
        struct workers w = { calloc(places ? places : 1, sizeof(*w.list)), 0 };

        if (!w.list)
                return -ENOMEM;
        board_get_master(v->board, &facts);
        for (unsigned i = 0; i < places; i++) {
                struct worker_view *one = &w.list[w.count];
                if (board_read(v->board, i, &one->place) < 0 || one->place.role == ROLE_FREE)
                        continue;
                worker_fill(v, &facts, proc, one);
                w.count++;
        }
        qsort(w.list, w.count, sizeof(*w.list), by_slot);
        *ret = w;
        return 0;
}

void workers_done(struct workers *w)
{
        free(w->list);
        *w = (struct workers) { 0 };
}

const struct worker_view *workers_timer(const struct workers *w)
{
        for (size_t i = 0; i < w->count; i++)
                if (w->list[i].place.timer_worker && w->list[i].place.state == PLACE_READY)
                        return &w->list[i];
        return NULL;
}

unsigned workers_troubles(const struct workers *w)
{
        unsigned troubles = 0;

        for (size_t i = 0; i < w->count; i++)
                if (w->list[i].place.role == ROLE_WORKER && w->list[i].place.state == PLACE_READY)
                        troubles |= w->list[i].place.troubles;
        return troubles;
}

void last_exit_text(int status, char ret[LAST_EXIT_TEXT])
{
        ret[0] = '\0';
        if (status < 0)
                return;
        if (WIFEXITED(status)) {
                (void) snprintf(ret, LAST_EXIT_TEXT, "exit %d", WEXITSTATUS(status));
        } else if (WIFSIGNALED(status)) {
                const char *name = sigabbrev_np(WTERMSIG(status));
                (void) snprintf(ret, LAST_EXIT_TEXT, "signal %d (%s)", WTERMSIG(status), name ? name : "?");
        }
}

static json_t *json_known(int64_t value)
{
        return value < 0 ? json_null() : json_integer(value);
}

static json_t *json_or_null(const char *text)
{
        return *text ? json_text(text) : json_null();
}

static json_t *counters_json(const uint64_t counters[BOARD_COUNTER_COUNT_])
{
        json_t *j = json_object();

        for (int i = 0; i < BOARD_COUNTER_COUNT_; i++)
                (void) json_object_set_new(j, board_counter_names[i], json_count(counters[i]));
        return j;
}

static json_t *worker_json(const struct worker_view *w)
{
        const struct place_view *p = &w->place;
        char last_exit[LAST_EXIT_TEXT];

        last_exit_text(w->last_exit, last_exit);
        return json_pack(
                "{s:s, s:o, s:i, s:i, s:s, s:I, s:b, s:I, s:o, s:o, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                "role", p->role == ROLE_WORKER ? "worker" : "console",
                "slot", p->role == ROLE_WORKER ? json_integer(p->slot) : json_null(),
                "place", (int) p->place,
                "pid", (int) p->process.pid,
                "state", place_state_names[p->state],
                "generation", (json_int_t) p->generation,
                "timer", p->timer_worker,
                "term", (json_int_t) p->term,
                "started", json_stamp(p->started),
                "beat_age_ms", json_known(w->beat_age_ms),
                "stale", w->stale,
                "loop_lag_us", (json_int_t) p->loop_lag_us,
                "occurrence", json_or_null(p->occ),
                "task", json_or_null(p->task),
                "rss_bytes", json_known(w->proc.rss_bytes),
                "cpu_ms", json_known(w->proc.cpu_ms),
                "fds", json_known(w->proc.fds),
                "last_exit", json_or_null(last_exit),
                "counters", counters_json(p->counters));
}

json_t *workers_json(const struct workers *w)
{
        json_t *list = json_array();

        for (size_t i = 0; i < w->count; i++)
                (void) json_array_append_new(list, worker_json(&w->list[i]));
        return list;
}
