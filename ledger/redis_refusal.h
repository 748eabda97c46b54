/* Errors of the server in words for people. */
#ifndef ONCED_REDIS_REFUSAL_H
#define ONCED_REDIS_REFUSAL_H

#include <stddef.h>

/* The error without what only says where in a script it came from, with its cure where that is known, cut between
 * words to `room`. `prefix` is that of the group's keys. */
void redis_refusal(const char *error, const char *prefix, char *ret, size_t room);

#endif
