/* The user a command runs as: numbers for the keeper, name and home for the environment. */
#ifndef ONCED_EXEC_ACCOUNT_H
#define ONCED_EXEC_ACCOUNT_H

#include <stdbool.h>

struct exec_account {
        char *name, *home;      /* owned; NULL when the user has no entry */
        char *identity;         /* owned; for the keeper: "-" when it is the worker's own */
        struct exec_account *next;
};

/* `user` NULL: the user this process runs as. Asks the system's user database, which may block: done when
 * the worker starts. 0; -ENOENT no such user; -E2BIG in too many groups; -errno. */
int exec_account_find(const char *user, struct exec_account **ret);
struct exec_account *exec_account_free(struct exec_account *a);   /* NULL is fine; returns NULL */

#endif
