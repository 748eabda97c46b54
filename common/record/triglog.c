/* The file under a trigger log: lines gather in memory, leave in one write, move on to the next file.
 * A line that was written in part is finished by the next write that works; only a run line is not, since its
 * start did not happen: it stays as a fragment, followed by a line that says so. */
#include "common/record/triglog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/record/line.h"
#include "common/record/writer.h"

static int64_t today(void)
{
        return stamp_instant(clock_wall()).ms / MS_PER_DAY;
}

static int file_open(const struct triglog *t, unsigned k, char **ret_name, int *ret_fd)
{
        _cleanup_(freep) char *name = NULL;

        if (asprintf(&name, "%s.%s.%d.%s.%u.jsonl", t->node, t->slot, t->pid, t->pstart, k) < 0) {
                name = NULL;
                return -ENOMEM;
        }
        _cleanup_(freep) char *path = path_join(t->dir, name);
        if (!path)
                return -ENOMEM;
        int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        *ret_name = TAKE(name);
        *ret_fd = fd;
        return 0;
}

static struct triglog *writer_free(struct triglog *t)
{
        if (!t)
                return NULL;
        if (t->fd >= 0)
                (void) close(t->fd);
        chain_done(&t->chain);
        buf_done(&t->pending);
        standing_done(&t->standing);
        free(t->dir);
        free(t->node);
        free(t->slot);
        free(t->pstart);
        free(t->boot);
        free(t->role);
        free(t->name);
        free(t);
        return NULL;
}

DEFINE_CLEANUP(struct triglog *, writer_freep, writer_free)

int triglog_open(const struct triglog_options *o, struct triglog **ret)
{
        _cleanup_(writer_freep) struct triglog *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;
        t->fd = -1;
        t->dir = strdup(o->dir);
        t->node = strdup(o->node);
        t->slot = strdup(o->slot);
        t->pstart = strdup(o->pstart);
        t->boot = strdup(o->boot);
        if (!t->dir || !t->node || !t->slot || !t->pstart || !t->boot)
                return -ENOMEM;
        t->pid = o->pid;
        t->rotate_size = o->rotate_size;
        t->sync = o->sync;
        t->n = 1;
        t->k = 1;
        t->day = today();
        int r = chain_init(&t->chain);
        if (r < 0)
                return r;
        r = folder_make(t->dir, 0700);
        if (r < 0)
                return r;
        r = file_open(t, t->k, &t->name, &t->fd);
        if (r < 0)
                return r;
        *ret = TAKE(t);
        return 0;
}

struct triglog *triglog_close(struct triglog *t)
{
        if (!t)
                return NULL;
        (void) writer_out(t, NULL);
        return writer_free(t);
}

bool writer_begin(struct triglog *t, const char *e, struct line_mark *ret)
{
        if (t->pending.len + LINE_MAX_BYTES > PENDING_MAX) {
                t->lost++;
                return false;
        }
        ret->start = t->pending.len;
        memcpy(ret->h, t->chain.h, CHAIN_TEXT);
        line_begin(&t->pending, e, t->n, clock_wall(), clock_mono());
        ret->fields = t->pending.len;
        return true;
}

void writer_undo(struct triglog *t, const struct line_mark *m)
{
        t->pending.len = m->start;
        t->pending.failed = false;
        memcpy(t->chain.h, m->h, CHAIN_TEXT);
}

bool writer_end(struct triglog *t, const struct line_mark *m)
{
        if (line_end(&t->pending, m->start, &t->chain) < 0) {
                writer_undo(t, m);
                t->lost++;
                return false;
        }
        t->n++;
        return true;
}

void writer_gathered(struct triglog *t)
{
        if (t->pending.len >= PENDING_FULL && !t->error)
                (void) triglog_flush(t);
}

/* What of the first pending line is in the file, after `written` bytes of `pending` were added to it. */
static size_t cut_after(const struct triglog *t, size_t written)
{
        const char *newline = written ? memrchr(t->pending.data, '\n', written) : NULL;

        return newline ? written - (size_t) (newline + 1 - t->pending.data) : t->cut + written;
}

int writer_out(struct triglog *t, size_t *ret_written)
{
        size_t done = 0;
        int r = 0;

        while (done < t->pending.len && r == 0) {
                ssize_t w = write(t->fd, t->pending.data + done, t->pending.len - done);
                if (w > 0)
                        done += (size_t) w;
                else if (w == 0)
                        r = -EIO;
                else if (errno != EINTR)
                        r = -errno;
        }
        t->cut = cut_after(t, done);
        t->size += (int64_t) done;
        buf_drop_front(&t->pending, done);
        t->error = r;
        if (ret_written)
                *ret_written = done;
        return r;
}

