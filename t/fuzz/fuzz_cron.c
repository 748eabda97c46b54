/* Cron expressions and schedules as text. What is read is written in a form that reads the same, its instants are
 * found in both directions and counted, and what is refused is said within the expression. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/schedule/schedule.h"

#define YEARS_400 (146097 * 86400LL)

static void expression_try(const char *text)
{
        struct cron c, again;
        struct cron_error e = { 0 };
        char plain[CRON_TEXT], twice[CRON_TEXT], sentence[2048];
        int64_t first, last;

        int r = cron_parse(text, &c, &e);
        if (r < 0) {
                CLAIM(r == -EINVAL && e.text[0]);
                claim_text(e.text, sizeof(e.text));
                CLAIM(e.at + e.length <= strlen(text));
                return;
        }
        cron_text(&c, plain);
        CLAIM(strlen(plain) < CRON_TEXT - 1);
        CLAIM(cron_parse(plain, &again, &e) == 0 && cron_equal(&c, &again));
        cron_text(&again, twice);
        CLAIM(strcmp(plain, twice) == 0);
        cron_sentence(&c, sentence, sizeof(sentence));
        claim_text(sentence, sizeof(sentence));
        if (cron_next(&c, 0, YEARS_400, &first) == 0) {
                CLAIM(cron_has(&c, first) && cron_count(&c, 0, first) == 0 && cron_count(&c, first, first + 1) == 1);
                CLAIM(cron_last(&c, first, 0, &last) == 0 && last == first);
                CLAIM(cron_last(&c, first - 1, 0, &last) == -ENOENT);
        } else {
                CLAIM(cron_count(&c, 0, YEARS_400) == 0);
        }
}

/* Of zones only UTC is asked: a file a try is a thousand times slower. */
static void schedule_try(const char *text)
{
        struct schedule s, again;
        char plain[SCHEDULE_TEXT];
        struct instant i, back;

        if ((strstr(text, " tz ") && !strstr(text, " tz UTC")) || schedule_parse(text, &s) < 0)
                return;
        schedule_text(&s, plain, sizeof(plain));
        CLAIM(schedule_parse(plain, &again) == 0 && schedule_equal(&s, &again));
        if (schedule_next(&s, (struct instant) { 0 }, &i) < 0)
                return;
        CLAIM(i.ms > 0 && schedule_has(&s, i) && schedule_count(&s, (struct instant) { 0 }, i) == 1);
        CLAIM(schedule_last(&s, i, &back) == 0 && back.ms == i.ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = strndup((const char *) data, size);

        CLAIM(text != NULL);
        expression_try(text);
        schedule_try(text);
        free(text);
        return 0;
}
