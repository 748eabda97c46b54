/* A heap over the logs of all processes. A log's place is the newest planned instant read so far, which only
 * grows; a file is open only while its log is under way, so that a year of restarts needs few descriptors. */
#include "cli/prove/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/evidence.h"
#include "cli/prove/judge.h"
#include "cli/prove/reader.h"
#include "cli/prove/scan.h"
#include "common/cleanup.h"
#include "common/heap.h"

struct stream {
        struct heap_node node;           /* first */
        const struct process *process;   /* borrowed from the evidence */
        size_t file;                     /* the next one to open */
        struct reader reader;
        struct scanner *scanner;         /* owned while under way: it keeps the texts of `record` */
        struct record record;
        uint64_t newest_n;
        int64_t place_ms, order_us;      /* order_us: of `record`, where places are equal */
};

/* The node is a stream's first member: no cast away from const is needed that way. */
static bool stream_less(const struct heap_node *a, const struct heap_node *b)
{
        const struct stream *x = (const void *) a, *y = (const void *) b;

        if (x->place_ms != y->place_ms)
                return x->place_ms < y->place_ms;
        if (x->order_us != y->order_us)
                return x->order_us < y->order_us;
        return x->process->index < y->process->index;
}

static void stream_end(struct stream *s)
{
        reader_close(&s->reader);
        s->scanner = scanner_free(s->scanner);
}

static bool about_occurrence(const struct stream *s)
{
        const struct record *r = &s->record;

        if (r->n <= s->newest_n)         /* a line given twice is tampering, and no second run */
                return false;
        return r->e == EVENT_ATTEMPT || r->e == EVENT_RUN || r->e == EVENT_FINISH || r->e == EVENT_SKIP ||
               r->e == EVENT_MISS;
}

static int64_t record_place_ms(const struct record *r)
{
        return record_number(r, r->e == EVENT_SKIP || r->e == EVENT_MISS ? FIELD_LAST : FIELD_PLANNED);
}

/* At one instant, as it happened. */
static int64_t record_order_us(const struct stream *s)
{
        const struct process *p = s->process;

        return p->is_steady ? p->steady_us + s->record.b_ns / NS_PER_US : s->record.t_us;
}

/* 1: there is a line in `record`; 0: the log has ended. Files that cannot be read any more were named by the
 * first pass, or shrank since: they end here. */
static int stream_next(struct stream *s)
{
        const char *line;
        size_t len;
        bool whole;

        for (;;) {
                if (s->reader.fd < 0) {
                        if (s->file == s->process->file_count)
                                return 0;
                        const struct log_file *f = &s->process->files[s->file++];
                        int r = reader_open(&s->reader, f->path, f->size);
                        if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
                                return r;
                        if (r < 0)
                                continue;
                }
                int got = reader_line(&s->reader, &line, &len, &whole);
                if (got <= 0) {
                        reader_close(&s->reader);
                        continue;
                }
                if (!whole || scan_line(s->scanner, line, len, &s->record) < 0)
                        continue;
                bool wanted = about_occurrence(s);
                if (s->record.n > s->newest_n)
                        s->newest_n = s->record.n;
                if (!wanted)
                        continue;
                s->order_us = record_order_us(s);
                int64_t place = record_place_ms(&s->record);
                if (place > s->place_ms)
                        s->place_ms = place;
                return 1;
        }
}

/* One turn for the log whose turn it is: its line is judged, and it moves on. */
static int turn(struct heap *h, struct stream *s, struct judge *j)
{
        int r = 1;

        if (!s->scanner) {
                s->scanner = scanner_new();
                if (!s->scanner)
                        return -ENOMEM;
                r = stream_next(s);      /* its place may be later than its first line was */
        } else {
                r = judge_take(j, s->process, &s->record, s->place_ms);
                if (r < 0)
                        return r;
                r = stream_next(s);
        }
        if (r > 0) {
                heap_moved(h, &s->node);
                return 0;
        }
        heap_remove(h, &s->node);
        stream_end(s);
        return r;
}

int merge_logs(struct evidence *e, struct judge *j)
{
        struct stream *streams = calloc(e->process_count + 1, sizeof(*streams));
        struct heap_node *top;
        struct heap heap;
        int r = 0;

        if (!streams)
                return -ENOMEM;
        heap_init(&heap, stream_less);
        for (size_t i = 0; i < e->process_count && r == 0; i++) {
                const struct process *p = e->processes[i];

                streams[i] =
                        (struct stream) { .process = p, .reader = READER_NONE, .place_ms = p->first_planned_ms };
                if (p->occurrences)
                        r = heap_insert(&heap, &streams[i].node);
        }
        while (r == 0 && (top = heap_top(&heap)))
                r = turn(&heap, container_of(top, struct stream, node), j);
        for (size_t i = 0; i < e->process_count; i++)
                if (streams[i].process)
                        stream_end(&streams[i]);
        heap_done(&heap);
        free(streams);
        return r;
}
