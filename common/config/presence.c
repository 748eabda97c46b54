/* Whether what a task names is there on this machine. Warnings, since it may be installed after the
 * configuration; without them the first to tell would be a failed run, at night. */
#include "common/config/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"

enum found { FOUND, FOUND_NOT_EXECUTABLE, FOUND_FOLDER, FOUND_NOTHING };

/* What cannot be looked at is for the run to tell: it may have other rights. */
static enum found look(const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0)
                return errno == ENOENT || errno == ENOTDIR ? FOUND_NOTHING : FOUND;
        if (S_ISDIR(st.st_mode))
                return FOUND_FOLDER;
        return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 && errno == EACCES ? FOUND_NOT_EXECUTABLE : FOUND;
}

static bool is_on_the_path(const char *name)
{
        _cleanup_(buf_done) struct buf path = BUF_EMPTY;

        for (const char *at = EXEC_PATH; *at; at += *at == ':') {
                size_t len = strcspn(at, ":");
                buf_clear(&path);
                buf_add(&path, at, len);
                buf_format(&path, "/%s", name);
                const char *text = buf_string(&path);
                if (!text || look(text) == FOUND)
                        return true;
                at += len;
        }
        return false;
}

static void look_for_command(struct reading *rd, struct place at, const char *command)
{
        char q[QUOTE_TEXT];

        if (command[0] != '/') {
                if (!is_on_the_path(command))
                        read_warning(rd, at, "exec.argv", "no command %s on the standard PATH, %s",
                                     quote(command, q), EXEC_PATH);
                return;
        }
        switch (look(command)) {
        case FOUND_NOTHING:
                read_warning(rd, at, "exec.argv", "there is no %s on this machine", quote(command, q));
                break;
        case FOUND_FOLDER:
                read_warning(rd, at, "exec.argv", "%s is a folder, not a command", quote(command, q));
                break;
        case FOUND_NOT_EXECUTABLE:
                read_warning(rd, at, "exec.argv", "%s is not executable; cure: chmod +x", quote(command, q));
                break;
        case FOUND:
                break;
        }
}

void exec_look(struct reading *rd, const struct node *n, const struct exec_target *e)
{
        const struct node *argv = n->kind == NODE_LIST ? n : node_get(n, "argv"), *cwd = node_get(n, "cwd");
        char q[QUOTE_TEXT];
        struct stat st;

        if (argv && e->argv.count)
                look_for_command(rd, argv->place, e->argv.items[0]);
        if (!cwd || !e->cwd)
                return;
        if (stat(e->cwd, &st) < 0 ? errno == ENOENT || errno == ENOTDIR : !S_ISDIR(st.st_mode))
                read_warning(rd, cwd->place, "exec.cwd", "there is no folder %s on this machine",
                             quote(e->cwd, q));
}
