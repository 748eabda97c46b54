/* Counting: sixteen buckets an octave of lateness, so that a percentile is right within six in a hundred. */
#include "cli/prove/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prove/scan.h"

const char *const verdict_names[] = { "ONCE", "EXPLAINED", "UNKNOWN", "MISSED", "DUPLICATE", NULL };
const char *const unjudged_names[] = { "", "processes go on, or were killed with their master", "nobody tried: ledger down",
                                       "nobody tried: workers stopped or busy", NULL };
const char *const finding_names[] = {
        "OVERLAP", "EARLY", "LATE", "ORPHAN", "UNFINISHED", "FENCE", "CROWD", "BACK", "SPLIT", "PHANTOM", NULL,
};

struct row *row_new(const char *task, enum path path)
{
        struct row *r = calloc(1, sizeof(*r));

        if (!r)
                return NULL;
        r->path = path;
        r->task = strdup(task);
        if (!r->task)
                return row_free(r);
        text_clean(r->task);
        return r;
}

struct row *row_free(struct row *r)
{
        if (!r)
                return NULL;
        free(r->task);
        free(r->when);
        free(r->late);
        free(r->sources);
        free(r);
        return NULL;
}

int row_when(struct row *r, const char *schedule)
{
        if (r->when && strcmp(r->when, schedule) == 0)
                return 0;
        char *copy = strdup(schedule);
        if (!copy)
                return -ENOMEM;
        free(r->when);
        r->when = copy;
        return 0;
}

static unsigned bucket_of(uint64_t us)
{
        unsigned octave = 0;

        if (us < 16)
                return (unsigned) us;
        while (us >> octave >= 32)
                octave++;
        unsigned bucket = (octave + 1) * 16 + (unsigned) ((us >> octave) - 16);
        return bucket < LATE_BUCKETS ? bucket : LATE_BUCKETS - 1;
}

/* The middle of a bucket. */
static int64_t bucket_us(unsigned bucket)
{
        if (bucket < 32)
                return bucket;
        unsigned octave = bucket / 16 - 1;
        return (int64_t) (((uint64_t) (bucket % 16 + 16) << octave) + (1ULL << octave >> 1));
}

int row_late(struct row *r, int64_t late_us)
{
        if (!r->late)
                r->late = calloc(LATE_BUCKETS, sizeof(*r->late));
        if (!r->late)
                return -ENOMEM;
        r->late[bucket_of(late_us > 0 ? (uint64_t) late_us : 0)]++;
        r->late_count++;
        if (late_us > r->late_max_us)
                r->late_max_us = late_us;
        return 0;
}

void row_waited(struct row *r, int64_t wait_us)
{
        r->waited++;
        if (wait_us > r->wait_max_us)
                r->wait_max_us = wait_us;
}

int64_t row_late_us(const struct row *r, double part)
{
        uint64_t sum = 0;
        double want = part * (double) r->late_count;

        if (r->late_count == 0)
                return -1;
        for (unsigned i = 0; i < LATE_BUCKETS; i++) {
                sum += r->late[i];
                if (sum > 0 && (double) sum >= want)
                        return bucket_us(i) < r->late_max_us ? bucket_us(i) : r->late_max_us;
        }
        return r->late_max_us;
}

int row_source(struct row *r, size_t process)
{
        size_t word = process / 64;

        if (word >= r->source_words) {
                uint64_t *sources = reallocarray(r->sources, word + 1, sizeof(*sources));
                if (!sources)
                        return -ENOMEM;
                memset(sources + r->source_words, 0, (word + 1 - r->source_words) * sizeof(*sources));
                r->sources = sources;
                r->source_words = word + 1;
        }
        r->sources[word] |= 1ULL << process % 64;
        return 0;
}

bool row_has_source(const struct row *r, size_t process)
{
        return process / 64 < r->source_words && r->sources[process / 64] >> process % 64 & 1;
}

unsigned row_sources(const struct row *r)
{
        unsigned n = 0;

        for (size_t i = 0; i < r->source_words; i++)
                n += (unsigned) __builtin_popcountll(r->sources[i]);
        return n;
}

unsigned row_multiple(const struct row *r)
{
        uint64_t instants = 0;
        unsigned most = 0;

        for (unsigned n = 1; n <= PER_INSTANT_MAX; n++) {
                instants += r->per_instant[n];
                if (r->per_instant[n] > r->per_instant[most] || most == 0)
                        most = n;
        }
        return most > 1 && r->per_instant[most] * 4 >= instants * 3 ? most : 0;
}

uint64_t row_unknown(const struct row *r)
{
        return r->finals[STATE_UNKNOWN] + r->unrun[UNRUN_UNSURE] + r->unfinished;
}

bool row_all_failed(const struct row *r)
{
        return r->finals[STATE_FAILED] > 0 && !r->finals[STATE_SUCCEEDED] && !r->finals[STATE_INTERRUPTED] &&
               !row_unknown(r) && !r->running;
}

enum verdict row_verdict(const struct row *r, bool *ret_any)
{
        *ret_any = false;
        for (unsigned v = 0; v < VERDICT_COUNT_; v++)
                *ret_any |= r->verdicts[v] > 0 || r->beside[v] > 0;
        for (unsigned v = VERDICT_DUPLICATE; v > VERDICT_ONCE; v--)
                if (r->verdicts[v] || r->beside[v])
                        return (enum verdict) v;
        return VERDICT_ONCE;
}
