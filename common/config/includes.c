/* include: further files by pattern, in sorted order, relative to the file that names them. One level only:
 * with more, nobody could say at a glance which file wins. */
#include "common/config/load.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/file.h"

static bool is_read_already(const struct loading *ld, const char *path)
{
        for (size_t i = 0; i < ld->config->files.count; i++)
                if (strcmp(ld->config->files.items[i], path) == 0)
                        return true;
        return false;
}

static int add_found(struct loading *ld, const struct node *n, const glob_t *found)
{
        int result = 0;

        for (size_t i = 0; i < found->gl_pathc; i++) {
                if (is_read_already(ld, found->gl_pathv[i]))
                        continue;
                if (ld->source_count > INCLUDES_MAX) {
                        read_error(&ld->rd, n->place, "include", "more than %d files", INCLUDES_MAX);
                        return -EINVAL;
                }
                int r = source_add(ld, found->gl_pathv[i]);
                if (r == -ENOMEM)
                        return r;
                result = r < 0 ? r : result;   /* the others are still read, for their errors */
        }
        return result;
}

/* An empty conf.d is fine, but so looks a slip in the pattern; a missing file is an error. */
static int matches_nothing(struct loading *ld, const struct node *n)
{
        char q[QUOTE_TEXT];

        read_warning(&ld->rd, n->place, "include", "%s matches no file", quote(n->text, q));
        return 0;
}

static int add_pattern(struct loading *ld, const struct node *n)
{
        char q[QUOTE_TEXT];

        if (n->kind != NODE_TEXT || node_is_null(n)) {
                if (n->kind != NODE_BROKEN)
                        read_error(&ld->rd, n->place, "include",
                                   "must be a pattern or a list of patterns, not %s", node_kind_text(n));
                return -EINVAL;
        }
        _cleanup_(freep) char *pattern =
                n->text[0] == '/' ? strdup(n->text) : path_join(ld->sources[0].folder, n->text);
        if (!pattern)
                return -ENOMEM;
        glob_t found = { 0 };
        int r = glob(pattern, 0, NULL, &found);
        if (r == GLOB_NOSPACE)
                r = -ENOMEM;
        else if (r == GLOB_NOMATCH && strpbrk(n->text, "*?["))
                r = matches_nothing(ld, n);
        else if (r == GLOB_NOMATCH)
                r = -ENOENT;
        else if (r != 0)
                r = -EIO;
        if (r == -ENOENT || r == -EIO) {
                read_error(&ld->rd, n->place, "include", "%s: %s", quote(n->text, q),
                           r == -ENOENT ? "no such file" : "folder cannot be read");
                r = -EINVAL;
        } else if (r == 0) {
                r = add_found(ld, n, &found);
        }
        globfree(&found);
        return r;
}

static int add_all(struct loading *ld, const struct node *n)
{
        int result = 0;

        if (n->kind != NODE_LIST)
                return add_pattern(ld, n);
        for (const struct node *item = n->first; item; item = item->next) {
                int r = add_pattern(ld, item);
                if (r == -ENOMEM)
                        return r;
                result = r < 0 ? r : result;
        }
        return result;
}

int includes_add(struct loading *ld)
{
        const struct node *n = node_get(ld->sources[0].tree.root, "include");

        int r = n ? add_all(ld, n) : 0;
        for (size_t i = 1; i < ld->source_count; i++) {
                const struct node *nested = node_get(ld->sources[i].tree.root, "include");
                if (nested)
                        read_error(&ld->rd, nested->key_place, "include",
                                   "only the first file may include others");
        }
        return r;
}
