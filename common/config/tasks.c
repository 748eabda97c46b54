/* The list of tasks. Each starts as a copy of a template made of table and defaults, so that 100,000 tasks
 * cost no more than what they themselves say. */
#include "common/config/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

void task_done(struct task *t)
{
        fields_free(task_fields, t);
        free(t->redis.text);
}

static void defaults_read(struct loading *ld, const struct node *defaults, struct task *t)
{
        ld->rd.in_defaults = true;
        if (defaults)
                fields_read(&ld->rd, task_fields, defaults, t, "defaults");
        ld->rd.in_defaults = false;
}

static struct task *task_add(struct loading *ld)
{
        struct config *c = ld->config;

        if (c->task_count == ld->task_room) {
                size_t room = ld->task_room ? 2 * ld->task_room : 64;
                struct task *grown = realloc(c->tasks, room * sizeof(*grown));
                if (!grown) {
                        ld->rd.error = -ENOMEM;
                        return NULL;
                }
                c->tasks = grown;
                ld->task_room = room;
        }
        struct task *t = &c->tasks[c->task_count++];
        *t = (struct task) { 0 };
        return t;
}

static void task_read(struct loading *ld, struct origin *o, const struct node *n, const struct task *template)
{
        if (n->kind != NODE_MAP) {
                if (n->kind != NODE_BROKEN)
                        read_error(&ld->rd, n->place, "tasks", "a task must be a map, not %s",
                                   node_kind_text(n));
                return;
        }
        struct task *t = task_add(ld);
        if (!t)
                return;
        int r = fields_copy(task_fields, t, template);
        if (r < 0) {
                ld->rd.error = r;
                return;
        }
        const struct node *name = node_get(n, "name");
        ld->rd.task = name && name->kind == NODE_TEXT && !node_is_null(name) ? name->text : NULL;
        o->task = n;
        t->place = n->place;
        fields_read(&ld->rd, task_fields, n, t, NULL);
        task_settle(&ld->rd, ld->config, o, t);
        ld->rd.task = NULL;
}

static void task_list(struct loading *ld, struct origin *o, const struct node *list,
                      const struct task *template)
{
        for (const struct node *n = list->first; n && ld->rd.error == 0; n = n->next) {
                if (ld->config->task_count >= TASKS_MAX) {
                        read_error(&ld->rd, n->place, "tasks", "more than 100,000 tasks");
                        break;
                }
                task_read(ld, o, n, template);
        }
}

/* The section `key` of a file if it is of the right kind; complains if it is another. */
static const struct node *section(struct loading *ld, const struct node *root, const char *key,
                                  enum node_kind kind)
{
        const struct node *n = node_get(root, key);

        if (!n || n->kind == kind || n->kind == NODE_BROKEN || node_is_null(n))
                return n && n->kind == kind ? n : NULL;
        read_error(&ld->rd, n->place, key, "must be a %s, not %s", kind == NODE_MAP ? "map" : "list",
                   node_kind_text(n));
        return NULL;
}

/* The defaults of the first file hold for all; those of an include are laid over them for its own tasks. */
void tasks_read(struct loading *ld, const struct source *s)
{
        bool first = s == &ld->sources[0];
        const struct node *defaults = section(ld, s->tree.root, "defaults", NODE_MAP);
        const struct node *list = section(ld, s->tree.root, "tasks", NODE_LIST);
        struct origin o = {
                .main_defaults = node_get(ld->sources[0].tree.root, "defaults"),
                .file_defaults = first ? NULL : defaults,
        };
        struct task template = { 0 };

        int r = first ? fields_init(task_fields, &ld->defaults) : 0;
        if (r == 0 && first)
                defaults_read(ld, defaults, &ld->defaults);
        if (r == 0)
                r = fields_copy(task_fields, &template, &ld->defaults);
        if (r < 0)
                ld->rd.error = r;
        else if (!first)
                defaults_read(ld, defaults, &template);
        if (list)
                task_list(ld, &o, list, &template);
        fields_free(task_fields, &template);
}

/* Same name: in the order of reading. */
static int by_name_and_order(const void *a, const void *b)
{
        const struct task *x = *(const struct task *const *) a, *y = *(const struct task *const *) b;
        int r = strcmp(x->name ? x->name : "", y->name ? y->name : "");

        return r ? r : (x > y) - (x < y);
}

static int sort_names(struct config *c)
{
        const struct task **list = calloc(c->task_count + 1, sizeof(*list));
        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < c->task_count; i++)
                list[i] = &c->tasks[i];
        qsort(list, c->task_count, sizeof(*list), by_name_and_order);
        free(c->by_name);
        c->by_name = list;
        return 0;
}

/* Twice in one file is an error; a later file replaces the whole task of the earlier one. */
static size_t drop_replaced(struct loading *ld, bool *dropped)
{
        struct config *c = ld->config;
        size_t count = 0;

        for (size_t i = 1; i < c->task_count; i++) {
                const struct task *before = c->by_name[i - 1], *t = c->by_name[i];
                if (!before->name || !t->name || strcmp(before->name, t->name) != 0)
                        continue;
                if (before->place.file == t->place.file)
                        complain(ld->rd.complaints, SEVERITY_ERROR, t->place,
                                 "duplicate task name \"%s\", first given in line %u", t->name,
                                 before->place.line);
                dropped[before - c->tasks] = true;
                count++;
        }
        return count;
}

static void compact(struct config *c, const bool *dropped)
{
        size_t kept = 0;

        for (size_t i = 0; i < c->task_count; i++) {
                if (dropped[i])
                        task_done(&c->tasks[i]);
                else
                        c->tasks[kept++] = c->tasks[i];
        }
        c->task_count = kept;
}

/* Whether there was an attempt at a task: what is wrong with it has been said. */
static bool tasks_given(const struct loading *ld)
{
        for (size_t i = 0; i < ld->source_count; i++) {
                const struct node *n = node_get(ld->sources[i].tree.root, "tasks");
                if (n && !node_is_null(n) && (n->kind != NODE_LIST || n->first))
                        return true;
        }
        return false;
}

int tasks_index(struct loading *ld)
{
        struct config *c = ld->config;

        _cleanup_(freep) bool *dropped = calloc(c->task_count + 1, sizeof(bool));
        if (!dropped)
                return -ENOMEM;
        if (!tasks_given(ld))
                complain(ld->rd.complaints, SEVERITY_WARNING, (struct place) { c->path, 0, 0 }, "no tasks");
        int r = sort_names(c);
        if (r < 0 || drop_replaced(ld, dropped) == 0)
                return r;
        compact(c, dropped);
        return sort_names(c);
}

static int name_compare(const void *key, const void *item)
{
        return strcmp(key, (*(const struct task *const *) item)->name);
}

const struct task *config_task(const struct config *c, const char *name)
{
        const struct task **found =
                c->task_count ? bsearch(name, c->by_name, c->task_count, sizeof(*c->by_name), name_compare)
                              : NULL;

        return found ? *found : NULL;
}
