/* The local ledger is one node's: it is the main node for ever, and nobody's lease runs out here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config/config.h"
#include "common/node_id.h"
#include "ledger/sqlite_store.h"

static void copy(char *ret, size_t room, const char *text)
{
        (void) snprintf(ret, room, "%s", text ? text : "");
}

/* There is no other main node to be told from: which start of this one it is. */
static void main_fence(char ret[FENCE_TEXT], uint64_t life)
{
        (void) snprintf(ret, FENCE_TEXT, "%llu", (unsigned long long) life);
}

int op_beat(struct sqlite_store *s, struct ledger_call *c)
{
        const struct beat_in *in = &c->in.beat;
        struct beat_out *out = &c->out.beat;
        struct node_row *row = calloc(1, sizeof(*row));

        if (!row)
                return -ENOMEM;
        *out = (struct beat_out) { .verdict = BEAT_OK, .store_time = clock_wall(), .is_main = !in->leaving,
                                   .main_until = { INT64_MAX }, .nodes = row, .count = 1 };
        *row = (struct node_row) { .pid = in->pid, .beat = out->store_time, .offline = in->leaving,
                                   .is_main = out->is_main };
        copy(row->node, sizeof(row->node), in->node);
        copy(row->token, sizeof(row->token), in->token);
        copy(row->host, sizeof(row->host), in->host);
        copy(row->boot, sizeof(row->boot), in->boot);
        copy(row->version, sizeof(row->version), in->version);
        copy(row->tzdata, sizeof(row->tzdata), in->tzdata);
        copy(row->config, sizeof(row->config), in->config);
        if (out->is_main)
                copy(out->main, sizeof(out->main), in->node);
        main_fence(out->main_fence, s->life);
        return 0;
}

int op_nodes(struct sqlite_store *s, struct ledger_call *c)
{
        struct nodes_out *out = &c->out.nodes;
        struct node_id id;   /* a reader was not told which node this is */

        int r = node_id_read(s->config->state_dir, &id);
        if (r < 0)
                return r;
        struct node_row *row = calloc(1, sizeof(*row));
        if (!row)
                return -ENOMEM;
        *out = (struct nodes_out) { .store_time = clock_wall(), .nodes = row, .count = 1 };
        row->is_main = true;
        copy(row->node, sizeof(row->node), id.node);
        copy(row->boot, sizeof(row->boot), id.boot);
        copy(out->main, sizeof(out->main), id.node);
        main_fence(out->main_fence, id.life);
        (void) gethostname(row->host, sizeof(row->host) - 1);
        return 0;
}

int op_set_main(struct sqlite_store *s, struct ledger_call *c)
{
        const char *node = c->in.set_main.node;
        struct node_id id;

        int r = node_id_read(s->config->state_dir, &id);
        if (r < 0)
                return r;
        if (*node && strcmp(node, id.node) != 0) {
                c->error = -ENOENT;
                copy(c->why, sizeof(c->why), "no such node is known");
                return 0;
        }
        copy(c->out.set_main.before, sizeof(c->out.set_main.before), id.node);
        return 0;
}

int op_sweep(struct sqlite_store *s, struct ledger_call *c)
{
        (void) s;
        (void) c;
        return 0;
}
