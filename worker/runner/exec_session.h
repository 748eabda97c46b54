/* What a killed keeper leaves of its command's session, which the master has inherited. */
#ifndef ONCED_EXEC_SESSION_H
#define ONCED_EXEC_SESSION_H

#include <sys/types.h>

/* SIGKILL to all of the session `leader` began, if `heir` is the parent of one of them: else it is not, or no more,
 * that session. Whoever has left it for one of his own is not found. How many were there, or -errno. */
int exec_session_end(pid_t leader, pid_t heir);

#endif
