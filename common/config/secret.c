/* Secrets: better in a file or a variable than in the configuration, which is often readable by all. */
#include "common/config/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/utf8.h"
#include "common/file.h"

#define SECRET_MAX 4096

static char *copied(struct reading *rd, const char *text)
{
        char *copy = strdup(text);

        if (!copy)
                rd->error = -ENOMEM;
        return copy;
}

static char *checked(struct reading *rd, const struct node *n, const char *key, const char *text, size_t len)
{
        size_t bad;

        if (len == 0 || len > SECRET_MAX || !utf8_valid(text, len, &bad) || text[strcspn(text, "\r\n")]) {
                read_error(rd, n->place, key, "the secret must be one line of 1 to %d bytes of UTF-8",
                           SECRET_MAX);
                return NULL;
        }
        return copied(rd, text);
}

static char *from_file(struct reading *rd, const struct node *n, const char *key)
{
        _cleanup_(buf_done) struct buf b = BUF_EMPTY;
        _cleanup_(freep) char *path = n->text[0] == '/' ? strdup(n->text) : path_join(rd->folder, n->text);
        char why[READ_WHY];
        struct stat st;

        if (!path) {
                rd->error = -ENOMEM;
                return NULL;
        }
        int r = file_read(path, SECRET_MAX + 2, &b);
        if (r < 0) {
                read_error(rd, n->place, key, "secret file %s cannot be read: %s", path,
                           read_why(r, SECRET_MAX, why));
                return NULL;
        }
        if (stat(path, &st) == 0 && (st.st_mode & S_IROTH))
                read_warning(rd, n->place, key, "secret file %s is readable by everybody; cure: chmod o-r", path);
        while (b.len > 0 && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
                b.data[--b.len] = '\0';
        return checked(rd, n, key, b.len ? b.data : "", b.len);
}

static char *from_env(struct reading *rd, const struct node *n, const char *key)
{
        const char *value = getenv(n->text);

        if (!value) {
                read_error(rd, n->place, key, "variable %s is not set", n->text);
                return NULL;
        }
        return checked(rd, n, key, value, strlen(value));
}

char *secret_read(struct reading *rd, const struct node *n, const char *key)
{
        if (n->kind == NODE_TEXT && !node_is_null(n)) {
                if (rd->world_readable)
                        read_warning(rd, n->place, key, "a secret in a file that everybody can read; "
                                                        "use {file: PATH} or {env: NAME}, or chmod o-r");
                return checked(rd, n, key, n->text, strlen(n->text));
        }
        const struct node *from = n->kind == NODE_MAP && n->count == 1 ? n->first : NULL;
        if (from && from->kind == NODE_TEXT && !node_is_null(from) && strcmp(from->key, "file") == 0)
                return from_file(rd, from, key);
        if (from && from->kind == NODE_TEXT && !node_is_null(from) && strcmp(from->key, "env") == 0)
                return from_env(rd, from, key);
        if (n->kind != NODE_BROKEN && !(from && from->kind == NODE_BROKEN))
                read_error(rd, n->place, key, "must be a text, {file: PATH} or {env: NAME}");
        return NULL;
}
