/* Two workers that ran `mail` each second: what most cases change one thing of. */
#include "t/unit/record/scene.h"

#include <stdlib.h>
#include <string.h>

#include "cli/prove/merge.h"
#include "cli/prove/report.h"
#include "t/unit/cases.h"

int scene_new(void **state)
{
        struct scene *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        logbook_open(&s->book);
        s->master = author_of(&s->book, "n1", "m", 100, "master", 0);
        s->first = author_of(&s->book, "n1", "0", 101, "worker", 10);
        s->second = author_of(&s->book, "n1", "1", 102, "worker", 11);
        say_born(s->master, 5, s->first);
        say_born(s->master, 6, s->second);
        *state = s;
        return 0;
}

int scene_free(void **state)
{
        struct scene *s = *state;

        judge_free(s->j);
        evidence_free(s->e);
        logbook_close(&s->book);
        free(s);
        return 0;
}

void all_stop(struct scene *s)
{
        say_stop(s->first, 10600, 10500, true);
        say_stop(s->second, 10600, 10500, false);
        say_gone(s->master, 10700, s->first, 0);
        say_gone(s->master, 10700, s->second, 0);
        say_stop(s->master, 10800, 10800, false);
}

void ten_seconds(struct scene *s, const char *path, int without)
{
        say_plan(s->first, 50, "mail", path, 1000, "\"rev\":1");
        for (int i = 1; i <= 10; i++) {
                struct author *winner = i % 2 ? s->first : s->second, *loser = i % 2 ? s->second : s->first;
                if (i == without)
                        continue;
                say_once(winner, "mail", path, i * 1000, 100 + i);
                say_attempt(loser, i * 1000 + 2, "mail", path, i * 1000, "done", 0);
        }
}

int prove_with(struct scene *s, const struct judge_options *o)
{
        char *dir = s->book.dir;

        logbook_save(&s->book);
        judge_free(s->j);
        evidence_free(s->e);
        s->e = evidence_new();
        assert_non_null(s->e);
        assert_int_equal(evidence_collect(s->e, &dir, 1), 0);
        assert_int_equal(evidence_read(s->e), 0);
        s->j = judge_new(s->e, o);
        assert_non_null(s->j);
        assert_int_equal(merge_logs(s->e, s->j), 0);
        assert_int_equal(judge_end(s->j), 0);
        return report_exit(s->e, s->j);
}

int prove_it(struct scene *s)
{
        return prove_with(s, &(struct judge_options) { .since_ms = INT64_MIN, .until_ms = INT64_MAX });
}

const struct row *row(const struct scene *s, const char *task)
{
        for (size_t i = 0; i < s->j->row_count; i++)
                if (strcmp(s->j->rows[i]->task, task) == 0)
                        return s->j->rows[i];
        fail_msg("no row for %s", task);
        return NULL;
}
