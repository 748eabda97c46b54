/* Lifetimes of locals: _cleanup_ frees at the end of the scope, TAKE hands over. */
#ifndef ONCED_CLEANUP_H
#define ONCED_CLEANUP_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* The value of `p`, which is NULL from here on. */
#define TAKE(p)                                                                                    \
        ({                                                                                         \
                __typeof__(p) *taken_from_ = &(p);                                                 \
                __typeof__(p) taken_ = *taken_from_;                                               \
                *taken_from_ = NULL;                                                               \
                taken_;                                                                            \
        })

/* The descriptor in `fd`, which is -1 from here on. */
#define TAKE_FD(fd)                                                                                \
        ({                                                                                         \
                int *taken_from_ = &(fd);                                                          \
                int taken_ = *taken_from_;                                                         \
                *taken_from_ = -1;                                                                 \
                taken_;                                                                            \
        })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of type `type` whose member `member` is at `ptr`. */
#define container_of(ptr, type, member) ((type *) (void *) ((char *) (ptr) - offsetof(type, member)))
#define container_of_const(ptr, type, member)                                                      \
        ((const type *) (const void *) ((const char *) (ptr) - offsetof(type, member)))

/* Defines `name`, a cleanup function that calls `func` on a pointer that is not NULL. */
#define DEFINE_CLEANUP(type, name, func)                                                           \
        static inline void name(type *p)                                                           \
        {                                                                                          \
                if (*p)                                                                            \
                        func(*p);                                                                  \
        }

static inline void freep(void *p)
{
        free(*(void **) p);
}

static inline void closep(int *fd)
{
        if (*fd >= 0)
                (void) close(*fd);
}

DEFINE_CLEANUP(FILE *, fclosep, (void) fclose)

#endif
