/* Two rights are commonly missing, and their cures differ: to a command, and to a key. In scripts the server says so
 * without the word NOPERM. */
#include "ledger/redis_refusal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where the error came from in a script: "<error> script: <digest>, on @user_script:<line>." since 7.0, and before
 * that "ERR Error running script (call to f_<digest>): @user_script:<line>: <error>". */
#define TAIL " script: "
#define HEAD "ERR Error running script"

static const char *behind_head(const char *error)
{
        const char *at = strncmp(error, HEAD, strlen(HEAD)) == 0 ? strstr(error, "@user_script:") : NULL;
        const char *colon = at ? strstr(at, ": ") : NULL;

        return colon ? colon + 2 : error;
}

static bool is_about_key(const char *error)
{
        return strstr(error, "access a key") || strstr(error, "one of the keys");
}

static bool is_about_command(const char *error)
{
        return strstr(error, "permissions to run the") || strstr(error, "can't run this command");
}

static void cure(const char *error, const char *prefix, char *ret, size_t room)
{
        ret[0] = '\0';
        if (is_about_key(error))
                (void) snprintf(ret, room, " (the user needs the keys ~%s*)", prefix);
        else if (is_about_command(error))
                (void) snprintf(ret, room, " (the user needs +info +role +time beside the data commands)");
}

/* Length of what is kept of `text` when there is room for `room` bytes: whole words. */
static size_t whole_words(const char *text, size_t len, size_t room)
{
        if (len <= room)
                return len;
        while (room > 0 && text[room] != ' ')
                room--;
        return room;
}

void redis_refusal(const char *error, const char *prefix, char *ret, size_t room)
{
        const char *text = behind_head(error), *tail = strstr(text, TAIL);
        size_t len = tail ? (size_t) (tail - text) : strcspn(text, "\r\n");
        char hint[160];

        cure(error, prefix, hint, sizeof(hint));
        size_t left = strlen(hint) + 1 < room ? room - strlen(hint) - 1 : 0;
        (void) snprintf(ret, room, "%.*s%s", (int) whole_words(text, len, left), text, hint);
}
