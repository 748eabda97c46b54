/* The scene that most cases of `prove` begin with, and how its logs are judged. Times are ms after BASE_MS.
 */
#ifndef ONCED_TEST_SCENE_H
#define ONCED_TEST_SCENE_H

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "t/unit/record/logbook.h"

/* Node n1 with a master and two workers, a task `mail` each second for ten seconds. */
struct scene {
        struct logbook book;
        struct author *master, *first, *second;
        struct evidence *e;
        struct judge *j;
};

int scene_new(void **state);     /* set-up and tear-down of a case */
int scene_free(void **state);

/* Ten seconds of `mail`, workers in turn, the other one answered `done`. `without`: this second is left out.
 */
void ten_seconds(struct scene *s, const char *path, int without);

/* Everybody stops at 10.5 s, having seen all instants before. */
void all_stop(struct scene *s);

/* Saves the logs and judges them; returns the exit code of `onced prove`. */
int prove_it(struct scene *s);
int prove_with(struct scene *s, const struct judge_options *o);

/* The task's row of the report. */
const struct row *row(const struct scene *s, const char *task);

#endif
