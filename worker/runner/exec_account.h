/* The users that commands run as: numbers for the keeper, name and home for the environment. */
#ifndef ONCED_EXEC_ACCOUNT_H
#define ONCED_EXEC_ACCOUNT_H

struct exec_account {
        char *name, *home;      /* owned; NULL when the user has no entry */
        char *identity;         /* owned; for the keeper: "-" when it is the worker's own */
        struct exec_account *next;
};

/* All that were asked for so far. */
struct exec_accounts {
        struct exec_account *own;      /* owned: the user this process runs as */
        struct exec_account *others;   /* owned list: users of tasks */
};

/* With one's own account. 0 or -errno; `done` is due after a failure too. */
int exec_accounts_init(struct exec_accounts *all);
void exec_accounts_done(struct exec_accounts *all);

/* Borrowed, and kept for the next time; `user` NULL: one's own. NULL: no such user, or in too many groups. The first
 * time it asks the system's user database, which may block: all users are asked for when the worker starts. */
const struct exec_account *exec_accounts_of(struct exec_accounts *all, const char *user);

#endif
