/* config_load: files, then the top level of all of them, then tasks. All files are read before anything is
 * judged, so that every error of every file is reported at once. */
#include "common/config/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

static int cannot_read(struct loading *ld, const char *name, int error)
{
        char why[READ_WHY];

        complain(ld->rd.complaints, SEVERITY_ERROR, (struct place) { name, 0, 0 }, "cannot be read: %s",
                 read_why(error, YAML_FILE_MAX, why));
        return -EINVAL;
}

static char *folder_of(const char *path)
{
        const char *slash = strrchr(path, '/');

        if (!slash)
                return strdup(".");
        return slash == path ? strdup("/") : strndup(path, (size_t) (slash - path));
}

static int parse_file(struct loading *ld, struct source *s, const char *path)
{
        _cleanup_(buf_done) struct buf bytes = BUF_EMPTY;
        const char *name = ld->config->files.items[ld->config->files.count - 1];
        struct stat st;

        int r = file_read(path, YAML_FILE_MAX, &bytes);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return cannot_read(ld, name, r);
        s->world_readable = stat(path, &st) == 0 && (st.st_mode & S_IROTH);
        r = tree_parse(name, bytes.len ? bytes.data : "", bytes.len, &s->tree, ld->rd.complaints);
        if (r < 0)
                return r;
        struct node *root = s->tree.root;
        if (root && root->kind == NODE_MAP)
                return 0;
        if (!root || node_is_null(root))
                complain(ld->rd.complaints, SEVERITY_ERROR, (struct place) { name, 0, 0 },
                         "the file is empty");
        else if (root->kind != NODE_BROKEN)
                complain(ld->rd.complaints, SEVERITY_ERROR, root->place, "must be a map of keys, not %s",
                         node_kind_text(root));
        return -EINVAL;
}

int source_add(struct loading *ld, const char *path)
{
        struct source *grown = realloc(ld->sources, (ld->source_count + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        ld->sources = grown;
        struct source *s = &grown[ld->source_count];
        *s = (struct source) { .tree = TREE_NONE, .folder = folder_of(path) };
        if (!s->folder || text_list_add(&ld->config->files, path) < 0) {
                free(s->folder);
                return -ENOMEM;
        }
        ld->source_count++;
        return parse_file(ld, s, path);
}

/* From here on complaints and relative paths belong to `s`. */
static void enter(struct loading *ld, const struct source *s)
{
        ld->rd.folder = s->folder;
        ld->rd.world_readable = s->world_readable;
}

static void read_alert(struct loading *ld, const struct node *n)
{
        struct config *c = ld->config;

        if (n->kind != NODE_MAP) {
                if (n->kind != NODE_BROKEN)
                        read_error(&ld->rd, n->place, "alerts", "must be a list of maps, not %s",
                                   node_kind_text(n));
                return;
        }
        struct alert *grown = realloc(c->alerts, (c->alert_count + 1) * sizeof(*grown));
        if (!grown) {
                ld->rd.error = -ENOMEM;
                return;
        }
        c->alerts = grown;
        struct alert *a = &grown[c->alert_count++];
        *a = (struct alert) { .place = n->place };
        if (fields_init(alert_fields, a) < 0)
                ld->rd.error = -ENOMEM;
        fields_read(&ld->rd, alert_fields, n, a, "alerts");
        alert_settle(&ld->rd, c, n, a);
}

static void read_alerts(struct loading *ld, const struct node *root)
{
        const struct node *list = node_get(root, "alerts");

        if (!list || list->kind == NODE_BROKEN || node_is_null(list))
                return;
        if (list->kind != NODE_LIST || list->count > ALERTS_MAX) {
                read_error(&ld->rd, list->place, "alerts", "must be a list of up to %d", ALERTS_MAX);
                return;
        }
        for (const struct node *n = list->first; n && ld->rd.error == 0; n = n->next)
                read_alert(ld, n);
}

static void read_top(struct loading *ld)
{
        const struct node **roots = calloc(ld->source_count, sizeof(*roots));
        if (!roots) {
                ld->rd.error = -ENOMEM;
                return;
        }
        for (size_t i = 0; i < ld->source_count; i++) {
                roots[i] = ld->sources[i].tree.root;
                enter(ld, &ld->sources[i]);
                fields_read(&ld->rd, config_fields, roots[i], ld->config, NULL);
        }
        config_settle(&ld->rd, ld->config, roots, ld->source_count);
        free(roots);
        for (size_t i = 0; i < ld->source_count; i++) {
                enter(ld, &ld->sources[i]);
                read_alerts(ld, ld->sources[i].tree.root);
        }
}

static int load(struct loading *ld, const char *path)
{
        int r = source_add(ld, path);
        if (r < 0)
                return r;
        r = includes_add(ld);
        if (r < 0)
                return r;
        if (fields_init(config_fields, ld->config) < 0)
                return -ENOMEM;
        read_top(ld);
        for (size_t i = 0; i < ld->source_count && ld->rd.error == 0; i++) {
                enter(ld, &ld->sources[i]);
                tasks_read(ld, &ld->sources[i]);
        }
        if (ld->rd.error == 0)
                ld->rd.error = tasks_index(ld);
        if (ld->rd.error < 0)
                return ld->rd.error;
        if (ld->rd.complaints->errors > ld->errors_before)
                return -EINVAL;
        return hashes_fill(ld->config);
}

int config_load(const char *path, struct config **ret, struct complaints *complaints)
{
        struct config *c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        struct loading ld = {
                .config = c,
                .rd = { .complaints = complaints },
                .errors_before = complaints->errors,
        };
        c->path = strdup(path);
        int r = c->path ? load(&ld, path) : -ENOMEM;
        for (size_t i = 0; i < ld.source_count; i++) {
                tree_done(&ld.sources[i].tree);
                free(ld.sources[i].folder);
        }
        free(ld.sources);
        fields_free(task_fields, &ld.defaults);
        if (r < 0) {
                (void) config_free(c);
                return r;
        }
        *ret = c;
        return 0;
}

struct config *config_free(struct config *c)
{
        if (!c)
                return NULL;
        for (size_t i = 0; i < c->task_count; i++)
                task_done(&c->tasks[i]);
        for (size_t i = 0; i < c->alert_count; i++)
                fields_free(alert_fields, &c->alerts[i]);
        fields_free(config_fields, c);
        text_list_done(&c->files);
        free(c->tasks);
        free(c->alerts);
        free(c->by_name);
        free(c->path);
        free(c);
        return NULL;
}
