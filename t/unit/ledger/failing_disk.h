/* A disk that fails or dawdles on demand: SQLite's own file layer with its writes and syncs counted, slowed and
 * refused. */
#ifndef ONCED_FAILING_DISK_H
#define ONCED_FAILING_DISK_H

#include <stdatomic.h>

/* Set and read from the test, used on the ledger's thread. */
extern _Atomic int disk_full;            /* writes answer "disk full" */
extern _Atomic int disk_write_failures;  /* so many writes to the WAL fail */
extern _Atomic int disk_sync_failures;   /* so many syncs fail */
extern _Atomic int disk_sync_ms;         /* each sync takes so long, besides */
extern _Atomic int disk_syncs;           /* of the WAL, since last set to 0 */

/* Makes it the default of every connection opened from here on. */
void failing_disk_install(void);

#endif
