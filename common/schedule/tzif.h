/* A zone file as bytes (TZif, RFC 9636, versions 1 to 4): its table of changes, and the rule behind it. Reads memory
 * alone; whatever the bytes are, the answer is a table that holds together or a refusal. */
#ifndef ONCED_TZIF_H
#define ONCED_TZIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/schedule/tzrule.h"

struct tzif {
        size_t count;              /* changes */
        int64_t *at_s;             /* owned; strictly ascending */
        uint8_t *kind_at;          /* owned; which kind holds from at_s on */
        size_t kind_count;         /* at least 1; kinds[0] holds before the first change */
        struct zone_kind *kinds;   /* owned */
        bool has_rule;             /* holds from the last change on; without one, the last kind goes on */
        struct tzrule rule;
};

/* A real file has 1 to 4 KiB; one of this size is no zone. */
#define TZIF_MAX (1 << 20)

/* 0; -EBADMSG, also for a file that counts leap seconds, `ret_why` being a sentence about "it"; -ENOMEM. */
int tzif_read(const void *data, size_t size, struct tzif *ret, const char **ret_why);

/* The stretch that `utc_s` lies in, by the table or, behind it, by the rule. */
void tzif_span_at(const struct tzif *t, int64_t utc_s, struct zone_span *ret);

void tzif_done(struct tzif *t);

#endif
