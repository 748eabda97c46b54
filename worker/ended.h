/* Records that somebody else than their owner ended: what is said and counted of them, by who did it. */
#ifndef ONCED_ENDED_H
#define ONCED_ENDED_H

#include <stddef.h>

struct board_place;
struct ended_record;
struct triglog;

void ended_log(struct triglog *log, struct board_place *place, const struct ended_record *list, size_t count);

#endif
