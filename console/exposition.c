/* The text form of OpenMetrics 1.0. Numbers are written without the locale's help: a decimal comma would
 * break the whole page for a scraper. */
#include "console/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/buf.h"

void exposition_family(struct exposition *x, const char *name, const char *type, const char *unit,
                       const char *help)
{
        x->name = name;
        buf_format(x->out, "# TYPE %s %s\n", name, type);
        if (*unit)
                buf_format(x->out, "# UNIT %s %s\n", name, unit);
        buf_format(x->out, "# HELP %s %s\n", name, help);
}

static void put_escaped(struct buf *b, const char *value)
{
        for (const char *p = value; *p; p++) {
                switch (*p) {
                case '\\':
                        buf_text(b, "\\\\");
                        break;
                case '"':
                        buf_text(b, "\\\"");
                        break;
                case '\n':
                        buf_text(b, "\\n");
                        break;
                default:
                        buf_char(b, *p);
                }
        }
}

/* `more` is one label beyond the list, NULL for none: a bucket's bound. */
static void put_name(struct exposition *x, const char *suffix, const struct label *labels, const struct label *more)
{
        char separator = '{';

        buf_text(x->out, x->name);
        buf_text(x->out, suffix);
        for (const struct label *l = labels->name ? labels : more; l && l->name;) {
                buf_char(x->out, separator);
                buf_text(x->out, l->name);
                buf_text(x->out, "=\"");
                put_escaped(x->out, l->value);
                buf_char(x->out, '"');
                separator = ',';
                l = l == more ? NULL : (l + 1)->name ? l + 1 : more;
        }
        if (separator == ',')
                buf_char(x->out, '}');
        buf_char(x->out, ' ');
}

/* Millionths are all that is measured here. */
static void put_micro(struct buf *b, uint64_t us)
{
        buf_format(b, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
        while (b->len > 2 && b->data[b->len - 1] == '0' && b->data[b->len - 2] != '.')
                b->data[--b->len] = '\0';
}

static void put_real(struct buf *b, double value)
{
        double magnitude = value < 0 ? -value : value;

        if (isnan(value)) {
                buf_text(b, "NaN");
        } else if (magnitude > 9e12) {
                buf_text(b, value > 0 ? "+Inf" : "-Inf");
        } else {
                if (value < 0)
                        buf_char(b, '-');
                put_micro(b, (uint64_t) (magnitude * 1e6 + 0.5));
        }
}

void exposition_uint(struct exposition *x, const char *suffix, const struct label *labels, uint64_t value)
{
        put_name(x, suffix, labels, NULL);
        buf_format(x->out, "%" PRIu64 "\n", value);
}

void exposition_real(struct exposition *x, const char *suffix, const struct label *labels, double value)
{
        put_name(x, suffix, labels, NULL);
        put_real(x->out, value);
        buf_char(x->out, '\n');
}

static void put_bucket(struct exposition *x, const struct label *labels, const char *bound, uint64_t count)
{
        put_name(x, "_bucket", labels, &(const struct label) { "le", bound });
        buf_format(x->out, "%" PRIu64 "\n", count);
}

void exposition_histogram(struct exposition *x, const struct label *labels, const uint32_t *bounds_us,
                          size_t bounds, const uint64_t *counts, uint64_t sum_us)
{
        struct buf bound = BUF_EMPTY;
        uint64_t total = 0;

        for (size_t i = 0; i < bounds; i++) {
                total += counts[i];
                buf_clear(&bound);
                put_micro(&bound, bounds_us[i]);
                put_bucket(x, labels, bound.data ? bound.data : "", total);
        }
        total += counts[bounds];
        put_bucket(x, labels, "+Inf", total);
        x->out->failed |= bound.failed;
        buf_done(&bound);

        put_name(x, "_sum", labels, NULL);
        put_micro(x->out, sum_us);
        buf_char(x->out, '\n');
        exposition_uint(x, "_count", labels, total);
}

void exposition_end(struct exposition *x)
{
        buf_text(x->out, "# EOF\n");
}
