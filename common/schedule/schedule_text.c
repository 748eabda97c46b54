/* A schedule as one line of text, and back. */
#include "common/schedule/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/schedule/words.h"
#include "common/schedule/zone.h"

static const struct {
        int64_t ms;
        const char *unit;
} units[] = {
        { MS_PER_DAY, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" },
};

static void put_every(struct words *w, const struct schedule *s)
{
        size_t i = 0;

        while (s->every_ms % units[i].ms != 0)
                i++;
        words_put(w, "every %" PRId64 "%s", s->every_ms / units[i].ms, units[i].unit);
        if (s->anchor_ms != 0)
                words_put(w, " anchor %" PRId64, s->anchor_ms);
}

void schedule_text(const struct schedule *s, char *ret, size_t room)
{
        char cron[CRON_TEXT];
        struct words w;

        words_init(&w, ret, room);
        switch (s->kind) {
        case SCHEDULE_NONE:
                words_put(&w, "none");
                break;
        case SCHEDULE_EVERY:
                put_every(&w, s);
                break;
        case SCHEDULE_CRON:
                cron_text(&s->cron, cron);
                words_put(&w, "cron %s tz %s%s", cron, zone_name(s->zone), s->fold_both ? " fold both" : "");
                break;
        }
}

static bool word_taken(const char **t, const char *word)
{
        size_t len = strlen(word);

        if (strncmp(*t, word, len) != 0)
                return false;
        *t += len;
        return true;
}

/* A decimal number as it is written by put_every, without a sign unless `negative`. */
static bool number_taken(const char **t, bool negative, int64_t *ret)
{
        bool below = negative && word_taken(t, "-");
        int64_t n = 0;

        if (**t < '0' || **t > '9')
                return false;
        for (; **t >= '0' && **t <= '9'; ++*t)
                if (__builtin_mul_overflow(n, 10, &n) ||
                    __builtin_add_overflow(n, below ? -(**t - '0') : **t - '0', &n))
                        return false;
        *ret = n;
        return true;
}

static int every_parse(const char *t, struct schedule *ret)
{
        int64_t every, anchor = 0;
        size_t i = 0;

        if (!number_taken(&t, false, &every))
                return -EINVAL;
        size_t unit = strcspn(t, " ");
        while (i < ARRAY_SIZE(units) && (strlen(units[i].unit) != unit || strncmp(t, units[i].unit, unit) != 0))
                i++;
        if (i == ARRAY_SIZE(units) || __builtin_mul_overflow(every, units[i].ms, &every))
                return -EINVAL;
        t += unit;
        if (word_taken(&t, " anchor ") && !number_taken(&t, true, &anchor))
                return -EINVAL;
        return *t == '\0' && schedule_every(every, anchor, ret) == 0 ? 0 : -EINVAL;
}

static int cron_line_parse(const char *t, struct schedule *ret)
{
        char expression[CRON_TEXT], zone[ZONE_NAME_MAX];
        struct cron_error error;
        const char *tz = strstr(t, " tz ");

        if (!tz || (size_t) (tz - t) >= sizeof(expression))
                return -EINVAL;
        memcpy(expression, t, (size_t) (tz - t));
        expression[tz - t] = '\0';
        t = tz + strlen(" tz ");
        size_t len = strcspn(t, " ");
        if (len >= sizeof(zone))
                return -EINVAL;
        memcpy(zone, t, len);
        zone[len] = '\0';
        t += len;
        bool both = word_taken(&t, " fold both");
        if (*t != '\0')
                return -EINVAL;
        int r = schedule_cron(expression, zone, both, ret, &error);
        return r == -ERANGE ? -EINVAL : r;
}

int schedule_parse(const char *text, struct schedule *ret)
{
        if (word_taken(&text, "every "))
                return every_parse(text, ret);
        if (word_taken(&text, "cron "))
                return cron_line_parse(text, ret);
        if (strcmp(text, "none") != 0)
                return -EINVAL;
        *ret = (struct schedule) { .kind = SCHEDULE_NONE };
        return 0;
}
