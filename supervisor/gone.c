/* Unsettled deaths: a short list, searched by owner. */
#include "supervisor/gone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far above what places allow; beyond it the next start of the node settles what is left. */
#define GONES_MAX 4096

void gones_done(struct gones *g)
{
        for (size_t i = 0; i < g->count; i++)
                if (g->list[i].tree >= 0)
                        (void) close(g->list[i].tree);
        free(g->list);
        *g = (struct gones) { 0 };
}

static int make_room(struct gones *g)
{
        if (g->count < g->room)
                return 0;
        if (g->room >= GONES_MAX)
                return -ENOBUFS;
        size_t room = g->room ? 2 * g->room : 16;
        struct gone *list = realloc(g->list, room * sizeof(*list));
        if (!list)
                return -ENOMEM;
        g->list = list;
        g->room = room;
        return 0;
}

int gones_add(struct gones *g, const char *owner, int place, int tree)
{
        int r = make_room(g);

        if (r < 0) {
                if (tree >= 0)
                        (void) close(tree);
                return r;
        }
        struct gone *n = &g->list[g->count++];
        *n = (struct gone) { .place = place, .tree = tree };
        (void) snprintf(n->owner, sizeof(n->owner), "%s", owner);
        return 0;
}

void gones_repeat(struct gones *g)
{
        for (size_t i = 0; i < g->count; i++)
                g->list[i].asked.ns = 0;
}

/* With the records ended and trees alive there is nothing to tell until the trees have ended. */
static bool waits_for_trees(const struct gone *n)
{
        return n->records_ended && n->tree >= 0;
}

static struct mono due_of(const struct gone *n)
{
        if (waits_for_trees(n))
                return (struct mono) { INT64_MAX };
        return n->asked.ns ? mono_plus_ms(n->asked, GONE_REPEAT_MS) : (struct mono) { 0 };
}

struct gone *gones_next(struct gones *g, struct mono now)
{
        for (size_t i = 0; i < g->count; i++)
                if (due_of(&g->list[i]).ns <= now.ns)
                        return &g->list[i];
        return NULL;
}

struct mono gones_due(const struct gones *g)
{
        struct mono due = { INT64_MAX };

        for (size_t i = 0; i < g->count; i++)
                if (due_of(&g->list[i]).ns < due.ns)
                        due = due_of(&g->list[i]);
        return due;
}

void gone_tree_ended(struct gone *gone)
{
        (void) close(gone->tree);
        gone->tree = -1;
        gone->asked.ns = 0;
}

bool gones_answered(struct gones *g, const char *owner, bool trees_gone, int *ret_place)
{
        size_t i = 0;

        while (i < g->count && strcmp(g->list[i].owner, owner) != 0)
                i++;
        if (i == g->count || !g->list[i].asked.ns)
                return false;
        if (!trees_gone) {
                g->list[i].records_ended = true;
                return false;
        }
        if (g->list[i].tree >= 0)   /* it answers what was not asked */
                return false;
        *ret_place = g->list[i].place;
        memmove(&g->list[i], &g->list[i + 1], (g->count - i - 1) * sizeof(*g->list));
        g->count--;
        return true;
}

int gones_give_place(struct gones *g)
{
        for (size_t i = 0; i < g->count; i++) {
                int place = g->list[i].place;
                if (place < 0)
                        continue;
                g->list[i].place = -1;
                return place;
        }
        return -1;
}

bool gones_have_trees(const struct gones *g)
{
        for (size_t i = 0; i < g->count; i++)
                if (g->list[i].tree >= 0)
                        return true;
        return false;
}
