/* Old trigger files go whole, oldest first: what remains is a window without holes. */
#include "common/record/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/process.h"

struct old_file {
        char *name;              /* owned */
        size_t owner;            /* bytes of the name that say whose it is: all up to the last dot but one */
        unsigned long k;
        struct process_id process;
        bool master;
        int64_t written_ns, size;
};

struct old_files {
        struct old_file *list;   /* owned */
        size_t count, room;
};

static void old_files_done(struct old_files *f)
{
        for (size_t i = 0; i < f->count; i++)
                free(f->list[i].name);
        free(f->list);
}

DEFINE_CLEANUP(DIR *, closedirp, (void) closedir)

/* The last dot-separated part of name[0..*end), which is cut off; false when there is none. */
static bool part_off(const char *name, size_t *end, const char **ret, size_t *ret_len)
{
        const char *dot = memrchr(name, '.', *end);

        if (!dot || dot == name)
                return false;
        *ret = dot + 1;
        *ret_len = *end - (size_t) (dot + 1 - name);
        *end = (size_t) (dot - name);
        return *ret_len > 0;
}

static bool number_of(const char *text, size_t len, unsigned long *ret)
{
        unsigned long v = 0;

        if (len == 0 || len > 9)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                v = v * 10 + (unsigned long) (text[i] - '0');
        }
        *ret = v;
        return true;
}

/* <node>.<slot>.<pid>.<pstart>.<k>.jsonl, read from the end since a node's name may have dots. */
static bool name_read(const char *name, struct old_file *ret)
{
        size_t end = strlen(name), len;
        const char *part;
        unsigned long pid;

        if (!part_off(name, &end, &part, &len) || strcmp(part, "jsonl") != 0)
                return false;
        if (!part_off(name, &end, &part, &len) || !number_of(part, len, &ret->k))
                return false;
        ret->owner = end;
        if (!part_off(name, &end, &part, &len) || len >= sizeof(ret->process.start))
                return false;
        memcpy(ret->process.start, part, len);
        ret->process.start[len] = '\0';
        if (!part_off(name, &end, &part, &len) || !number_of(part, len, &pid))
                return false;
        ret->process.pid = (pid_t) pid;
        if (!part_off(name, &end, &part, &len))
                return false;
        ret->master = len == 1 && *part == 'm';
        return true;
}

static int old_files_add(struct old_files *f, struct old_file *file, const char *name, const struct stat *st)
{
        if (f->count == f->room) {
                size_t room = f->room ? f->room * 2 : 64;
                struct old_file *list = realloc(f->list, room * sizeof(*list));
                if (!list)
                        return -ENOMEM;
                f->list = list;
                f->room = room;
        }
        file->name = strdup(name);
        if (!file->name)
                return -ENOMEM;
        file->written_ns = (int64_t) st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
        file->size = (int64_t) st->st_size;
        f->list[f->count++] = *file;
        return 0;
}

static int old_files_read(DIR *d, struct old_files *f)
{
        const struct dirent *e;

        while ((e = readdir(d))) {
                struct old_file file = { 0 };
                struct stat st;

                if (!name_read(e->d_name, &file) ||
                    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
                        continue;
                int r = old_files_add(f, &file, e->d_name, &st);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int by_age(const void *a, const void *b)
{
        const struct old_file *x = a, *y = b;

        if (x->written_ns != y->written_ns)
                return x->written_ns < y->written_ns ? -1 : 1;
        return strcmp(x->name, y->name);
}

static bool is_newest_of_owner(const struct old_files *f, const struct old_file *file)
{
        for (size_t i = 0; i < f->count; i++) {
                const struct old_file *o = &f->list[i];
                if (o->owner == file->owner && memcmp(o->name, file->name, file->owner) == 0 &&
                    o->k > file->k)
                        return false;
        }
        return true;
}

static bool must_stay(const struct old_files *f, const struct old_file *file)
{
        return process_alive(&file->process) && (file->master || is_newest_of_owner(f, file));
}

int triglog_prune(const char *dir, int64_t keep_ms, int64_t max_bytes, struct stamp now)
{
        _cleanup_(old_files_done) struct old_files files = { 0 };
        _cleanup_(closedirp) DIR *d = opendir(dir);
        if (!d)
                return -errno;
        int r = old_files_read(d, &files);
        if (r < 0)
                return r;
        int64_t sum = 0;
        for (size_t i = 0; i < files.count; i++)
                sum += files.list[i].size;
        if (files.count)
                qsort(files.list, files.count, sizeof(*files.list), by_age);
        int deleted = 0;
        for (size_t i = 0; i < files.count; i++) {
                const struct old_file *file = &files.list[i];
                bool old = keep_ms > 0 && (now.ns - file->written_ns) / NS_PER_MS > keep_ms;

                if (!old && (max_bytes <= 0 || sum <= max_bytes))
                        break;
                if (must_stay(&files, file) || unlinkat(dirfd(d), file->name, 0) < 0)
                        continue;
                sum -= file->size;
                deleted++;
        }
        return deleted;
}
