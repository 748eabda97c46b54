/* Reading replies without trusting their shape: what is missing or of another type reads as empty. */
#ifndef ONCED_REDIS_REPLY_H
#define ONCED_REDIS_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"

struct redisReply;
struct ended_record;
struct told_range;

/* Element `i` as text, "" when it is none. Borrowed from the reply. */
const char *reply_text(const struct redisReply *r, size_t i);
size_t reply_count(const struct redisReply *r);
const struct redisReply *reply_at(const struct redisReply *r, size_t i);   /* NULL: no such array element */

int64_t reply_int(const struct redisReply *r, size_t i);
struct instant reply_instant(const struct redisReply *r, size_t i);        /* "" is INSTANT_NONE */

/* Seconds at `i` and microseconds behind them, as of TIME; ns 0 when no clock can say that. */
struct stamp reply_time(const struct redisReply *r, size_t i);

/* Copies element `i`, cut to `room`. */
void reply_copy(const struct redisReply *r, size_t i, char *ret, size_t room);

/* Index of the text in a list of names, or `missing`. */
int reply_name(const struct redisReply *r, size_t i, const char *const *names, int missing);

/* A row of ended() in the scripts. */
void reply_ended(const struct redisReply *row, struct ended_record *ret);

/* A row of untold.lua. */
void reply_told(const struct redisReply *row, struct told_range *ret);

/* -EAGAIN: an error by which the server says that it executed nothing; -ETIMEDOUT: any other error. */
int reply_error(const char *text);

#endif
