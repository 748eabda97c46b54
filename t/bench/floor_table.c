/* The floor for table: as many lines read, each kept as an instant and its text, the earliest on top of a heap.
 * Nothing is parsed, judged, stored or told to anybody. Prints the microseconds of CPU and the bytes a line.
 * usage: floor_table FILE... */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/times.h"

struct entry {
        int64_t next_ms;
        char *text;
};

struct table {
        struct entry *entries;
        size_t count, room;
        uint64_t bytes;
};

static int table_add(struct table *t, struct entry e)
{
        if (t->count == t->room) {
                size_t room = t->room ? 2 * t->room : 1024;
                struct entry *grown = realloc(t->entries, room * sizeof(*grown));
                if (!grown)
                        return -1;
                t->entries = grown;
                t->room = room;
        }
        size_t at = t->count++;
        for (; at > 0 && t->entries[(at - 1) / 2].next_ms > e.next_ms; at = (at - 1) / 2)
                t->entries[at] = t->entries[(at - 1) / 2];
        t->entries[at] = e;
        return 0;
}

/* Instants spread over a day in no order, so that the heap has its work. */
static int line_take(struct table *t, const char *line)
{
        int64_t spread = (int64_t) (t->count * 2654435761U % 86400) * 1000;
        struct entry e = { times_wall_ns() / 1000000 + spread, strdup(line) };

        if (!e.text)
                return -1;
        t->bytes += strlen(line) + 1 + sizeof(e);
        return table_add(t, e);
}

static int file_take(struct table *t, const char *path)
{
        FILE *f = fopen(path, "re");
        char *line = NULL;
        size_t room = 0;
        int r = f ? 0 : -1;

        while (r == 0 && getline(&line, &room, f) > 0)
                if (line[0] == ' ')
                        r = line_take(t, line);
        free(line);
        if (f)
                (void) fclose(f);
        return r;
}

int main(int argc, char **argv)
{
        struct table t = { 0 };
        int64_t began = times_cpu_ns();

        for (int i = 1; i < argc; i++)
                if (file_take(&t, argv[i]) < 0)
                        return 74;
        if (t.count == 0)
                return 64;
        (void) printf("%" PRId64 " %.1f\n", (times_cpu_ns() - began) / 1000, (double) t.bytes / (double) t.count);
        for (size_t i = 0; i < t.count; i++)
                free(t.entries[i].text);
        free(t.entries);
        return 0;
}
