/* Run locks: one file a unit in run_dir/locks, created once and never unlinked, locked by flock(2). */
#ifndef ONCED_RUNLOCK_H
#define ONCED_RUNLOCK_H

#include "common/record/ids.h"

struct unit;

/* Makes the folder of the locks. 0 or -errno. */
int runlock_folder(const char *run_dir);

/* Tries to lock the unit's file without waiting. A descriptor to be closed, and never unlocked: LOCK_UN in any
 * copy would free it for all. -EWOULDBLOCK: another holds it. -ESTALE: the file is replaced again
 * and again behind us. Other -errno (out of descriptors, no locks): not "held by another". */
int runlock_take(const char *run_dir, struct unit *u);

#endif
