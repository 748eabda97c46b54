/* node_id is text, "key value" a line, so that a person can read it; unknown keys refuse the file, since a
 * newer version may have meant something by them. */
#include "common/node_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define FILE_LIMIT 4096

#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* Words end up in file names, log lines and terminals. */
static bool copy_word(char *to, size_t room, const char *from)
{
        size_t len = strlen(from);

        if (len == 0 || len >= room || strspn(from, WORD_CHARS) != len)
                return false;
        memcpy(to, from, len + 1);
        return true;
}

static bool number_read(const char *text, uint64_t max, uint64_t *ret)
{
        char *end;

        if (*text < '0' || *text > '9')   /* strtoull would take blanks and a sign */
                return false;
        errno = 0;
        *ret = strtoull(text, &end, 10);
        return errno == 0 && *end == '\0' && *ret <= max;
}

static bool line_read(char *line, struct node_id *n)
{
        char *value = strchr(line, ' ');
        uint64_t clean;

        if (!value)
                return false;
        *value++ = '\0';
        if (strcmp(line, "node") == 0)
                return copy_word(n->node, sizeof(n->node), value);
        if (strcmp(line, "incarnation") == 0)
                return copy_word(n->incarnation, sizeof(n->incarnation), value);
        if (strcmp(line, "boot") == 0)
                return copy_word(n->boot, sizeof(n->boot), value);
        if (strcmp(line, "ledger") == 0)
                return copy_word(n->ledger, sizeof(n->ledger), value);
        if (strcmp(line, "life") == 0)
                return number_read(value, UINT64_MAX, &n->life);
        if (strcmp(line, "clean") != 0 || !number_read(value, 1, &clean))
                return false;
        n->clean = clean == 1;
        return true;
}

static int read_from(const char *folder, const char *name, struct node_id *ret)
{
        struct node_id n = { 0 };
        char *save = NULL;
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(folder, name);
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
        if (!*n.node)
                return -EINVAL;
        *ret = n;
        return 0;
}

static int write_to(const char *folder, const char *name, const struct node_id *n)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(folder, name);
        if (!path)
                return -ENOMEM;
        buf_format(&text, "node %s\n", n->node);
        if (*n->incarnation)
                buf_format(&text, "incarnation %s\n", n->incarnation);
        if (*n->ledger)
                buf_format(&text, "ledger %s\n", n->ledger);
        buf_format(&text, "life %" PRIu64 "\n", n->life);
        if (*n->boot)
                buf_format(&text, "boot %s\n", n->boot);
        buf_format(&text, "clean %d\n", n->clean);
        if (text.failed)
                return -ENOMEM;
        return file_replace(path, text.data, text.len, 0600);
}

int node_id_read(const char *state_dir, struct node_id *ret)
{
        return read_from(state_dir, "node_id", ret);
}

int node_id_write(const char *state_dir, const struct node_id *n)
{
        return write_to(state_dir, "node_id", n);
}

int node_witness_read(const char *run_dir, struct node_id *ret)
{
        return read_from(run_dir, "witness", ret);
}

int node_witness_write(const char *run_dir, const struct node_id *n)
{
        return write_to(run_dir, "witness", n);
}

static bool is_of_its_middle(const struct node_id *n, const struct node_id *witness, const char *ledger_now)
{
        bool same_life = witness && witness->life == n->life;
        bool copied = *n->ledger && strcmp(n->ledger, ledger_now) != 0;
        bool both_clean = n->clean && (!same_life || witness->clean);

        return (same_life && witness->clean && !n->clean) || (copied && !both_clean);
}

bool node_id_is_older(const struct node_id *n, const struct node_id *witness, const char *ledger_now, char *ret_why,
                      size_t room)
{
        if (witness && strcmp(n->node, witness->node) != 0)
                (void) snprintf(ret_why, room, "state_dir is another one: node %.40s ran here last, this is %.40s",
                                witness->node, n->node);
        else if (witness && n->life < witness->life)
                (void) snprintf(ret_why, room, "state_dir is an older copy: start %" PRIu64 " of node %.40s ran here, "
                                               "this knows of %" PRIu64, witness->life, n->node, n->life);
        else if (is_of_its_middle(n, witness, ledger_now))
                (void) snprintf(ret_why, room, "state_dir is a copy from the middle of start %" PRIu64 " of node %.40s",
                                n->life, n->node);
        else
                return false;
        return true;
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
                if (!strchr(WORD_CHARS, *p))
                        *p = '_';
        *ret = (struct node_id) { 0 };
        (void) snprintf(ret->node, sizeof(ret->node), "%s-%s", *host ? host : "node", tail);
        return 0;
}
