/* Every time is given in ms after BASE_MS, of planned instants as well. */
#include "t/unit/record/logbook.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/record/line.h"
#include "common/schedule/schedule.h"
#include "t/unit/cases.h"

void logbook_open(struct logbook *b)
{
        *b = (struct logbook) { .dir = "/tmp/onced-logs-XXXXXX" };
        assert_non_null(mkdtemp(b->dir));
}

void logbook_close(struct logbook *b)
{
        struct dirent *d;
        DIR *dir = opendir(b->dir);

        while (dir && (d = readdir(dir)))
                if (d->d_name[0] != '.')
                        (void) unlinkat(dirfd(dir), d->d_name, 0);
        if (dir)
                (void) closedir(dir);
        (void) rmdir(b->dir);
        for (size_t i = 0; i < b->count; i++) {
                struct author *a = &b->authors[i];
                for (size_t k = 0; k < a->count; k++)
                        free(a->lines[k]);
                free(a->lines);
                chain_done(&a->chain);
        }
}

static void author_path(const struct logbook *b, const struct author *a, char ret[256])
{
        (void) snprintf(ret, 256, "%s/%s.%s.%d.%s.1.jsonl", b->dir, a->node, a->slot, a->pid, a->pstart);
}

void write_straight(struct logbook *b, struct author *a)
{
        char path[256];

        author_path(b, a, path);
        a->straight = fopen(path, "we");
        assert_non_null(a->straight);
        for (size_t k = 0; k < a->count; k++)
                assert_true(fputs(a->lines[k], a->straight) >= 0);
}

void logbook_save(struct logbook *b)
{
        for (size_t i = 0; i < b->count; i++) {
                struct author *a = &b->authors[i];
                char path[256];

                if (a->straight) {
                        assert_int_equal(fclose(a->straight), 0);
                        a->straight = NULL;
                        continue;
                }
                author_path(b, a, path);
                (void) unlink(path);
                if (a->absent)
                        continue;
                FILE *f = fopen(path, "we");
                assert_non_null(f);
                for (size_t k = 0; k < a->count; k++)
                        assert_true(fputs(a->lines[k], f) >= 0);
                assert_int_equal(fclose(f), 0);
        }
}

static void line_add(struct author *a, size_t at, char *line)
{
        assert_non_null(line);
        if (a->count == a->room) {
                a->room = a->room ? a->room * 2 : 64;
                a->lines = realloc(a->lines, a->room * sizeof(*a->lines));
                assert_non_null(a->lines);
        }
        memmove(&a->lines[at + 1], &a->lines[at], (a->count - at) * sizeof(*a->lines));
        a->lines[at] = line;
        a->count++;
}

void say(struct author *a, int64_t t_ms, const char *e, const char *fields, ...)
{
        struct buf b = BUF_EMPTY;
        char text[1024];
        va_list ap;

        va_start(ap, fields);
        int len = vsnprintf(text, sizeof(text), fields, ap);
        va_end(ap);
        assert_in_range(len, 0, sizeof(text) - 1);
        line_begin(&b, e, a->n++, (struct stamp) { (BASE_MS + t_ms) * NS_PER_MS },
                   (struct mono) { (1000000 + t_ms - a->set_ms) * NS_PER_MS });
        if (len > 0) {
                buf_char(&b, ',');
                buf_text(&b, text);
        }
        assert_int_equal(line_end(&b, 0, &a->chain), 0);
        if (a->straight) {
                assert_true(fputs(buf_string(&b), a->straight) >= 0);
                buf_done(&b);
        } else {
                line_add(a, a->count, buf_take(&b));
        }
}

struct author *author_new(struct logbook *b, const char *node, const char *slot, int pid)
{
        assert_true(b->count < AUTHORS_MAX);
        struct author *a = &b->authors[b->count++];