/* A line that says how many found no room; with 0 lost it only tries whether writing works again. */
static void gap_line(struct triglog *t, int error)
{
        struct line_mark m;
        uint64_t lost = t->lost;

        if (!writer_begin(t, "gap", &m)) {
                t->lost = lost;
                return;
        }
        line_int(&t->pending, "lines", (int64_t) lost);
        line_text(&t->pending, "why", error ? strerrordesc_np(-error) : NULL);
        t->lost = writer_end(t, &m) ? 0 : lost;
}

int triglog_flush(struct triglog *t)
{
        int before = t->error;

        if (before && t->pending.len == 0)
                gap_line(t, before);
        int r = writer_out(t, NULL);
        if (r == 0 && t->lost) {
                gap_line(t, before);
                r = writer_out(t, NULL);
        }
        if (r == 0 && t->size > 0 && ((t->rotate_size > 0 && t->size >= t->rotate_size) || today() != t->day))
                (void) triglog_rotate(t);   /* if it fails, the old file simply goes on */
        return r;
}

static bool rotate_line_old(struct triglog *t, const char *next, struct line_mark *m)
{
        if (!writer_begin(t, "rotate", m))
                return false;
        line_text(&t->pending, "next", next);
        return writer_end(t, m);
}

static void standing_lines(struct triglog *t)
{
        for (size_t i = 0; i < t->standing.count; i++) {
                const struct standing_fact *f = &t->standing.facts[i];
                struct line_mark m;

                if (!f->key || !writer_begin(t, f->e, &m))
                        continue;
                buf_text(&t->pending, f->fields);
                if (writer_end(t, &m) && t->pending.len >= PENDING_FULL)
                        (void) writer_out(t, NULL);
        }
}

static void rotate_line_new(struct triglog *t, const char *prev, const char *prev_h)
{
        struct line_mark m;

        if (!writer_begin(t, "rotate", &m))
                return;
        line_text(&t->pending, "node", t->node);
        line_text(&t->pending, "slot", t->slot);
        line_int(&t->pending, "pid", t->pid);
        line_text(&t->pending, "pstart", t->pstart);
        line_text(&t->pending, "boot", t->boot);
        line_text(&t->pending, "role", t->role);
        line_bool(&t->pending, "sync", t->sync);
        line_text(&t->pending, "prev", prev);
        line_text(&t->pending, "prev_h", prev_h);
        (void) writer_end(t, &m);
}

/* The new file is there before the old one says so: a failure leaves the old one in use. */
int triglog_rotate(struct triglog *t)
{
        _cleanup_(freep) char *name = NULL;
        _cleanup_(closep) int fd = -1;
        struct line_mark m;

        int r = writer_out(t, NULL);
        if (r < 0)
                return r;
        r = file_open(t, t->k + 1, &name, &fd);
        if (r < 0)
                return r;
        size_t written = 0;
        r = rotate_line_old(t, name, &m) ? writer_out(t, &written) : -ENOMEM;
        if (r < 0) {
                if (written == 0 && t->pending.len > 0) {
                        t->n--;
                        writer_undo(t, &m);
                }
                /* A rotate line written in part is finished by the next write; it promises nothing that
                 * the reader relies on. */
                _cleanup_(freep) char *path = path_join(t->dir, name);
                if (path)
                        (void) unlink(path);
                return r;
        }
        char prev_h[CHAIN_TEXT];
        memcpy(prev_h, t->chain.h, CHAIN_TEXT);
        (void) close(t->fd);
        t->fd = TAKE_FD(fd);
        char *prev = t->name;
        t->name = TAKE(name);
        t->k++;
        t->day = today();
        t->size = 0;
        rotate_line_new(t, prev, prev_h);
        free(prev);
        standing_lines(t);
        return writer_out(t, NULL);
}

int triglog_follow(struct triglog *t)
{
        struct stat ours, named;
        _cleanup_(freep) char *path = path_join(t->dir, t->name);
        if (!path)
                return -ENOMEM;
        if (fstat(t->fd, &ours) < 0)
                return -errno;
        if (stat(path, &named) == 0 && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev)
                return 0;
        int r = folder_make(t->dir, 0700);
        if (r == 0)
                r = triglog_rotate(t);
        if (r < 0)
                t->error = r;
        return r < 0 ? r : 1;
}

int triglog_state(const struct triglog *t)
{
        return t->error;
}

const char *triglog_name(const struct triglog *t)
{
        return t->name;
}

unsigned triglog_files(const struct triglog *t)
{
        return t->k;
}
