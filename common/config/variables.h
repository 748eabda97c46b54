/* ${VAR} and ${VAR:-default} in the values of a configuration file. */
#ifndef ONCED_CONFIG_VARIABLES_H
#define ONCED_CONFIG_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

#define VARIABLE_WHY 224

/* True when `text` holds a `${` at all: most values do not and need no copy. */
bool variables_in(const char *text);

/* Appends `text` with its variables replaced from the environment; `$${` stands for `${` itself. 0, or
 * -EINVAL with the reason in `ret_why`. The default counts when the variable is unset or empty. */
int variables_expand(const char *text, struct buf *ret, char ret_why[VARIABLE_WHY]);

/* Appends `text` so that variables_expand gives it back unchanged. */
void variables_escape(const char *text, struct buf *ret);

#endif
