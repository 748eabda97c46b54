/* Run locks: one file a unit in run_dir/locks, created once and never unlinked, locked by flock(2). In the file stands
 * a note: the instant that its last holder saw decided. The note saves siblings a question to the ledger, which all
 * but one of them would ask only to be told that they are too late; it decides nothing, and a file without one, or
 * with one that the children of another master wrote, is as good: they may have another ledger. */
#ifndef ONCED_RUNLOCK_H
#define ONCED_RUNLOCK_H

#include "common/clock.h"
#include "common/process.h"
#include "common/record/ids.h"

struct unit;

/* Makes the folder of the locks. 0 or -errno. */
int runlock_folder(const char *run_dir);

struct runlock_note {
        struct instant decided;
        struct process_id master;   /* of who wrote it */
};

/* Tries to lock the unit's file without waiting. A descriptor to be closed, and never unlocked: LOCK_UN in any
 * copy would free it for all. -EWOULDBLOCK: another holds it. -ESTALE: the file is replaced again
 * and again behind us. Other -errno (out of descriptors, no locks): not "held by another". `ret` may be NULL; with
 * a lock and with -EWOULDBLOCK it is the note, all zeros when there is none. */
int runlock_take(const char *run_dir, struct unit *u, struct runlock_note *ret);

/* Writes the note into the file of a lock that is held. */
void runlock_write(int fd, const struct runlock_note *note);

/* The note, with no lock taken. */
void runlock_read(const char *run_dir, struct unit *u, struct runlock_note *ret);

#endif
