/* Which files there are: arguments are files or folders, and a file is what its first line says it is. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/prove/evidence.h"
#include "cli/prove/reader.h"
#include "cli/prove/scan.h"
#include "common/cleanup.h"
#include "common/file.h"

DEFINE_CLEANUP(DIR *, closedirp, (void) closedir)
DEFINE_CLEANUP(struct scanner *, scanner_freep, scanner_free)

struct gathering {
        struct evidence *e;
        struct scanner *scanner;
        struct dict seen;      /* "dev:ino": a file given twice is one */
};

/* Splits the next dot-separated part off the end of `name`; NULL when there is none. */
static char *part_off(char *name)
{
        char *dot = strrchr(name, '.');

        if (!dot || dot == name || !dot[1])
                return NULL;
        *dot = '\0';
        return dot + 1;
}

/* For a file whose first line is gone or was changed, its name must do:
 * <node>.<slot>.<pid>.<pstart>.<k>.jsonl */
static struct process *process_of_name(struct evidence *e, const char *path)
{
        const char *slash = strrchr(path, '/');
        _cleanup_(freep) char *name = strdup(slash ? slash + 1 : path);
        if (!name)
                return NULL;
        char *end = part_off(name), *k = part_off(name), *pstart = part_off(name), *pid = part_off(name),
             *slot = part_off(name);
        if (!end || strcmp(end, "jsonl") != 0 || !k || !pstart || !pid || !slot || atoi(pid) <= 0)
                return NULL;
        return evidence_process(e, name, slot, atoi(pid), pstart);
}

static struct process *process_of_line(struct evidence *e, const struct record *r)
{
        _cleanup_(freep) char *node = text_copy(record_text(r, FIELD_NODE));
        _cleanup_(freep) char *slot = text_copy(record_text(r, FIELD_SLOT));
        _cleanup_(freep) char *pstart = text_copy(record_text(r, FIELD_PSTART));

        if (!node || !slot || !pstart || !*node || !*slot || !*pstart)
                return NULL;
        return evidence_process(e, node, slot, (int) record_number(r, FIELD_PID), pstart);
}

static int file_keep(struct process *p, const char *path, int64_t size, uint64_t first_n)
{
        size_t i = p->file_count;

        for (size_t o = 0; o < p->file_count; o++) {
                struct log_file *other = &p->files[o];
                if (!first_n || other->first_n != first_n)
                        continue;
                /* A copy in another folder: the longer one holds all that the other does. Of two that are as long the
                 * name decides, and not the order in which they were given. */
                if (size < other->size || (size == other->size && strcmp(path, other->path) > 0))
                        return 0;
                char *better = strdup(path);
                if (!better)
                        return -ENOMEM;
                free(other->path);
                other->path = better;
                other->size = size;
                return 0;
        }
        struct log_file *files = reallocarray(p->files, p->file_count + 1, sizeof(*files));
        if (!files)
                return -ENOMEM;
        p->files = files;
        char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        for (; i > 0 && files[i - 1].first_n > first_n; i--)
                files[i] = files[i - 1];
        files[i] = (struct log_file) { copy, size, first_n };
        p->file_count++;
        return 0;
}

static int refuse(struct evidence *e, const char *path, const char *why)
{
        e->unreadable = true;
        return evidence_trouble(e, "%s: %s", path, why);
}

static int gather_file(struct gathering *g, const char *path, const struct stat *st)
{
        struct record r = { .present = 0 };
        struct reader reader;
        const char *line;
        char id[64];
        size_t len;
        bool whole;

        (void) snprintf(id, sizeof(id), "%llu:%llu", (unsigned long long) st->st_dev,
                        (unsigned long long) st->st_ino);
        if (dict_get(&g->seen, id, strlen(id)))
                return 0;
        if (dict_put(&g->seen, id, strlen(id), g) < 0)
                return -ENOMEM;
        int e = reader_open(&reader, path, st->st_size);
        if (e < 0)
                return e == -ENOMEM ? e : refuse(g->e, path, strerror(-e));
        int got = reader_line(&reader, &line, &len, &whole);
        bool read = got > 0 && scan_line(g->scanner, line, len, &r) == 0;
        struct process *p = NULL;
        if (read && (r.e == EVENT_START || r.e == EVENT_ROTATE))
                p = process_of_line(g->e, &r);
        if (!p)
                p = process_of_name(g->e, path);
        reader_close(&reader);
        if (got < 0)
                return refuse(g->e, path, strerror(-got));
        if (!p)
                return refuse(g->e, path, "is no trigger log");
        g->e->files++;
        return file_keep(p, path, st->st_size, read ? r.n : 0);
}

static int gather_folder(struct gathering *g, const char *path)
{
        const struct dirent *d;

        _cleanup_(closedirp) DIR *folder = opendir(path);
        if (!folder)
                return refuse(g->e, path, strerror(errno));
        while ((d = readdir(folder))) {
                size_t len = strlen(d->d_name);
                struct stat st;

                if (len < 7 || strcmp(d->d_name + len - 6, ".jsonl") != 0)
                        continue;
                _cleanup_(freep) char *file = path_join(path, d->d_name);
                if (!file)
                        return -ENOMEM;
                int r = 0;
                if (stat(file, &st) < 0)
                        r = refuse(g->e, file, strerror(errno));
                else if (S_ISREG(st.st_mode))
                        r = gather_file(g, file, &st);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int gather_path(struct gathering *g, const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return refuse(g->e, path, strerror(errno));
        if (S_ISREG(st.st_mode))
                return gather_file(g, path, &st);
        if (!S_ISDIR(st.st_mode))
                return refuse(g->e, path, "is neither a file nor a folder");
        int r = gather_folder(g, path);
        if (r < 0)
                return r;
        _cleanup_(freep) char *triggers = path_join(path, "triggers");
        if (!triggers)
                return -ENOMEM;
        return stat(triggers, &st) == 0 && S_ISDIR(st.st_mode) ? gather_folder(g, triggers) : 0;
}

static int by_name(const void *left, const void *right)
{
        const struct process *const *a = left, *const *b = right;

        return strcmp((*a)->name, (*b)->name);
}

/* The order of arguments, or of a folder's entries, is no evidence: it must not decide between logs that
 * contradict each other. */
static void put_in_order(struct evidence *e)
{
        if (e->process_count > 1)
                qsort(e->processes, e->process_count, sizeof(struct process *), by_name);
        for (size_t i = 0; i < e->process_count; i++)
                e->processes[i]->index = i;
}

int evidence_collect(struct evidence *e, char **paths, size_t count)
{
        _cleanup_(scanner_freep) struct scanner *scanner = scanner_new();
        struct gathering g = { .e = e, .scanner = scanner };
        int r = scanner ? 0 : -ENOMEM;

        for (size_t i = 0; i < count && r == 0; i++)
                r = gather_path(&g, paths[i]);
        dict_done(&g.seen);
        put_in_order(e);
        return r;
}
