/* The environment of a command: clean, so that the daemon's passwords do not leak into tasks. */
#ifndef ONCED_EXEC_ENV_H
#define ONCED_EXEC_ENV_H

struct exec_account;
struct exec_target;
struct run_context;

/* PATH (standard), HOME and USER of the account, LANG and TZ of the daemon; then `env_pass`, then `env`,
 * then the ONCED_ variables, a later one replacing an earlier of the same name. NULL-terminated, to be freed
 * with exec_env_free. 0 or -ENOMEM. */
int exec_env_build(const struct exec_target *t, const struct run_context *c, const struct exec_account *a,
                   char ***ret);
void exec_env_free(char **env);   /* NULL is fine */

#endif
