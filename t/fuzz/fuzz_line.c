/* One line of a trigger log, by both readers: what the fast one takes, jansson takes with the same values. */
#include "t/fuzz/target.h"

#include <string.h>

#include "cli/prove/scan.h"

static void claim_same(const struct record *a, const struct record *b)
{
        CLAIM(a->e == b->e && a->n == b->n && a->t_us == b->t_us && a->b_ns == b->b_ns);
        CLAIM(a->present == b->present);
        for (unsigned f = 0; f < FIELD_COUNT_; f++) {
                if (!record_has(a, (enum field) f))
                        continue;
                CLAIM(a->numbers[f] == b->numbers[f]);
                CLAIM(a->texts[f].len == b->texts[f].len);
                CLAIM(a->texts[f].len == 0 || memcmp(a->texts[f].at, b->texts[f].at, a->texts[f].len) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct scanner *fast, *slow, *both;
        struct record a = { 0 }, b = { 0 }, c = { 0 };

        if (!fast) {
                fast = scanner_new();
                slow = scanner_new();
                both = scanner_new();
                CLAIM(fast && slow && both);
        }
        if (memchr(data, '\n', size))   /* the reader has split there */
                return -1;
        int own = scan_own(fast, (const char *) data, size, &a);
        int json = scan_json(slow, (const char *) data, size, &b);
        int line = scan_line(both, (const char *) data, size, &c);
        CLAIM(own < 0 || json == 0);
        CLAIM((own == 0 || json == 0) == (line == 0));
        if (own == 0)
                claim_same(&a, &b);
        if (line == 0)
                claim_same(&b, &c);
        return 0;
}
