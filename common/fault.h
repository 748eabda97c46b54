/* Fault points: places where a debug build ends, stops or delays itself on request, so that tests can cut a run
 * at every step. ONCED_FAULT=point:action[,point:action...] names them; an action is `kill`, `stop`, `sleep=MS`
 * or `exit=N`, and `@N` behind it takes the N-th passage of a process only. With ONCED_FAULT_ONCE=path each point
 * acts in the one process that creates the file path.point. A release build has none of it. */
#ifndef ONCED_FAULT_H
#define ONCED_FAULT_H

#ifdef ONCED_FAULTS
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
        (void) name;
}
#endif

#endif
