/* One line of a trigger log as typed values. Lines of our own writing are read by a small scanner; whatever
 * it does not take at sight (escapes, other layouts) is read by jansson, with the same result. */
#ifndef ONCED_PROVE_SCAN_H
#define ONCED_PROVE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_LINE_MAX 16384     /* a longer line is none of ours */

enum event {
        EVENT_OTHER,            /* of a later version: counted in the chain, else passed over */
        EVENT_START,
        EVENT_ROTATE,
        EVENT_ROSTER,
        EVENT_PLAN,
        EVENT_ATTEMPT,
        EVENT_RUN,
        EVENT_FINISH,
        EVENT_SKIP,
        EVENT_MISS,
        EVENT_GAP,
        EVENT_TORN,
        EVENT_CEASE,
        EVENT_STOP,
        EVENT_STEP,
        EVENT_COUNT_
};

enum field {
        FIELD_E,
        FIELD_N,
        FIELD_T,
        FIELD_B,
        FIELD_H,
        FIELD_NODE,
        FIELD_SLOT,
        FIELD_PID,
        FIELD_PSTART,
        FIELD_BOOT,
        FIELD_ROLE,
        FIELD_CONFIG,
        FIELD_TZDATA,
        FIELD_SYNC,
        FIELD_PREV_H,
        FIELD_WHAT,
        FIELD_READY,
        FIELD_EXIT,
        FIELD_SIGNAL,
        FIELD_TASK,
        FIELD_KEY,
        FIELD_PATH,
        FIELD_SCHEDULE,
        FIELD_MISFIRE,
        FIELD_GRACE,
        FIELD_LOOKBACK,
        FIELD_OVERLAP,
        FIELD_MAX_RUNNING,
        FIELD_SCOPE,
        FIELD_SHARDS,
        FIELD_ENABLED,
        FIELD_REV,
        FIELD_VALID_FROM,
        FIELD_SHARD,
        FIELD_OCC,
        FIELD_PLANNED,
        FIELD_BY,
        FIELD_OUT,
        FIELD_FENCE,
        FIELD_CAUSE,
        FIELD_STATE,
        FIELD_RESULT,
        FIELD_RUN_US,
        FIELD_OF,
        FIELD_FIRST,
        FIELD_LAST,
        FIELD_COUNT,
        FIELD_LINES,
        FIELD_BYTES,
        FIELD_CEASED,
        FIELD_CEASED_GROUP,
        FIELD_LED,
        FIELD_JUMP_NS,
        FIELD_COUNT_
};

struct text {
        const char *at;         /* not terminated; valid until the next line is scanned or read */
        size_t len;
};

struct record {
        enum event e;
        uint64_t n;
        int64_t t_us;           /* wall clock, microseconds since 1970 */
        int64_t b_ns;           /* boottime */
        uint64_t present;       /* bit by enum field */
        struct text texts[FIELD_COUNT_];
        int64_t numbers[FIELD_COUNT_];   /* true is 1 */
};

struct scanner;

struct scanner *scanner_new(void);
struct scanner *scanner_free(struct scanner *s);

/* `line` without its newline. 0, or -EINVAL: not a line of a trigger log. */
int scan_line(struct scanner *s, const char *line, size_t len, struct record *ret);

/* The two readers alone, for comparison in tests. */
int scan_own(struct scanner *s, const char *line, size_t len, struct record *ret);
int scan_json(struct scanner *s, const char *line, size_t len, struct record *ret);

static inline bool record_has(const struct record *r, enum field f)
{
        return r->present >> f & 1;
}

/* An absent text is empty, an absent number 0. */
static inline struct text record_text(const struct record *r, enum field f)
{
        return record_has(r, f) ? r->texts[f] : (struct text) { "", 0 };
}

static inline int64_t record_number(const struct record *r, enum field f)
{
        return record_has(r, f) ? r->numbers[f] : 0;
}

bool text_is(struct text t, const char *word);
char *text_copy(struct text t);                 /* owned by the caller; NULL without memory */
void text_clean(char *text); /* control characters become '?': logs may come from anywhere */
int text_index(struct text t, const char *const *names);   /* place in a NULL-terminated list, or -1 */

#endif
