/* See zone.h. All zones of the process are in one table, by their paths; only getting one takes its lock. */
#include "common/schedule/zone.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/schedule/tzif.h"
#include "common/schedule/zone_names.h"

struct zone {
        struct zone *next;           /* in the same bucket */
        char name[ZONE_NAME_MAX];
        char *path;                  /* owned */
        struct tzif table;
};

#define BUCKETS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct zone *zones[BUCKETS];   /* under the lock; the zones themselves never change */

/* Built in, so that who needs no zone data can do without. */
static struct zone_kind utc_kind = { .abbreviation = "UTC" };
static const struct zone utc = { .name = "UTC", .table = { .kind_count = 1, .kinds = &utc_kind } };

/* Where a refusal is written, for people. */
struct reason {
        char *text;
        size_t room;
};

static const char *zone_folder(void)
{
        const char *folder = getenv("TZDIR");

        return folder && *folder ? folder : "/usr/share/zoneinfo";
}

/* The start of a name from outside, fit to be printed. */
static const char *shown(const char *name, char ret[ZONE_NAME_MAX])
{
        size_t i = 0;

        for (; name[i] && i < ZONE_NAME_MAX - 1; i++)
                ret[i] = name[i] < ' ' || name[i] > '~' || name[i] == '"' ? '?' : name[i];
        ret[i] = '\0';
        return ret;
}

static int is_no_name(const char *name, const char *fault, struct reason why)
{
        char text[ZONE_NAME_MAX];

        (void) snprintf(why.text, why.room, "\"%s\" is %s: give an IANA name such as Europe/Berlin",
                        shown(name, text), fault);
        return -EINVAL;
}

static int is_unknown(const char *folder, const char *name, struct reason why)
{
        char near[3 * ZONE_NAME_MAX];

        if (zone_name_is_rule(name))
                return is_no_name(name, "a rule, no time zone", why);
        zone_names_near(folder, name, near, sizeof(near));
        if (*near)
                (void) snprintf(why.text, why.room, "there is no time zone \"%s\"; near: %s", name, near);
        else if (access(folder, X_OK) < 0)
                (void) snprintf(why.text, why.room, "there is no time zone \"%s\": there is no folder %s (tzdata)",
                                name, folder);
        else
                (void) snprintf(why.text, why.room, "there is no time zone \"%s\" in %s", name, folder);
        return -ENOENT;
}

static int is_damaged(const char *path, const char *what, struct reason why)
{
        (void) snprintf(why.text, why.room, "%s is damaged or no time zone: %s", path, what);
        return -EBADMSG;
}

static int is_unread(const char *folder, const char *name, const char *path, int error, struct reason why)
{
        switch (error) {
        case -ENOENT:
        case -ENOTDIR:
                return is_unknown(folder, name, why);
        case -EISDIR:
                return is_no_name(name, "a folder of time zones", why);
        case -EINVAL:
                return is_damaged(path, "it is no regular file", why);
        case -EFBIG:
                return is_damaged(path, "it is too large", why);
        default:
                (void) snprintf(why.text, why.room, "reading %s: %s", path, strerror(-error));
                return error;
        }
}

static struct zone *zone_free(struct zone *z)
{
        tzif_done(&z->table);
        free(z->path);
        free(z);
        return NULL;
}

DEFINE_CLEANUP(struct zone *, zone_freep, (void) zone_free)

static int zone_read(const char *folder, const char *name, const char *path, struct zone **ret, struct reason why)
{
        _cleanup_(buf_done) struct buf bytes = BUF_EMPTY;
        const char *what = NULL;

        int r = file_read(path, TZIF_MAX, &bytes);
        if (r < 0)
                return is_unread(folder, name, path, r, why);
        _cleanup_(zone_freep) struct zone *z = calloc(1, sizeof(*z));
        if (!z)
                return -ENOMEM;
        r = tzif_read(bytes.data, bytes.len, &z->table, &what);
        if (r < 0)
                return r == -EBADMSG ? is_damaged(path, what, why) : r;
        (void) snprintf(z->name, sizeof(z->name), "%s", name);
        z->path = strdup(path);
        if (!z->path)
                return -ENOMEM;
        *ret = TAKE(z);
        return 0;
}

static struct zone **bucket_of(const char *name)
{
        uint32_t h = 2166136261;

        for (; *name; name++)
                h = (h ^ (uint8_t) *name) * 16777619;
        return &zones[h % BUCKETS];
}

/* The zone at `path`, read at its first use. Under the lock. */
static int zone_find(const char *folder, const char *name, const char *path, const struct zone **ret,
                     struct reason why)
{
        struct zone **bucket = bucket_of(name), *z;

        for (z = *bucket; z; z = z->next) {
                if (strcmp(z->path, path) == 0) {
                        *ret = z;
                        return 0;
                }
        }
        int r = zone_read(folder, name, path, &z, why);
        if (r < 0)
                return r;
        z->next = *bucket;
        *bucket = z;
        *ret = z;
        return 0;
}

int zone_get(const char *name, const struct zone **ret, char *why, size_t room)
{
        struct reason reason = { why, room };
        const char *fault = zone_name_fault(name), *folder = zone_folder();

        if (fault)
                return is_no_name(name, fault, reason);
        if (strcmp(name, "UTC") == 0) {
                *ret = &utc;
                return 0;
        }
        _cleanup_(freep) char *path = path_join(folder, name);
        (void) pthread_mutex_lock(&lock);
        int r = path ? zone_find(folder, name, path, ret, reason) : -ENOMEM;
        (void) pthread_mutex_unlock(&lock);
        if (r == -ENOMEM)
                (void) snprintf(why, room, "no memory for time zone \"%s\"", name);
        return r;
}

const char *zone_name(const struct zone *z)
{
        return z->name;
}

void zone_span_at(const struct zone *z, int64_t utc_s, struct zone_span *ret)
{
        tzif_span_at(&z->table, utc_s, ret);
}

#define VERSION_MAX 16

static char version[VERSION_MAX] = "unknown";
static pthread_once_t version_once = PTHREAD_ONCE_INIT;

/* The word that follows `before` at the start of a file of the zone folder. */
static bool version_from(const char *file, const char *before)
{
        _cleanup_(buf_done) struct buf bytes = BUF_EMPTY;
        _cleanup_(freep) char *path = path_join(zone_folder(), file);

        if (!path || file_read(path, 4 * TZIF_MAX, &bytes) < 0)
                return false;
        const char *word = buf_string(&bytes);
        if (strncmp(word, before, strlen(before)) != 0)
                return false;
        word += strlen(before);
        size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789.-");
        if (length == 0 || length >= VERSION_MAX)
                return false;
        memcpy(version, word, length);
        version[length] = '\0';
        return true;
}

static void version_read(void)
{
        if (!version_from("tzdata.zi", "# version "))
                (void) version_from("+VERSION", "");
}

const char *zone_data_version(void)
{
        (void) pthread_once(&version_once, version_read);
        return version;
}
