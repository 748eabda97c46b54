/* Whole logs. The input is a text: a line of flags, then files, each begun by a line "%% NAME". With s among the
 * flags the hash chain is put right before the logs are judged, with n the line numbers are, so that changes of
 * the fuzzer get past the first look; w asks for a window. Whatever the logs say, there is a verdict, the report
 * is valid and safe to print, and the order in which files are named changes nothing. */
#include "t/fuzz/target.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/merge.h"
#include "cli/prove/report.h"
#include "common/buf.h"
#include "common/record/chain.h"

#define FILES_MAX 8
#define FLAGS_MAX 16
#define BASE_MS   1764522000000LL   /* of the seeds */

struct logs {
        char paths[FILES_MAX][192];
        size_t count;
        bool seal, number, window;
};

static void number_put(struct buf *out, const char *line, size_t len, uint64_t n)
{
        const char *at = memmem(line, len, "\"n\":", 4);

        if (!at) {
                buf_add(out, line, len);
                return;
        }
        at += 4;
        buf_add(out, line, (size_t) (at - line));
        buf_format(out, "%llu", (unsigned long long) n);
        while (at < line + len && *at >= '0' && *at <= '9')
                at++;
        buf_add(out, at, (size_t) (line + len - at));
}

/* Only lines that end as ours do are sealed; others stay what they are. */
static void seal(struct buf *out, size_t start, struct chain *chain)
{
        size_t len = out->len - start;

        if (out->failed || len < CHAIN_TAIL || memcmp(out->data + out->len - CHAIN_TAIL, ",\"h\":\"", 6) != 0)
                return;
        CLAIM(chain_next(chain, out->data + start, len - CHAIN_TAIL) == 0);
        memcpy(out->data + out->len - CHAIN_TAIL + 6, chain->h, CHAIN_TEXT - 1);
}

static void name_clean(char *ret, size_t room, const char *name, size_t len)
{
        size_t n = 0;

        for (size_t i = 0; i < len && n + 1 < room && n < 100; i++)
                if (name[i] > 0x20 && name[i] < 0x7f && name[i] != '/')
                        ret[n++] = name[i];
        ret[n] = '\0';
}

static void file_save(struct logs *l, const char *name, size_t name_len, const char *text, size_t len)
{
        struct buf out = BUF_EMPTY;
        struct chain chain;
        uint64_t n = 1;
        char clean[128];

        if (l->count == FILES_MAX)
                return;
        CLAIM(chain_init(&chain) == 0);
        while (len > 0) {
                const char *newline = memchr(text, '\n', len);
                size_t line = newline ? (size_t) (newline - text) : len, start = out.len;
                if (l->number)
                        number_put(&out, text, line, n++);
                else
                        buf_add(&out, text, line);
                if (l->seal)
                        seal(&out, start, &chain);
                if (newline)
                        buf_char(&out, '\n');
                text += line + (newline != NULL);
                len -= line + (newline != NULL);
        }
        name_clean(clean, sizeof(clean), name, name_len);
        char file[160];
        (void) snprintf(file, sizeof(file), "%zu-%s", l->count, clean);
        CLAIM(!out.failed);
        (void) snprintf(l->paths[l->count++], sizeof(l->paths[0]), "%s", fuzz_file(file, out.data ? out.data : "", out.len));
        chain_done(&chain);
        buf_done(&out);
}

static void logs_save(struct logs *l, const char *text, size_t len)
{
        const char *end = text + len, *newline = memchr(text, '\n', len);

        for (const char *f = text; newline && f < newline && f < text + FLAGS_MAX; f++) {
                l->seal |= *f == 's';
                l->number |= *f == 'n';
                l->window |= *f == 'w';
        }
        while (newline && newline + 1 < end) {
                const char *name = newline + 1, *body = memchr(name, '\n', (size_t) (end - name));
                if (!body)
                        return;
                body++;
                const char *next = memmem(body - 1, (size_t) (end - body + 1), "\n%% ", 4);
                file_save(l, name, (size_t) (body - 1 - name), body, (size_t) ((next ? next + 1 : end) - body));
                newline = next;
        }
}

static void claim_table(struct evidence *e, struct judge *j)
{
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        CLAIM(out != NULL);
        report_table(out, e, j, true);
        CLAIM(fclose(out) == 0);
        for (size_t i = 0; i < len; i++)
                CLAIM(text[i] == '\n' || ((unsigned char) text[i] >= 0x20 && text[i] != 0x7f));
        free(text);
}

static void claim_json(const struct evidence *e, const struct judge *j)
{
        struct buf out = BUF_EMPTY;
        json_error_t error;

        report_json(&out, e, j);
        CLAIM(!out.failed);
        json_t *report = json_loadb(out.data, out.len, 0, &error);
        if (!report)
                (void) fprintf(stderr, "%s at %d:\n%s\n", error.text, error.position, out.data);
        CLAIM(report != NULL);
        json_decref(report);
        buf_done(&out);
}

/* The exit code; -1 when the logs hold more than any honest ones. */
static int prove(char **paths, size_t count, bool window)
{
        struct judge_options o = { window ? BASE_MS + 1000 : INT64_MIN, window ? BASE_MS + 5000 : INT64_MAX, NULL, 0 };
        struct evidence *e = evidence_new();

        CLAIM(e != NULL);
        CLAIM(evidence_collect(e, paths, count) == 0 && evidence_read(e) == 0);
        struct judge *j = judge_new(e, &o);
        CLAIM(j != NULL);
        int r = merge_logs(e, j);
        if (r == 0)
                r = judge_end(j);
        CLAIM(r == 0 || r == -E2BIG);
        int code = -1;
        if (r == 0) {
                claim_table(e, j);
                claim_json(e, j);
                code = report_exit(e, j);
                CLAIM(code >= 0 && code <= 3);
        }
        judge_free(j);
        evidence_free(e);
        return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct logs l = { .count = 0 };
        char *paths[FILES_MAX], *turned[FILES_MAX];

        logs_save(&l, (const char *) data, size);
        for (size_t i = 0; i < l.count; i++)
                paths[i] = turned[l.count - 1 - i] = l.paths[i];
        int code = prove(paths, l.count, l.window);
        CLAIM(prove(turned, l.count, l.window) == code);
        for (size_t i = 0; i < l.count; i++)
                (void) unlink(l.paths[i]);
        return 0;
}
