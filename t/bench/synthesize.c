/* A trigger log of any length, as four workers and a master would have written it for one flock task: each instant
 * is run by one worker and lost by the others. Valid to the last hash.
 * usage: synthesize FOLDER LINES [SCHEDULE]      prints how many lines there are; a schedule of other words for each
 * second ("cron * * * * * * tz Europe/Berlin") is as good */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/record/chain.h"
#include "common/record/ids.h"
#include "common/record/line.h"

#define WORKERS  4
#define EVERY_MS 1000LL
#define BASE_MS  1764522000000LL   /* 2025-11-30T17:00:00Z */
#define NODE     "bench-0a1b2c3d"
#define BOOT     "b007b007b007b007b007b007b007b007"
#define TASK     "mail"

struct author {
        FILE *file;
        struct buf line;
        struct chain chain;
        uint64_t n, seq;
        int pid;
        char slot[4], owner[OWNER_TEXT], trig[TRIG_TEXT];
};

static uint64_t lines;

static struct buf *begin(struct author *a, const char *e, int64_t t_us)
{
        buf_clear(&a->line);
        line_begin(&a->line, e, a->n++, (struct stamp) { BASE_MS * NS_PER_MS + t_us * NS_PER_US },
                   (struct mono) { 1000 * NS_PER_S + t_us * NS_PER_US });
        return &a->line;
}

static void end(struct author *a)
{
        if (line_end(&a->line, 0, &a->chain) < 0 || fwrite(a->line.data, 1, a->line.len, a->file) != a->line.len)
                exit(71);
        lines++;
}

static void author_open(struct author *a, const char *folder, const char *slot, int pid, const char *role)
{
        char path[512];

        *a = (struct author) { .pid = pid, .n = 1 };
        (void) snprintf(a->slot, sizeof(a->slot), "%s", slot);
        (void) snprintf(a->owner, sizeof(a->owner), NODE ".%s.%d.77-ab12", slot, pid);
        (void) snprintf(path, sizeof(path), "%s/%s.1.jsonl", folder, a->owner);
        a->file = fopen(path, "we");
        if (!a->file || chain_init(&a->chain) < 0)
                exit(73);
        struct buf *b = begin(a, "start", 0);
        line_text(b, "node", NODE);
        line_text(b, "slot", slot);
        line_int(b, "pid", pid);
        line_text(b, "pstart", "77-ab12");
        line_text(b, "boot", BOOT);
        line_text(b, "role", role);
        line_int(b, "generation", 1);
        end(a);
}

static void author_close(struct author *a, int64_t t_us, int64_t ceased_ms)
{
        struct buf *b = begin(a, "stop", t_us);

        line_text(b, "reason", "stopped");
        line_int(b, "ceased", ceased_ms);
        line_bool(b, "led", a->slot[0] == '0');
        end(a);
        if (fclose(a->file) != 0)
                exit(74);
        chain_done(&a->chain);
        buf_done(&a->line);
}

static void roster(struct author *master, const char *what, const struct author *w, int64_t t_us)
{
        struct buf *b = begin(master, "roster", t_us);

        line_text(b, "what", what);
        if (what[0] == 'b')
                line_text(b, "role", "worker");
        line_text(b, "slot", w->slot);
        line_int(b, "pid", w->pid);
        line_text(b, "pstart", "77-ab12");
        if (what[0] == 'g')
                line_int(b, "exit", 0);
        end(master);
}

static void plan(struct author *a, const char *schedule)
{
        struct buf *b = begin(a, "plan", 10);

        line_text(b, "task", TASK);
        line_text(b, "path", "flock");
        line_plain(b, "schedule", schedule);
        line_text(b, "misfire", "skip");
        line_int(b, "grace", -1);
        line_text(b, "overlap", "drop");
        line_int(b, "max_running", 1);
        line_text(b, "scope", "auto");
        line_int(b, "shards", 1);
        line_bool(b, "enabled", true);
        line_int(b, "timeout", 30000);
        line_int(b, "rev", 1);
        line_int(b, "valid_from", BASE_MS);
        end(a);
}

static struct buf *subject(struct author *a, const char *e, int64_t t_us, const char *occ, int64_t planned_ms)
{
        struct buf *b = begin(a, e, t_us);

        line_text(b, "trig", a->trig);
        line_text(b, "occ", occ);
        line_text(b, "task", TASK);
        line_int(b, "shard", 0);
        line_int(b, "planned", planned_ms);
        line_text(b, "by", "schedule");
        return b;
}

static void attempt(struct author *a, int64_t t_us, const char *occ, int64_t planned_ms, const char *out,
                    const char *fence)
{
        struct buf *b;
        char token[TOKEN_TEXT];

        trigger_id(a->owner, ++a->seq, a->trig);
        claim_token(a->owner, occ, token);
        token[8] = '\0';
        b = subject(a, "attempt", t_us, occ, planned_ms);
        line_text(b, "path", "flock");
        line_text(b, "out", out);
        line_text(b, "fence", fence);
        line_text(b, "tok8", token);
        line_int(b, "late_us", 400);
        end(a);
}

static void win(struct author *a, int64_t t_us, const char *occ, int64_t planned_ms)
{
        char fence[FENCE_TEXT];
        struct buf *b;

        (void) snprintf(fence, sizeof(fence), "%" PRId64, planned_ms * 1000);
        attempt(a, t_us + 400, occ, planned_ms, "granted", fence);
        b = subject(a, "run", t_us + 420, occ, planned_ms);
        line_text(b, "path", "flock");
        line_text(b, "fence", fence);
        line_text(b, "runner", "noop");
        end(a);
        b = subject(a, "finish", t_us + 500, occ, planned_ms);
        line_text(b, "state", "succeeded");
        line_text(b, "result", "noop");
        line_int(b, "run_us", 80);
        end(a);
}

int main(int argc, char **argv)
{
        struct author master, workers[WORKERS];
        uint64_t want = argc >= 3 ? strtoull(argv[2], NULL, 10) : 0;
        int64_t k = 0;

        if (want == 0)
                return 64;
        author_open(&master, argv[1], "m", 100, "master");
        for (int i = 0; i < WORKERS; i++) {
                char slot[12];
                (void) snprintf(slot, sizeof(slot), "%d", i);
                author_open(&workers[i], argv[1], slot, 101 + i, "worker");
                roster(&master, "born", &workers[i], 5);
        }
        plan(&workers[0], argc == 4 ? argv[3] : "every 1s");
        while (lines < want) {
                int64_t planned_ms = BASE_MS + ++k * EVERY_MS, t_us = k * EVERY_MS * 1000;
                char occ[OCC_TEXT];
                occurrence_id("", TASK, 0, (struct instant) { planned_ms }, occ);
                for (int i = 0; i < WORKERS; i++) {
                        if (i == (int) (k % WORKERS))
                                win(&workers[i], t_us, occ, planned_ms);
                        else
                                attempt(&workers[i], t_us + 900, occ, planned_ms, "done", NULL);
                }
        }
        int64_t end_us = (k + 1) * EVERY_MS * 1000 - 1000;
        for (int i = 0; i < WORKERS; i++) {
                author_close(&workers[i], end_us, BASE_MS + (k + 1) * EVERY_MS);
                roster(&master, "gone", &workers[i], end_us + 10);
        }
        author_close(&master, end_us + 20, BASE_MS + (k + 1) * EVERY_MS);
        (void) printf("%" PRIu64 "\n", lines);
        return 0;
}
