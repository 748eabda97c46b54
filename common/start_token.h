/* Which start of its instance a process belongs to: a token of its own for each start, remembered beside the node's id
 * in `state_dir/start`. The nodes of a group tell by it a node that was started again from another instance that has
 * the same id: only the first knows the tokens of the starts before. */
#ifndef ONCED_START_TOKEN_H
#define ONCED_START_TOKEN_H

#include "common/record/ids.h"

/* The group may be away for a while: which of these starts it heard of last is not known here. */
#define STARTS_BEFORE 15

struct start_token {
        char token[START_TOKEN_TEXT];
        char before[STARTS_BEFORE * START_TOKEN_TEXT];   /* the newest first, with blanks between them; "" none */
};

/* A new token, durably remembered before this returns. Callers hold the node lock. What is not understood is replaced:
 * then the starts before are not known, and the group takes this one for another instance until their time is over. */
int start_token_make(const char *state_dir, struct start_token *ret);

#endif
