/* The file has the tokens in one line, the newest first. */
#include "common/start_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define DIGITS     (START_TOKEN_TEXT - 1)
#define FILE_LIMIT 4096

static bool is_token(const char *word)
{
        return strlen(word) == DIGITS && strspn(word, "0123456789abcdef") == DIGITS;
}

/* The newest of them that are remembered; "" when the file is not there, or is none of ours. */
static void read_before(char *text, char ret[STARTS_BEFORE * START_TOKEN_TEXT])
{
        char *save = NULL;
        size_t len = 0, count = 0;

        ret[0] = '\0';
        for (char *word = strtok_r(text, " \n", &save); word && count < STARTS_BEFORE; word = strtok_r(NULL, " \n", &save)) {
                if (!is_token(word)) {
                        ret[0] = '\0';
                        return;
                }
                len += (size_t) snprintf(ret + len, START_TOKEN_TEXT + 1, "%s%s", count++ ? " " : "", word);
        }
}

int start_token_make(const char *state_dir, struct start_token *ret)
{
        struct start_token t = { .before = "" };
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(state_dir, "start");
        if (!path)
                return -ENOMEM;
        int r = file_read(path, FILE_LIMIT, &text);
        if (r < 0 && r != -ENOENT && r != -EFBIG)
                return r;
        if (r == 0 && text.len)
                read_before(text.data, t.before);
        r = random_hex(t.token, DIGITS / 2);
        if (r < 0)
                return r;
        buf_clear(&text);
        buf_format(&text, "%s%s%s\n", t.token, t.before[0] ? " " : "", t.before);
        if (text.failed)
                return -ENOMEM;
        r = file_replace(path, text.data, text.len, 0600);
        if (r < 0)
                return r;
        *ret = t;
        return 0;
}