        *a = (struct author) { .pid = pid, .n = 1, .pstart = "77-ab12" };
        (void) snprintf(a->node, sizeof(a->node), "%s", node);
        (void) snprintf(a->slot, sizeof(a->slot), "%s", slot);
        (void) snprintf(a->boot, sizeof(a->boot), "b00t");
        assert_int_equal(chain_init(&a->chain), 0);
        return a;
}

void say_start(struct author *a, int64_t t_ms, const char *role, const char *more)
{
        say(a, t_ms, "start",
            "\"node\":\"%s\",\"slot\":\"%s\",\"pid\":%d,\"pstart\":\"%s\",\"boot\":\"%s\",\"role\":\"%s\"%s%s",
            a->node, a->slot, a->pid, a->pstart, a->boot, role, *more ? "," : "", more);
}

struct author *author_of(struct logbook *b, const char *node, const char *slot, int pid, const char *role,
                         int64_t t_ms)
{
        struct author *a = author_new(b, node, slot, pid);

        say_start(a, t_ms, role, "");
        return a;
}

struct author *author_after_boot(struct logbook *b, const char *node, const char *slot, int pid,
                                 const char *role, int64_t t_ms, const char *boot)
{
        struct author *a = author_new(b, node, slot, pid);

        (void) snprintf(a->boot, sizeof(a->boot), "%s", boot);
        say_start(a, t_ms, role, "");
        return a;
}

struct author *author_of_config(struct logbook *b, const char *node, const char *slot, int pid, const char *role,
                                int64_t t_ms, const char *config)
{
        struct author *a = author_new(b, node, slot, pid);
        char more[64];

        (void) snprintf(more, sizeof(more), "\"config\":\"%s\"", config);
        say_start(a, t_ms, role, more);
        return a;
}

void say_step(struct author *a, int64_t t_ms, int64_t jump_ms)
{
        a->set_ms += jump_ms;
        say(a, t_ms, "step", "\"jump_ns\":%lld", (long long) (jump_ms * NS_PER_MS));
}

void say_born(struct author *m, int64_t t_ms, const struct author *c)
{
        say(m, t_ms, "roster",
            "\"what\":\"born\",\"role\":\"worker\",\"slot\":\"%s\",\"pid\":%d,\"pstart\":\"%s\"", c->slot,
            c->pid, c->pstart);
}

static void say_end(struct author *m, int64_t t_ms, const struct author *c, bool was_ready, int signal)
{
        say(m, t_ms, "roster",
            "\"what\":\"gone\",\"slot\":\"%s\",\"pid\":%d,\"pstart\":\"%s\",\"ready\":%s,\"%s\":%d", c->slot,
            c->pid, c->pstart, was_ready ? "true" : "false", signal ? "signal" : "exit", signal);
}

void say_gone(struct author *m, int64_t t_ms, const struct author *c, int signal)
{
        say_end(m, t_ms, c, true, signal);
}

void say_stillborn(struct author *m, int64_t t_ms, const struct author *c)
{
        say_end(m, t_ms, c, false, 9);
}

void say_plan(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t every_ms,
              const char *more)
{
        struct schedule s;
        char schedule[SCHEDULE_TEXT];

        assert_int_equal(schedule_every(every_ms, 0, &s), 0);
        schedule_text(&s, schedule, sizeof(schedule));
        say_plan_of(a, t_ms, task, path, schedule, more);
}

void say_plan_of(struct author *a, int64_t t_ms, const char *task, const char *path, const char *schedule,
                 const char *more)
{
        say(a, t_ms, "plan",
            "\"task\":\"%s\",\"path\":\"%s\",\"schedule\":\"%s\",\"grace\":-1,"
            "\"scope\":\"auto\",\"shards\":1,\"enabled\":true,\"valid_from\":%lld%s%s",
            task, path, schedule, (long long) (BASE_MS + t_ms), *more ? "," : "", more);
}

