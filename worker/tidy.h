/* Keeps the folder of trigger files within log.keep and log.max_bytes; the timer worker's duty. Files are
 * deleted on a thread of libuv's pool, since a slow disk must not hold the loop. */
#ifndef ONCED_TIDY_H
#define ONCED_TIDY_H

#include <stdint.h>
#include <uv.h>

struct tidy;

/* `dir` is borrowed and outlives it. Nothing happens before tidy_begin. */
int tidy_open(uv_loop_t *loop, const char *dir, int64_t keep_ms, int64_t max_bytes, struct tidy **ret);

/* Tidies after a second and then every minute. */
void tidy_begin(struct tidy *t);

/* A trigger log went on in a next file: tidies now, if tidy_begin was called. */
void tidy_soon(struct tidy *t);

/* `closed` runs later, once, after what is under way has ended. */
void tidy_close(struct tidy *t, void (*closed)(void *arg), void *arg);

#endif
