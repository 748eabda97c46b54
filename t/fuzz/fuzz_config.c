/* A configuration file. What loads is dumped, and the dump loads as the same: two properties that no broken tree
 * survives. What does not load says why. */
#include "t/fuzz/target.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/config/config.h"

/* An include is the operator's own; a fuzzer's would make the test depend on the files of the machine, or walk
 * all of them. */
int __real_glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *ret);
int __wrap_glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *ret);

int __wrap_glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *ret)
{
        size_t wild = 0, within = strlen(fuzz_folder());

        for (const char *p = pattern; *p; p++)
                wild += strchr("*?[", *p) != NULL;
        if (wild > 2 || strncmp(pattern, fuzz_folder(), within) != 0 || strstr(pattern, ".."))
                return GLOB_NOMATCH;
        return __real_glob(pattern, flags, on_error, ret);
}

static void surroundings(void)
{
        static const char more[] = "tasks:\n  - { name: more, every: 1h, timeout: 1s, noop: true }\n";

        (void) setenv("FUZZ_WORD", "word", 1);
        (void) setenv("FUZZ_EMPTY", "", 1);
        (void) fuzz_file("more.yaml", more, sizeof(more) - 1);
        (void) fuzz_file("secret", "s3cret\n", 7);
}

/* Every complaint is one line for a terminal, whatever it quotes. */
static void claim_complaints(const struct complaints *c)
{
        for (size_t i = 0; i < c->count; i++) {
                CLAIM(c->list[i].text && *c->list[i].text);
                for (const char *p = c->list[i].text; *p; p++)
                        CLAIM((unsigned char) *p >= 0x20 && *p != 0x7f);
        }
}

static struct config *load(const char *name, const void *data, size_t size)
{
        struct complaints complaints = COMPLAINTS_NONE;
        struct config *c = NULL;

        int r = config_load(fuzz_file(name, data, size), &c, &complaints);
        CLAIM(r <= 0 && (r == 0) == (c != NULL));
        CLAIM((r < 0) == (complaints.errors > 0));
        claim_complaints(&complaints);
        complaints_done(&complaints);
        return c;
}

static void claim_tasks(const struct config *c)
{
        for (size_t i = 0; i < c->task_count; i++) {
                const struct task *t = &c->tasks[i];
                CLAIM(config_task(c, t->name) == t);
                CLAIM(t->timeout_ms > 0 && t->shards >= 1 && t->shards <= t->max_shards);
                CLAIM(strlen(t->when_hash) == 16 && strlen(t->def_hash) == 16);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static bool ready;
        struct buf dump = BUF_EMPTY, again = BUF_EMPTY;

        if (!ready)
                surroundings();
        ready = true;
        struct config *c = load("onced.yaml", data, size);
        if (!c)
                return 0;
        claim_tasks(c);
        config_dump(c, &dump);
        CLAIM(!dump.failed);
        struct config *second = load("dump.yaml", dump.data, dump.len);
        if (!second)
                (void) fprintf(stderr, "does not load again:\n%s\n", buf_string(&dump));
        CLAIM(second != NULL);
        config_dump(second, &again);
        if (strcmp(buf_string(&dump), buf_string(&again)) != 0)
                (void) fprintf(stderr, "changes when it is loaded again:\n%s---\n%s\n", buf_string(&dump), buf_string(&again));
        CLAIM(strcmp(buf_string(&dump), buf_string(&again)) == 0);
        config_free(second);
        config_free(c);
        buf_done(&dump);
        buf_done(&again);
        return 0;
}
