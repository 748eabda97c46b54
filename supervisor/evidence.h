/* What can still be read about a hung child before it is ended: for the log, so that the cause can be found. */
#ifndef ONCED_EVIDENCE_H
#define ONCED_EVIDENCE_H

struct slot;
struct buf;

/* "state S (sleeping), wchan futex_wait, syscall 202, …; task mail, occurrence 9f…". Only what an unprivileged
 * master may read. Never fails: what is missing is left out. */
void evidence_gather(const struct slot *s, struct buf *ret);

#endif
