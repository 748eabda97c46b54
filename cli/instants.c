/* A line shows UTC first, since it never repeats itself; the clock on the wall explains it. */
#include "cli/instants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/civil.h"
#include "common/schedule/zone.h"

#define DAY_S 86400LL

static const char *const weekday_names[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };

const char *instant_plain(struct instant i, bool with_ms, char ret[STAMP_TEXT])
{
        instant_text(i, ret);
        if (!with_ms)
                strcpy(strchr(ret, '.'), "Z");
        return ret;
}

void instant_print_json(struct instant i, bool with_ms, bool first)
{
        char text[STAMP_TEXT];

        printf("%s\"%s\"", first ? "" : ", ", instant_plain(i, with_ms, text));
}

static bool shows_ms(const struct schedule *s)
{
        return s->kind == SCHEDULE_EVERY && (s->every_ms % MS_PER_S || s->anchor_ms % MS_PER_S);
}

/* A clock that is UTC is shown once. */
static bool has_own_clock(const struct schedule *s)
{
        return s->kind == SCHEDULE_CRON && strcmp(zone_name(s->zone), "UTC") != 0;
}

static int utc_width(const struct schedule *s)
{
        return (int) strlen("2026-11-30T17:00:00Z") + (shows_ms(s) ? 4 : 0);
}

void instants_print_heads(const struct schedule *s, const char *indent)
{
        if (has_own_clock(s))
                printf("%s%-*s  %s\n", indent, utc_width(s), "UTC", zone_name(s->zone));
        else
                printf("%sUTC\n", indent);
}

/* "+01:00", "-03:30"; old local times have seconds. */
static void print_offset(int32_t offset_s)
{
        int a = abs(offset_s);

        printf("%c%02d:%02d", offset_s < 0 ? '-' : '+', a / 3600, a / 60 % 60);
        if (a % 60)
                printf(":%02d", a % 60);
}

void instant_print(const struct schedule *s, struct instant i, const char *indent)
{
        int64_t utc_s = floor_div(i.ms, MS_PER_S);
        char text[STAMP_TEXT];
        struct zone_span span;

        printf("%s%s  ", indent, instant_plain(i, shows_ms(s), text));
        if (!has_own_clock(s)) {
                printf("%s\n", weekday_names[weekday_of(floor_div(utc_s, DAY_S))]);
                return;
        }
        zone_span_at(s->zone, utc_s, &span);
        int64_t local_s = utc_s + span.offset_s;
        instant_text((struct instant) { local_s * MS_PER_S }, text);
        printf("%s %.10s %.8s ", weekday_names[weekday_of(floor_div(local_s, DAY_S))], text, text + 11);
        print_offset(span.offset_s);
        printf(" %s\n", span.abbreviation);
}

static void print_clock(int64_t second_of_day)
{
        printf("%02d:%02d", (int) (second_of_day / 3600), (int) (second_of_day / 60 % 60));
        if (second_of_day % 60)
                printf(":%02d", (int) (second_of_day % 60));
}

/* "02:00-03:00 does not exist on 2027-03-28": local times [from_s, until_s), nearly always of one day. */
static void print_stretch(int64_t from_s, int64_t until_s, const char *what)
{
        int64_t day = floor_div(from_s, DAY_S), last = floor_div(until_s - 1, DAY_S);
        char date[STAMP_TEXT];

        print_clock(from_s - day * DAY_S);
        if (last > day) {
                instant_text((struct instant) { from_s * MS_PER_S }, date);
                printf(" on %.10s to ", date);
        } else {
                printf("-");
        }
        print_clock(until_s - last * DAY_S);
        instant_text((struct instant) { last * MS_PER_DAY }, date);
        printf(" %s on %.10s: ", what, date);
}

void changes_print(const struct schedule *s, struct instant after, struct instant upto, const char *indent)
{
        int64_t upto_s = floor_div(upto.ms, MS_PER_S);
        struct zone_span before, next;

        if (s->kind != SCHEDULE_CRON)
                return;
        zone_span_at(s->zone, floor_div(after.ms, MS_PER_S), &before);
        for (; before.until_s <= upto_s; before = next) {
                zone_span_at(s->zone, before.until_s, &next);
                int64_t old = before.until_s + before.offset_s, new = before.until_s + next.offset_s;
                if (cron_count(&s->cron, old < new ? old : new, old < new ? new : old) == 0)
                        continue;
                printf("%s%*s  ", indent, utc_width(s), "");
                print_stretch(old < new ? old : new, old < new ? new : old, old < new ? "does not exist" : "comes twice");
                puts(old < new          ? "nothing fires"
                     : s->fold_both ? "fires both times"
                                    : "fires the first time only");
        }
}
