/* What is said and counted in place of a dead owner: of records that somebody else ended, and of instants that it
 * decided without a start. */
#ifndef ONCED_ENDED_H
#define ONCED_ENDED_H

#include <stddef.h>

struct board_place;
struct ended_record;
struct shortfalls;
struct told_range;
struct triglog;

void ended_log(struct triglog *log, struct board_place *place, struct shortfalls *people,
               const struct ended_record *list, size_t count);
void told_log(struct triglog *log, struct shortfalls *people, const struct told_range *list, size_t count);

#endif
