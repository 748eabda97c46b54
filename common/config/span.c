/* Durations and sizes as people write them: one number, one unit. A bare number is refused for durations,
 * since "30" is seconds to one reader and milliseconds to the next. */
#include "common/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct unit_factor {
        const char *name;
        int64_t factor;
};

/* Largest first: span_text takes the first that divides. */
static const struct unit_factor span_units[] = {
        { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }, { NULL, 0 },
};

static const struct unit_factor size_units[] = {
        { "", 1 },           { "B", 1 },           { "K", 1 << 10 },   { "KB", 1 << 10 }, { "KiB", 1 << 10 },
        { "M", 1 << 20 },    { "MB", 1 << 20 },    { "MiB", 1 << 20 }, { "G", 1 << 30 },  { "GB", 1 << 30 },
        { "GiB", 1 << 30 },  { "T", 1LL << 40 },   { "TB", 1LL << 40 }, { "TiB", 1LL << 40 }, { NULL, 0 },
};

/* Reads the digits at the start of `text`; the unit begins at `ret_unit`. */
static int leading_number(const char *text, int64_t *ret_number, const char **ret_unit)
{
        int64_t number = 0;
        const char *p = text;

        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(number, 10, &number) ||
                    __builtin_add_overflow(number, *p - '0', &number))
                        return -ERANGE;
        if (p == text)
                return -EINVAL;
        *ret_number = number;
        *ret_unit = p;
        return 0;
}

static int number_with_unit(const char *text, const struct unit_factor *units,
                            int (*compare)(const char *, const char *), int64_t *ret)
{
        const char *unit;
        int64_t number;

        int r = leading_number(text, &number, &unit);
        if (r < 0)
                return r;
        for (; units->name; units++) {
                if (compare(unit, units->name) != 0)
                        continue;
                if (__builtin_mul_overflow(number, units->factor, &number))
                        return -ERANGE;
                *ret = number;
                return 0;
        }
        return -EINVAL;
}

int span_parse(const char *text, int64_t *ret_ms)
{
        return number_with_unit(text, span_units, strcmp, ret_ms);
}

void span_text(int64_t ms, char ret[32])
{
        const struct unit_factor *u = span_units;

        while (u->factor > 1 && (ms == 0 || ms % u->factor != 0))
                u++;
        (void) snprintf(ret, 32, "%lld%s", (long long) (ms / u->factor), ms == 0 ? "s" : u->name);
}

int size_parse(const char *text, int64_t *ret_bytes)
{
        return number_with_unit(text, size_units, strcasecmp, ret_bytes);
}

void size_text(int64_t bytes, char ret[32])
{
        static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
        unsigned u = 0;

        for (; u < 4 && bytes != 0 && bytes % 1024 == 0; u++)
                bytes /= 1024;
        (void) snprintf(ret, 32, "%lld%s", (long long) bytes, units[u]);
}