static void subject_text(char ret[256], const struct author *a, const char *task, int64_t planned_ms)
{
        (void) snprintf(ret, 256,
                        "\"trig\":\"%s.%s.%d.%s.%llu\",\"occ\":\"%s-%lld\",\"task\":\"%s\",\"shard\":0,"
                        "\"planned\":%lld,\"by\":\"schedule\"",
                        a->node, a->slot, a->pid, a->pstart, (unsigned long long) a->n, task,
                        (long long) planned_ms, task, (long long) (BASE_MS + planned_ms));
}

void say_attempt(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t planned_ms,
                 const char *out, int fence)
{
        char subject[256];

        subject_text(subject, a, task, planned_ms);
        say(a, t_ms, "attempt", "%s,\"path\":\"%s\",\"out\":\"%s\",\"fence\":\"%d\"", subject, path, out,
            fence);
}

void say_run(struct author *a, int64_t t_ms, const char *task, const char *path, int64_t planned_ms,
             int fence)
{
        char subject[256];

        subject_text(subject, a, task, planned_ms);
        say(a, t_ms, "run", "%s,\"path\":\"%s\",\"fence\":\"%d\",\"runner\":\"noop\"", subject, path, fence);
}

void say_finish(struct author *a, int64_t t_ms, const char *task, int64_t planned_ms, const char *state,
                const char *more)
{
        char subject[256];

        subject_text(subject, a, task, planned_ms);
        say(a, t_ms, "finish", "%s,\"state\":\"%s\",%s", subject, state, more);
}

void say_range(struct author *a, int64_t t_ms, const char *e, const char *task, int64_t first_ms,
               int64_t last_ms, const char *cause)
{
        say(a, t_ms, e,
            "\"task\":\"%s\",\"shard\":0,\"first\":%lld,\"last\":%lld,\"count\":1,\"state\":\"%s\",\"cause\":"
            "\"%s\"",
            task, (long long) (BASE_MS + first_ms), (long long) (BASE_MS + last_ms),
            strcmp(e, "skip") == 0 ? "skipped" : "missed", cause);
}

void say_stop(struct author *a, int64_t t_ms, int64_t ceased_ms, bool led)
{
        say(a, t_ms, "stop", "\"reason\":\"drained\",\"ceased\":%lld,\"led\":%s",
            (long long) (BASE_MS + ceased_ms), led ? "true" : "false");
}

void say_once(struct author *a, const char *task, const char *path, int64_t planned_ms, int fence)
{
        say_attempt(a, planned_ms + 1, task, path, planned_ms, "granted", fence);
        say_run(a, planned_ms + 1, task, path, planned_ms, fence);
        say_finish(a, planned_ms + 3, task, planned_ms, "succeeded", "\"result\":\"done\",\"run_us\":1000");
}

size_t line_find(const struct author *a, const char *e, const char *part)
{
        char kind[32];

        (void) snprintf(kind, sizeof(kind), "{\"e\":\"%s\",", e);
        for (size_t i = 0; i < a->count; i++)
                if (strncmp(a->lines[i], kind, strlen(kind)) == 0 && strstr(a->lines[i], part))
                        return i;
        fail_msg("no %s line with %s", e, part);
        return 0;
}

void line_drop(struct author *a, size_t i)
{
        free(a->lines[i]);
        memmove(&a->lines[i], &a->lines[i + 1], (a->count - i - 1) * sizeof(*a->lines));
        a->count--;
}

void line_double(struct author *a, size_t i)
{
        line_add(a, i + 1, strdup(a->lines[i]));
}

void line_tear(struct author *a, size_t i)
{
        a->lines[i][strlen(a->lines[i]) / 2] = '\0';
}

void line_edit(struct author *a, size_t i, const char *from, const char *to)
{
        char *at = strstr(a->lines[i], from);

        assert_non_null(at);
        assert_int_equal(strlen(from), strlen(to));
        memcpy(at, to, strlen(to));
}
