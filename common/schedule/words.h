/* Text put together in room of a fixed size: what does not fit is cut, and it always ends in NUL. */
#ifndef ONCED_WORDS_H
#define ONCED_WORDS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct words {
        char *at;      /* where the next ones go, a NUL for now */
        size_t room;   /* bytes from there on, NUL included */
};

static inline void words_init(struct words *w, char *text, size_t room)
{
        *w = (struct words) { text, room };
        if (room > 0)
                *text = '\0';
}

__attribute__((format(printf, 2, 3))) static inline void words_put(struct words *w, const char *form, ...)
{
        va_list ap;

        va_start(ap, form);
        int n = vsnprintf(w->at, w->room, form, ap);
        va_end(ap);
        size_t taken = n < 0 || w->room == 0 ? 0 : (size_t) n < w->room ? (size_t) n : w->room - 1;
        w->at += taken;
        w->room -= taken;
}

/* What stands before item `i` of `count`: "a, b and c". */
static inline void words_join(struct words *w, unsigned i, unsigned count)
{
        if (i > 0)
                words_put(w, "%s", i + 1 == count ? " and " : ", ");
}

#endif
