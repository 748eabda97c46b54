/* See zone_names.h. Names are looked for in the folder itself and not in one of the lists beside the zones: which of
 * those are installed differs. */
#include "common/schedule/zone_names.h"

#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/complaint.h"
#include "common/schedule/zone.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static bool has_empty_part(const char *name)
{
        return name[strlen(name) - 1] == '/' || strstr(name, "//");
}

/* Files beside the zones that are of the same form: which zone is meant, they do not say. */
static bool is_stand_in(const char *name)
{
        return strcmp(name, "localtime") == 0 || strcmp(name, "posixrules") == 0 || strcmp(name, "Factory") == 0;
}

const char *zone_name_fault(const char *name)
{
        if (!*name)
                return "empty";
        if (strlen(name) >= ZONE_NAME_MAX)
                return "too long for a time zone";
        if (strchr("+-" DIGITS, name[0]))
                return "an offset, no time zone";
        if (strchr("<", name[0]) || (strspn(name, LETTERS) >= 3 && strchr(name, ',')))
                return "a rule, no time zone";
        if (name[0] == '/' || strstr(name, ".."))
                return "a path, no time zone";
        if (name[strspn(name, LETTERS DIGITS "_+-/")] || has_empty_part(name))
                return "not the name of a time zone";
        return is_stand_in(name) ? "a stand-in for a time zone" : NULL;
}

bool zone_name_is_rule(const char *name)
{
        size_t letters = strspn(name, LETTERS);
        const char *offset = name + letters;

        if (letters < 3)
                return false;
        offset += *offset == '+' || *offset == '-';
        return strspn(offset, DIGITS) > 0;
}

#define NEAR_COUNT 3
#define WALK_MAX   5000   /* entries of the folder; tzdata has 1,800 with all its copies */

struct near {
        char names[NEAR_COUNT][ZONE_NAME_MAX];   /* "": none */
        size_t far[NEAR_COUNT];
};

static void lowered(const char *text, char ret[ZONE_NAME_MAX])
{
        size_t i = 0;

        for (; text[i] && i < ZONE_NAME_MAX - 1; i++)
                ret[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char) (text[i] - 'A' + 'a') : text[i];
        ret[i] = '\0';
}

/* How far `candidate` is from the name that was given; whoever gave a city alone is asked about its whole name. */
static size_t distance(const char *name, const char *candidate)
{
        char a[ZONE_NAME_MAX], b[ZONE_NAME_MAX];

        lowered(name, a);
        lowered(candidate, b);
        size_t far = edit_distance(a, b);
        const char *city = strrchr(b, '/');
        if (city && !strchr(a, '/')) {
                size_t city_far = edit_distance(a, city + 1);
                far = city_far < far ? city_far : far;
        }
        return far;
}

static bool is_zone_file(const char *path)
{
        char magic[4];
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        return fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "TZif", 4) == 0;
}

/* Nearest first, and by name where they are equally far: the order of a folder is no order. */
static void near_add(struct near *n, const char *path, const char *candidate, size_t far)
{
        size_t at = 0;

        while (at < NEAR_COUNT && *n->names[at] &&
               (n->far[at] < far || (n->far[at] == far && strcmp(n->names[at], candidate) < 0)))
                at++;
        if (at == NEAR_COUNT || !is_zone_file(path))
                return;
        memmove(&n->names[at + 1], &n->names[at], (NEAR_COUNT - 1 - at) * sizeof(n->names[0]));
        memmove(&n->far[at + 1], &n->far[at], (NEAR_COUNT - 1 - at) * sizeof(n->far[0]));
        (void) snprintf(n->names[at], ZONE_NAME_MAX, "%s", candidate);
        n->far[at] = far;
}

/* Copies of all zones, as they are and with leap seconds. */
static bool is_copies(const FTSENT *e)
{
        return e->fts_level == 1 && (strcmp(e->fts_name, "posix") == 0 || strcmp(e->fts_name, "right") == 0);
}

static void walk(FTS *tree, size_t prefix, const char *name, struct near *n)
{
        FTSENT *e;

        for (unsigned seen = 0; (e = fts_read(tree)) && seen < WALK_MAX; seen++) {
                if (e->fts_info == FTS_D && (is_copies(e) || e->fts_level > 3))
                        (void) fts_set(tree, e, FTS_SKIP);
                if (e->fts_info != FTS_F || e->fts_pathlen <= prefix)
                        continue;
                const char *candidate = e->fts_path + prefix;
                if (zone_name_fault(candidate))
                        continue;
                size_t far = distance(name, candidate);
                if (far <= strlen(name) / 3)
                        near_add(n, e->fts_accpath, candidate, far);
        }
}

void zone_names_near(const char *folder, const char *name, char *ret, size_t room)
{
        _cleanup_(freep) char *root = strdup(folder);
        struct near n = { 0 };
        size_t len = 0;

        ret[0] = '\0';
        if (!root)
                return;
        for (char *end = root + strlen(root); end > root + 1 && end[-1] == '/'; )
                *--end = '\0';
        FTS *tree = fts_open((char *[]) { root, NULL }, FTS_LOGICAL | FTS_NOCHDIR, NULL);
        if (!tree)
                return;
        walk(tree, strlen(root) + 1, name, &n);
        (void) fts_close(tree);
        /* Beside a name that is one slip away, one that is three away is no help: half of a name is its continent. */
        for (size_t i = 0; i < NEAR_COUNT && *n.names[i] && n.far[i] <= n.far[0] + 1; i++) {
                size_t want = strlen(n.names[i]) + (i ? 2 : 0);
                if (len + want >= room)
                        return;
                len += (size_t) snprintf(ret + len, room - len, "%s%s", i ? ", " : "", n.names[i]);
        }
}
