/* node_id is text, "key value" a line, so that a person can read it; unknown keys refuse the file, since a
 * newer version may have meant something by them. */
#include "common/node_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define FILE_LIMIT 4096

static bool copy_word(char *to, size_t room, const char *from)
{
        if (strlen(from) >= room)
                return false;
        strcpy(to, from);
        return true;
}

static bool line_read(char *line, struct node_id *n)
{
        char *value = strchr(line, ' ');
        int clean, used = 0;

        if (!value)
                return false;
        *value++ = '\0';
        if (strcmp(line, "node") == 0)
                return copy_word(n->node, sizeof(n->node), value);
        if (strcmp(line, "incarnation") == 0)
                return copy_word(n->incarnation, sizeof(n->incarnation), value);
        if (strcmp(line, "boot") == 0)
                return copy_word(n->boot, sizeof(n->boot), value);
        if (strcmp(line, "life") == 0)
                return sscanf(value, "%" SCNu64 "%n", &n->life, &used) == 1 && value[used] == '\0';
        if (strcmp(line, "clean") == 0 && sscanf(value, "%d%n", &clean, &used) == 1 && value[used] == '\0') {
                n->clean = clean == 1;
                return true;
        }
        return false;
}

static bool node_name_ok(const char *s)
{
        return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == strlen(s);
}

int node_id_read(const char *state_dir, struct node_id *ret)
{
        struct node_id n = { 0 };
        char *save = NULL;
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(state_dir, "node_id");
        if (!path)
                return -ENOMEM;
        int r = file_read(path, FILE_LIMIT, &text);
        if (r < 0)
                return r == -EFBIG ? -EINVAL : r;
        if (text.len == 0 || strlen(text.data) != text.len)
                return -EINVAL;
        for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (!line_read(line, &n))
                        return -EINVAL;
        if (!node_name_ok(n.node))
                return -EINVAL;
        *ret = n;
        return 0;
}

int node_id_write(const char *state_dir, const struct node_id *n)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(state_dir, "node_id");
        if (!path)
                return -ENOMEM;
        buf_format(&text, "node %s\n", n->node);
        if (*n->incarnation)
                buf_format(&text, "incarnation %s\n", n->incarnation);
        buf_format(&text, "life %" PRIu64 "\n", n->life);
        if (*n->boot)
                buf_format(&text, "boot %s\n", n->boot);
        buf_format(&text, "clean %d\n", n->clean);
        if (text.failed)
                return -ENOMEM;
        return file_replace(path, text.data, text.len, 0600);
}

int node_id_make(struct node_id *ret)
{
        char host[65] = "", tail[9];

        if (gethostname(host, sizeof(host) - 1) < 0)
                return -errno;
        int r = random_hex(tail, 4);
        if (r < 0)
                return r;
        for (char *p = host; *p; p++)   /* what a host name should not hold must not reach file names */
                if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", *p))
                        *p = '_';
        *ret = (struct node_id) { 0 };
        (void) snprintf(ret->node, sizeof(ret->node), "%s-%s", *host ? host : "node", tail);
        return 0;
}
