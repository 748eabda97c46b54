/* The file is text, "key value" a line, so that a person can read it; what is not understood refuses it whole. It is
 * replaced whole and fsynced, by one process at a time. */
#include "ledger/redis_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define FILE_LIMIT 4096

char *redis_memory_path(const char *state_dir, const char *prefix)
{
        char digest[DIGEST_TEXT], name[32];

        digest_hex(prefix, strlen(prefix), digest);
        (void) snprintf(name, sizeof(name), "store-%.16s", digest);
        return path_join(state_dir, name);
}

static bool copy_word(char *to, size_t room, const char *from, const char *chars)
{
        size_t len = strlen(from);

        if (len == 0 || len >= room || strspn(from, chars) != len)
                return false;
        memcpy(to, from, len + 1);
        return true;
}

static bool line_read(char *line, struct redis_memory *m)
{
        char *value = strchr(line, ' '), planned[16];

        if (!value)
                return false;
        *value++ = '\0';
        if (strcmp(line, "incarnation") == 0)
                return copy_word(m->incarnation, sizeof(m->incarnation), value, "0123456789abcdef");
        if (strcmp(line, "epoch") == 0)
                return copy_word(m->epoch, sizeof(m->epoch), value, "0123456789");
        if (strcmp(line, "fence") == 0)
                return copy_word(m->fence, sizeof(m->fence), value, "0123456789");
        if (strcmp(line, "planned") != 0 || !copy_word(planned, sizeof(planned), value, "0123456789"))
                return false;
        m->planned.ms = strtoll(planned, NULL, 10);
        return true;
}

static int file_parse(const char *path, struct redis_memory *ret)
{
        struct redis_memory m = { .planned = INSTANT_NONE };
        char *save = NULL;
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        int r = file_read(path, FILE_LIMIT, &text);
        if (r < 0)
                return r == -EFBIG ? -EINVAL : r;
        if (text.len == 0 || strlen(text.data) != text.len)
                return -EINVAL;
        for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (!line_read(line, &m))
                        return -EINVAL;
        if (!*m.incarnation || !*m.epoch)
                return -EINVAL;
        *ret = m;
        return 0;
}

/* Plain decimals, "" is none. */
static void raise_number(char *to, size_t room, const char *from)
{
        if (strtoull(from, NULL, 10) > strtoull(to, NULL, 10))
                (void) snprintf(to, room, "%s", from);
}

static void merge(struct redis_memory *m, const struct redis_memory *other)
{
        if (strcmp(m->incarnation, other->incarnation) == 0)   /* epochs of another store are not its own */
                raise_number(m->epoch, sizeof(m->epoch), other->epoch);
        raise_number(m->fence, sizeof(m->fence), other->fence);
        if (!instant_is_none(other->planned) && (instant_is_none(m->planned) || m->planned.ms < other->planned.ms))
                m->planned = other->planned;
}

int redis_memory_load(const char *path, struct redis_memory *m)
{
        struct redis_memory file;

        int r = file_parse(path, &file);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        merge(&file, m);
        (void) snprintf(file.run_id, sizeof(file.run_id), "%s", m->run_id);
        *m = file;
        return 0;
}

static bool same(const struct redis_memory *a, const struct redis_memory *b)
{
        return strcmp(a->incarnation, b->incarnation) == 0 && strcmp(a->epoch, b->epoch) == 0 &&
               strcmp(a->fence, b->fence) == 0 && a->planned.ms == b->planned.ms;
}

static int file_write(const char *path, const struct redis_memory *m)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        buf_format(&text, "incarnation %s\nepoch %s\n", m->incarnation, m->epoch);
        if (*m->fence)
                buf_format(&text, "fence %s\n", m->fence);
        if (!instant_is_none(m->planned))
                buf_format(&text, "planned %" PRId64 "\n", m->planned.ms);
        return text.failed ? -ENOMEM : file_replace(path, text.data, text.len, 0600);
}

/* The file itself cannot be locked: it is another one after each write. */
static int lock_take(const char *path)
{
        _cleanup_(freep) char *name = NULL;

        if (asprintf(&name, "%s.lock", path) < 0) {
                name = NULL;
                return -ENOMEM;
        }
        int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        while (flock(fd, LOCK_EX) < 0)
                if (errno != EINTR) {
                        int r = -errno;
                        (void) close(fd);
                        return r;
                }
        return fd;
}

int redis_memory_keep(const char *path, const char *was, const struct redis_memory *m)
{
        struct redis_memory file, next = *m;
        _cleanup_(closep) int lock = lock_take(path);

        if (lock < 0)
                return lock;
        int r = file_parse(path, &file);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0) {
                if (strcmp(file.incarnation, was) != 0 && strcmp(file.incarnation, m->incarnation) != 0)
                        return -ESTALE;
                merge(&next, &file);
                if (same(&next, &file))
                        return 0;
        }
        return file_write(path, &next);
}

struct keeping {
        uv_work_t work;
        char *path;                   /* owned */
        char was[INCARNATION_TEXT];
        struct redis_memory memory;
        int result;
        void (*done)(int result, void *arg);
        void *arg;
};

static void on_work(uv_work_t *w)
{
        struct keeping *k = container_of(w, struct keeping, work);

        k->result = redis_memory_keep(k->path, k->was, &k->memory);
}

static void on_done(uv_work_t *w, int status)
{
        struct keeping *k = container_of(w, struct keeping, work);
        void (*done)(int, void *) = k->done;
        void *arg = k->arg;
        int result = status < 0 ? status : k->result;

        free(k->path);
        free(k);
        done(result, arg);
}

int redis_memory_keep_later(uv_loop_t *loop, const char *path, const char *was, const struct redis_memory *m,
                            void (*done)(int result, void *arg), void *arg)
{
        struct keeping *k = calloc(1, sizeof(*k));

        if (!k)
                return -ENOMEM;
        *k = (struct keeping) { .path = strdup(path), .memory = *m, .done = done, .arg = arg };
        (void) snprintf(k->was, sizeof(k->was), "%s", was);
        int r = k->path ? uv_queue_work(loop, &k->work, on_work, on_done) : -ENOMEM;
        if (r < 0) {
                free(k->path);
                free(k);
        }
        return r;
}
