/* Where the onced-keeper of this build is. */
#ifndef ONCED_RUNNER_KEEPER_PATH_H
#define ONCED_RUNNER_KEEPER_PATH_H

#include <stddef.h>

/* Beside the running executable, in keeper/ beside it (a build folder), else where it was installed.
 * 0; -ENOENT: none can be executed; -ENAMETOOLONG. */
int keeper_find(char *ret, size_t room);

#endif
