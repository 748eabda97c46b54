/* Evidence comes nearly in order, so that nearly every addition lengthens the last range. */
#include "cli/prove/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void spans_done(struct spans *s)
{
        free(s->list);
        *s = (struct spans) { 0 };
}

size_t spans_find(const struct spans *s, int64_t ms)
{
        size_t low = 0, high = s->count;

        if (high > 0 && s->list[high - 1].last < ms)
                return high;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (s->list[middle].last < ms)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

bool spans_has(const struct spans *s, int64_t ms)
{
        size_t i = spans_find(s, ms);

        return i < s->count && s->list[i].first <= ms;
}

static int insert(struct spans *s, size_t at, int64_t first, int64_t last)
{
        if (s->count == s->room) {
                size_t room = s->room ? s->room * 2 : 4;
                struct span *list = realloc(s->list, room * sizeof(*list));
                if (!list)
                        return -ENOMEM;
                s->list = list;
                s->room = room;
        }
        memmove(&s->list[at + 1], &s->list[at], (s->count - at) * sizeof(*s->list));
        s->list[at] = (struct span) { first, last };
        s->count++;
        return 0;
}

int spans_add(struct spans *s, int64_t first, int64_t last, bool (*empty)(int64_t, int64_t, const void *),
              const void *arg)
{
        size_t from = spans_find(s, first), to = from;

        /* The ranges [from, to) become one with the new one. */
        if (from > 0 && empty(s->list[from - 1].last, first, arg))
                from--;
        while (to < s->count && (s->list[to].first <= last || empty(last, s->list[to].first, arg)))
                to++;
        if (from < to) {
                if (s->list[from].first < first)
                        first = s->list[from].first;
                if (s->list[to - 1].last > last)
                        last = s->list[to - 1].last;
                s->list[from] = (struct span) { first, last };
                memmove(&s->list[from + 1], &s->list[to], (s->count - to) * sizeof(*s->list));
                s->count -= to - from - 1;
                return 0;
        }
        return insert(s, from, first, last);
}

int spans_cut(struct spans *s, int64_t first, int64_t last)
{
        size_t from = spans_find(s, first), to = from;

        if (from < s->count && s->list[from].first < first) {
                struct span whole = s->list[from];
                s->list[from++].last = first - 1;
                if (whole.last > last)
                        return insert(s, from, last + 1, whole.last);
        }
        for (to = from; to < s->count && s->list[to].last <= last; to++)
                ;
        if (to < s->count && s->list[to].first <= last)
                s->list[to].first = last + 1;
        if (to > from)
                memmove(&s->list[from], &s->list[to], (s->count - to) * sizeof(*s->list));
        s->count -= to - from;
        return 0;
}

void spans_forget(struct spans *s, int64_t ms)
{
        size_t n = spans_find(s, ms);

        if (n < s->count && s->list[n].first <= ms) {
                if (s->list[n].last > ms)
                        s->list[n].first = ms + 1;
                else
                        n++;
        }
        memmove(s->list, s->list + n, (s->count - n) * sizeof(*s->list));
        s->count -= n;
}
