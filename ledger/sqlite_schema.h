/* Pieces of the layout that new tables and migrated ones have in common. */
#ifndef ONCED_SQLITE_SCHEMA_H
#define ONCED_SQLITE_SCHEMA_H

/* What waits in queues, and what a token took: the records themselves, found by these indexes. With `state` in it,
 * which is the same for all, the first counts a queue without looking at its records. */
#define TABLES_QUEUE                                                                                          \
        "CREATE INDEX record_queued ON record (task, scope, shard, planned, state) WHERE state = 'queued';"  \
        "CREATE INDEX record_taken ON record (token) WHERE taken = 1;"

#endif
