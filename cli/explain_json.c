/* onced explain --json: the facts of which explain makes sentences, under the keys of the configuration. */
#include <jansson.h>
#include <stdio.h>

#include "cli/explain.h"
#include "cli/instants.h"
#include "common/config/config.h"
#include "common/schedule/zone.h"

static void put_number(json_t *o, const char *key, int64_t n)
{
        (void) json_object_set_new(o, key, json_integer(n));
}

static void put_text(json_t *o, const char *key, const char *text)
{
        (void) json_object_set_new(o, key, json_string(text));
}

static void put_schedule(json_t *o, const struct schedule *s)
{
        char text[SCHEDULE_TEXT], sentence[SENTENCE_MAX];

        schedule_text(s, text, sizeof(text));
        put_text(o, "schedule", text);
        if (s->kind == SCHEDULE_EVERY) {
                put_number(o, "every_ms", s->every_ms);
                put_number(o, "anchor_ms", s->anchor_ms);
        } else if (s->kind == SCHEDULE_CRON) {
                cron_sentence(&s->cron, sentence, sizeof(sentence));
                put_text(o, "when", sentence);
                put_text(o, "tz", zone_name(s->zone));
                put_text(o, "tzdata", zone_data_version());
                put_text(o, "dst_fold", dst_fold_names[s->fold_both ? DST_FOLD_BOTH : DST_FOLD_FIRST]);
        }
}

static json_t *misfire_json(const struct misfire *m)
{
        json_t *o = json_object();

        put_text(o, "policy", misfire_names[m->policy]);
        if (m->policy == MISFIRE_CATCH_UP) {
                put_number(o, "limit", m->limit);
                put_number(o, "lookback_ms", m->lookback_ms);
        } else if (m->grace_ms >= 0) {
                put_number(o, "grace_ms", m->grace_ms);
        } else {
                put_text(o, "grace", "auto");
        }
        return o;
}

static json_t *overlap_json(const struct overlap *v)
{
        json_t *o = json_object();

        put_text(o, "policy", overlap_names[v->policy]);
        if (v->policy == OVERLAP_QUEUE)
                put_number(o, "queue_limit", v->queue_limit);
        if (v->policy == OVERLAP_CONCURRENT)
                put_number(o, "max_running", v->max_running);
        return o;
}

static void put_task(json_t *o, const struct task *t)
{
        put_text(o, "task", t->name);
        (void) json_object_set_new(o, "enabled", json_boolean(t->enabled));
        put_text(o, "singleton", path_names[t->singleton]);
        put_text(o, "scope", scope_names[t->scope]);
        put_number(o, "shards", t->shards);
        (void) json_object_set_new(o, "misfire", misfire_json(&t->misfire));
        put_text(o, "first", first_names[t->first]);
        (void) json_object_set_new(o, "overlap", overlap_json(&t->overlap));
        put_number(o, "timeout_ms", t->timeout_ms);
}

static json_t *next_json(const struct schedule *s)
{
        json_t *list = json_array();
        struct instant i = stamp_instant(clock_wall());
        char text[STAMP_TEXT];

        for (int n = 0; n < INSTANTS_SHOWN && schedule_next(s, i, &i) == 0; n++)
                (void) json_array_append_new(list, json_string(instant_plain(i, s->kind == SCHEDULE_EVERY, text)));
        return list;
}

void explain_print_json(const struct schedule *s, const struct task *t)
{
        json_t *o = json_object();

        if (t)
                put_task(o, t);
        put_schedule(o, s);
        (void) json_object_set_new(o, "next", next_json(s));
        (void) json_dumpf(o, stdout, JSON_PRESERVE_ORDER);
        putchar('\n');
        json_decref(o);
}
