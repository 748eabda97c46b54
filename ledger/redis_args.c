/* Gathering the arguments of a command. */
#include "ledger/redis_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void redis_args_done(struct redis_args *a)
{
        buf_done(&a->bytes);
        buf_done(&a->ends);
}

void redis_args_bytes(struct redis_args *a, const void *bytes, size_t len)
{
        buf_add(&a->bytes, bytes, len);
        buf_add(&a->ends, &a->bytes.len, sizeof(a->bytes.len));
}

void redis_args_text(struct redis_args *a, const char *text)
{
        redis_args_bytes(a, text ? text : "", text ? strlen(text) : 0);
}

void redis_args_int(struct redis_args *a, int64_t v)
{
        char text[24];

        redis_args_bytes(a, text, (size_t) snprintf(text, sizeof(text), "%" PRId64, v));
}

void redis_args_instant(struct redis_args *a, struct instant i)
{
        char text[24];

        if (instant_is_none(i))
                redis_args_text(a, "");
        else
                redis_args_bytes(a, text, (size_t) snprintf(text, sizeof(text), "%015" PRId64, i.ms));
}

size_t redis_args_count(const struct redis_args *a)
{
        return a->ends.len / sizeof(size_t);
}

void redis_args_list(const struct redis_args *a, const char **argv, size_t *lens)
{
        size_t start = 0;

        for (size_t i = 0; i < redis_args_count(a); i++) {
                size_t end;
                memcpy(&end, a->ends.data + i * sizeof(end), sizeof(end));
                argv[i] = a->bytes.data ? a->bytes.data + start : "";
                lens[i] = end - start;
                start = end;
        }
}

int redis_args_state(const struct redis_args *a)
{
        return a->bytes.failed || a->ends.failed ? -ENOMEM : 0;
}
