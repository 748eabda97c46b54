/* Users of commands, looked up once by the worker, since the static keeper has no name service. */
#include "worker/runner/exec_account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "keeper/keeper.h"

static struct exec_account *account_free(struct exec_account *a)
{
        if (!a)
                return NULL;
        free(a->name);
        free(a->home);
        free(a->identity);
        free(a);
        return NULL;
}

DEFINE_CLEANUP(struct exec_account *, account_freep, account_free)

/* "uid:gid:group,group,..." */
static int identity_text(const struct passwd *p, char **ret)
{
        gid_t groups[KEEPER_GROUPS_MAX];
        int count = KEEPER_GROUPS_MAX;
        struct buf b = BUF_EMPTY;

        if (getgrouplist(p->pw_name, p->pw_gid, groups, &count) < 0)
                return -E2BIG;
        buf_format(&b, "%u:%u:", (unsigned) p->pw_uid, (unsigned) p->pw_gid);
        for (int i = 0; i < count; i++)
                buf_format(&b, "%s%u", i > 0 ? "," : "", (unsigned) groups[i]);
        char *text = buf_take(&b);
        if (!text)
                return -ENOMEM;
        *ret = text;
        return 0;
}

static int account_find(const char *user, struct exec_account **ret)
{
        _cleanup_(account_freep) struct exec_account *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return -ENOMEM;
        errno = 0;
        const struct passwd *p = user ? getpwnam(user) : getpwuid(geteuid());
        if (!p && user)
                return errno > 0 ? -errno : -ENOENT;
        if (p && (!(a->name = strdup(p->pw_name)) || !(a->home = strdup(p->pw_dir))))
                return -ENOMEM;

        /* Changing to what one is already needs rights that an unprivileged worker lacks. */
        if (!user || p->pw_uid == geteuid())
                a->identity = strdup("-");
        else if ((r = identity_text(p, &a->identity)) < 0)
                return r;
        if (!a->identity)
                return -ENOMEM;
        *ret = TAKE(a);
        return 0;
}

int exec_accounts_init(struct exec_accounts *all)
{
        all->others = NULL;
        return account_find(NULL, &all->own);
}

void exec_accounts_done(struct exec_accounts *all)
{
        while (all->others) {
                struct exec_account *next = all->others->next;
                account_free(all->others);
                all->others = next;
        }
        all->own = account_free(all->own);
}

const struct exec_account *exec_accounts_of(struct exec_accounts *all, const char *user)
{
        struct exec_account *a;

        if (!user)
                return all->own;
        for (a = all->others; a; a = a->next)
                if (strcmp(a->name, user) == 0)
                        return a;
        if (account_find(user, &a) < 0)
                return NULL;
        a->next = all->others;
        all->others = a;
        return a;
}
