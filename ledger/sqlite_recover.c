/* `onced recover` on the local ledger. A file that can be read stays and gets a new incarnation; any other is
 * moved aside, never deleted, and a new one begun. In both the barrier is now: what the lost rows may have known
 * as started is not started again. The ledger is written before node_id, so that a crash in between is seen as
 * another ledger, and recovered anew. */
#include "ledger/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/file.h"
#include "common/node_id.h"
#include "ledger/sqlite_rows.h"

struct recovery {
        const struct config *config;
        struct sqlite_store store;
        struct node_id node;
        int node_state;                          /* 0, -ENOENT or -EINVAL: as node_id_read said */
        char incarnation[INCARNATION_TEXT];      /* of the ledger that is open */
        uint64_t life;
        bool clean;
        char *why;                               /* RECOVER_TEXT; borrowed */
};

static int failed(struct recovery *v, int r, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int failed(struct recovery *v, int r, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(v->why, RECOVER_TEXT, format, ap);
        va_end(ap);
        return r;
}

static void on_report(void *arg, enum ledger_health h, const char *why)
{
        (void) arg;
        (void) h;
        (void) why;
}

static int recovery_begin(struct recovery *v, const struct config *c, char *why)
{
        struct sqlite_store *s = &v->store;

        *v = (struct recovery) { .config = c, .why = why };
        *s = (struct sqlite_store) { .config = c, .recovering = true, .lock_fd = -1, .report = on_report };
        s->path = path_join(c->state_dir, "ledger.db");
        s->wal_path = path_join(c->state_dir, "ledger.db-wal");
        s->lock_path = path_join(c->state_dir, "ledger.lock");
        if (!s->path || !s->wal_path || !s->lock_path)
                return failed(v, -ENOMEM, "out of memory");
        v->node_state = node_id_read(c->state_dir, &v->node);
        if (v->node_state < 0 && v->node_state != -ENOENT && v->node_state != -EINVAL)
                return failed(v, v->node_state, "%s/node_id: %s", c->state_dir, strerror(-v->node_state));
        return 0;
}

static void recovery_end(struct recovery *v)
{
        store_close(&v->store);
        if (v->store.lock_fd >= 0)
                (void) close(v->store.lock_fd);
        free(v->store.path);
        free(v->store.wal_path);
        free(v->store.lock_path);
}

/* One statement with its values; `row`, if not NULL, is called for each row. */
typedef void (*row_cb)(sqlite3_stmt *st, void *arg);

static int run(struct recovery *v, const char *sql, const struct value *values, size_t count, row_cb row, void *arg)
{
        struct sqlite_store *s = &v->store;
        sqlite3_stmt *st;

        int r = store_errno(s, sqlite3_prepare_v2(s->db, sql, -1, &st, NULL));
        for (size_t i = 0; r == 0 && i < count; i++)
                r = values[i].kind == VALUE_TEXT
                            ? store_errno(s, sqlite3_bind_text(st, (int) i + 1, values[i].text, -1, SQLITE_STATIC))
                            : store_errno(s, sqlite3_bind_int64(st, (int) i + 1, values[i].number));
        while (r == 0 && (r = statement_row(s, st)) > 0) {
                if (row)
                        row(st, arg);
                r = 0;
        }
        if (r < 0)
                (void) failed(v, r, "%s: %s", s->path, sqlite3_errmsg(s->db));
        (void) sqlite3_finalize(st);
        return r;
}

static void on_meta(sqlite3_stmt *st, void *arg)
{
        struct recovery *v = arg;

        column_text(st, 0, v->incarnation, sizeof(v->incarnation));
        v->life = (uint64_t) sqlite3_column_int64(st, 1);
        v->clean = sqlite3_column_int(st, 2) == 1;
}

/* The store's own reason ends with the cure, which is what is being done. */
static void reason(const struct recovery *v, char *ret)
{
        const char *end = strstr(v->store.why, STORE_CURE);

        (void) snprintf(ret, RECOVER_TEXT, "%.*s", (int) (end ? end - v->store.why : (long) strlen(v->store.why)),
                        v->store.why);
}

static int open_ledger(struct recovery *v, bool read_only)
{
        v->store.read_only = read_only;
        int r = store_open(&v->store);
        if (r < 0) {
                reason(v, v->why);
                return r;
        }
        r = run(v, "SELECT incarnation, life, clean FROM meta", NO_VALUES, on_meta, v);
        if (r == 0 && !v->incarnation[0])
                r = failed(v, -EUCLEAN, "%s has lost its identity", v->store.path);
        return r;
}

/* Errors that say what the file is, and not that it cannot be looked at now. */
static bool is_verdict(int r)
{
        return r == -EUCLEAN || r == -EPROTO || r == -ENOENT;
}

/* 0: open, readable, and ours to go on with; else -EUCLEAN with the reason in v->why, or an error. */
static int look(struct recovery *v)
{
        struct stat st;

        if (lstat(v->store.path, &st) < 0)
                return errno == ENOENT ? failed(v, -EUCLEAN, "%s is missing", v->store.path)
                                       : failed(v, -errno, "%s: %s", v->store.path, strerror(errno));
        if (S_ISREG(st.st_mode) && st.st_size == 0)
                return failed(v, -EUCLEAN, "%s is empty", v->store.path);
        if (!S_ISREG(st.st_mode))
                return failed(v, -EUCLEAN, "%s is no file", v->store.path);
        int r = open_ledger(v, true);
        return r < 0 && is_verdict(r) ? -EUCLEAN : r;
}

static bool identity_fits(const struct recovery *v)
{
        return v->node_state == 0 && strcmp(v->node.incarnation, v->incarnation) == 0 && v->life == v->node.life &&
               (v->clean || !v->node.clean);
}

static void describe(const struct recovery *v, struct recover_look *ret)
{
        const char *what = "sound, and the one this node knows";

        if (v->node_state < 0 || !v->node.incarnation[0])
                what = "readable";
        else if (strcmp(v->node.incarnation, v->incarnation) != 0)
                what = "readable, but another ledger than the one this node knows";
        else if (v->life < v->node.life || (v->node.clean && !v->clean))
                what = "readable, but an older copy";
        else if (v->life > v->node.life)
                what = "readable, but node_id is an older copy";
        ret->sound = identity_fits(v);
        (void) snprintf(ret->ledger, sizeof(ret->ledger), "%s is %s", v->store.path, what);
}

static void describe_node(const struct recovery *v, struct recover_look *ret)
{
        ret->node_id_kept = v->node_state == 0;
        if (v->node_state < 0)
                (void) snprintf(ret->node_id, sizeof(ret->node_id), "%s/node_id is %s", v->config->state_dir,
                                v->node_state == -ENOENT ? "missing" : "damaged");
}

int recover_local_look(const struct config *c, struct recover_look *ret, char *why)
{
        struct recovery v;

        *ret = (struct recover_look) { 0 };
        int r = recovery_begin(&v, c, why);
        ret->present = r == 0 && access(v.store.path, F_OK) == 0;
        if (r == 0)
                r = look(&v);
        ret->kept = r == 0;
        if (r == 0)
                describe(&v, ret);
        else if (r == -EUCLEAN && !v.store.refused) {
                (void) snprintf(ret->ledger, sizeof(ret->ledger), "%s", why);
                r = 0;
        }
        if (r == 0)
                describe_node(&v, ret);
        recovery_end(&v);
        return r;
}

/* "<path>.lost-20261130T202931Z": sorts by time, and names the command that made it. */
static int move_aside(struct recovery *v, const char *path, const char *suffix, struct stamp at, char *ret)
{
        char from[RECOVER_TEXT], to[RECOVER_TEXT], when[32];
        time_t seconds = (time_t) (at.ns / NS_PER_S);
        struct tm tm;

        (void) strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &tm));
        (void) snprintf(from, sizeof(from), "%s%s", path, suffix);
        int n = snprintf(to, sizeof(to), "%s.lost-%s%s", path, when, suffix);
        if (n < 0 || n >= (int) sizeof(to))
                return failed(v, -ENAMETOOLONG, "%s: the name is too long to be moved aside", path);
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0) {
                if (errno == ENOENT)
                        return 0;
                return failed(v, -errno, "%s cannot be moved to %s: %s", from, to, strerror(errno));
        }
        if (ret)
                (void) snprintf(ret, RECOVER_TEXT, "%s", to);
        return 0;
}

static int ledger_aside(struct recovery *v, struct stamp at, struct recover_done *ret)
{
        /* The log before the file: a ledger that finds the log of another would read it as its own. */
        int r = move_aside(v, v->store.path, "-wal", at, NULL);
        if (r == 0)
                r = move_aside(v, v->store.path, "-shm", at, NULL);
        return r == 0 ? move_aside(v, v->store.path, "", at, ret->ledger_aside) : r;
}

struct names { char node[NODE_ID_MAX]; unsigned count; };

static void on_node(sqlite3_stmt *st, void *arg)
{
        struct names *n = arg;

        if (n->count++ == 0)
                column_text(st, 0, n->node, sizeof(n->node));
}

/* A node whose node_id is gone keeps its name if the ledger knows exactly one: its units may be named by it. */
static int node_settle(struct recovery *v, struct stamp at, struct recover_done *ret)
{
        struct names names = { 0 };
        char path[RECOVER_TEXT];

        if (v->node_state == 0)
                return 0;
        (void) snprintf(path, sizeof(path), "%s/node_id", v->config->state_dir);
        int r = v->node_state == -EINVAL ? move_aside(v, path, "", at, ret->node_id_aside) : 0;
        if (r == 0)
                r = run(v, "SELECT node FROM node", NO_VALUES, on_node, &names);
        if (r < 0)
                return r;
        r = node_id_make(&v->node);
        if (r < 0)
                return failed(v, r, "a new node_id: %s", strerror(-r));
        if (names.count == 1)
                (void) snprintf(v->node.node, sizeof(v->node.node), "%s", names.node);
        return 0;
}

static int identity_renew(struct recovery *v, const char *boot, const char *incarnation, struct stamp at)
{
        uint64_t life = v->life > v->node.life ? v->life : v->node.life;
        int64_t barrier = stamp_instant(at).ms;

        int r = run(v, "BEGIN IMMEDIATE", NO_VALUES, NULL, NULL);
        if (r == 0)
                r = run(v, "UPDATE meta SET incarnation = ?1, life = ?2, boot = ?3, clean = 1, "
                           "barrier = max(coalesce(barrier, ?4), ?4), fence = max(fence, ?5)",
                        VALUES(TEXT(incarnation), NUMBER(life), TEXT(boot), NUMBER(barrier),
                               NUMBER(at.ns / NS_PER_US)), NULL, NULL);
        if (r == 0)
                r = run(v, "COMMIT", NO_VALUES, NULL, NULL);
        v->node.life = life;
        return r;
}

static int identity_write(struct recovery *v, struct stamp at, struct recover_done *ret)
{
        char boot[BOOT_ID_TEXT];

        int r = node_settle(v, at, ret);
        if (r < 0)
                return r;
        r = clock_boot_id(boot);
        if (r == 0)
                r = random_hex(ret->incarnation, (sizeof(ret->incarnation) - 1) / 2);
        if (r < 0)
                return failed(v, r, "boot id, random numbers: %s", strerror(-r));
        r = store_lock(&v->store);
        if (r < 0)
                return failed(v, r, "%s: %s", v->store.lock_path, strerror(-r));
        r = identity_renew(v, boot, ret->incarnation, at);
        if (r == 0)
                r = store_checkpoint(&v->store, SQLITE_CHECKPOINT_TRUNCATE);
        if (r == 0) {
                (void) snprintf(v->node.incarnation, sizeof(v->node.incarnation), "%s", ret->incarnation);
                (void) snprintf(v->node.boot, sizeof(v->node.boot), "%s", boot);
                v->node.clean = true;
                r = node_id_write(v->config->state_dir, &v->node);
                if (r < 0)
                        (void) failed(v, r, "%s/node_id cannot be written: %s", v->config->state_dir, strerror(-r));
        }
        store_unlock(&v->store);
        return r;
}

int recover_local(const struct config *c, struct recover_done *ret, char *why)
{
        struct stamp at = clock_wall();
        struct recovery v;

        *ret = (struct recover_done) { .barrier = stamp_instant(at) };
        int r = recovery_begin(&v, c, why);
        if (r == 0)
                r = look(&v);
        if (r == -EUCLEAN && v.store.refused)
                goto out;
        bool kept = r == 0;
        recovery_end(&v);
        if (r < 0 && r != -EUCLEAN)
                return r;
        r = recovery_begin(&v, c, why);
        if (r == 0 && !kept)
                r = ledger_aside(&v, at, ret);
        if (r == 0)
                r = open_ledger(&v, false);
        if (r == 0)
                r = identity_write(&v, at, ret);
        (void) snprintf(ret->node, sizeof(ret->node), "%s", v.node.node);
out:
        recovery_end(&v);
        return r;
}

/* Cursors ahead. */

struct ahead_unit { char scope[NODE_ID_MAX]; unsigned shard; struct instant cursor; };

struct ahead {
        struct recovery *v;
        const char *task;
        const struct schedule *schedule;
        struct recover_ahead *ret;
        struct ahead_unit *units;        /* owned */
        size_t room;
        bool out_of_memory;
};

static void on_unit(sqlite3_stmt *st, void *arg)
{
        struct ahead *a = arg;

        if (a->ret->units == a->room) {
                size_t room = a->room ? 2 * a->room : 16;
                struct ahead_unit *more = reallocarray(a->units, room, sizeof(*more));
                a->out_of_memory |= !more;
                if (!more)
                        return;
                a->units = more;
                a->room = room;
        }
        struct ahead_unit *u = &a->units[a->ret->units++];
        column_text(st, 0, u->scope, sizeof(u->scope));
        u->shard = (unsigned) sqlite3_column_int(st, 1);
        u->cursor.ms = sqlite3_column_int64(st, 2);
        if (u->cursor.ms > a->ret->furthest.ms)
                a->ret->furthest = u->cursor;
}

static int find_ahead(struct ahead *a)
{
        a->ret->furthest = a->ret->now;
        int r = run(a->v, "SELECT scope, shard, cursor FROM unit WHERE task = ?1 AND cursor > ?2",
                    VALUES(TEXT(a->task), NUMBER(a->ret->now.ms)), on_unit, a);
        return a->out_of_memory ? failed(a->v, -ENOMEM, "out of memory") : r;
}

/* The range of instants that counted as decided and are open again stays in the history, with who asked. */
static int set_back_one(struct ahead *a, const struct ahead_unit *u)
{
        struct instant now = a->ret->now, first = u->cursor;
        char who[100];

        (void) schedule_next(a->schedule, now, &first);
        (void) snprintf(who, sizeof(who), "the cursor was set back to now by onced recover, uid %u",
                        (unsigned) getuid());
        int r = run(a->v, "INSERT INTO record (task, scope, shard, planned, last, count, state, cause, result, slot, "
                          "tree, gap, ended, code, text_cut, error) "
                          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', 0, 0, 0, ?9, -1, 0, ?10)",
                    VALUES(TEXT(a->task), TEXT(u->scope), NUMBER(u->shard), NUMBER(first.ms), NUMBER(u->cursor.ms),
                           NUMBER(schedule_count(a->schedule, now, u->cursor)), TEXT(state_names[STATE_SKIPPED]),
                           TEXT(cause_names[CAUSE_REVISED]), NUMBER(clock_wall().ns), TEXT(who)), NULL, NULL);
        /* What waits and is planned later than now is open again as well; it must not be found decided. */
        if (r == 0)
                r = run(a->v, "DELETE FROM record WHERE state = 'queued' AND task = ?1 AND scope = ?2 AND shard = ?3 "
                              "AND planned > ?4",
                        VALUES(TEXT(a->task), TEXT(u->scope), NUMBER(u->shard), NUMBER(now.ms)), NULL, NULL);
        if (r < 0)
                return r;
        return run(a->v, "UPDATE unit SET cursor = ?4 WHERE task = ?1 AND scope = ?2 AND shard = ?3",
                   VALUES(TEXT(a->task), TEXT(u->scope), NUMBER(u->shard), NUMBER(now.ms)), NULL, NULL);
}

static int set_back(struct ahead *a)
{
        int r = run(a->v, "BEGIN IMMEDIATE", NO_VALUES, NULL, NULL);

        for (unsigned i = 0; r == 0 && i < a->ret->units; i++)
                r = set_back_one(a, &a->units[i]);
        return r == 0 ? run(a->v, "COMMIT", NO_VALUES, NULL, NULL) : r;
}

/* Under ledger.lock. */
static int cursor_settle(struct ahead *a, bool set)
{
        struct sqlite_store *s = &a->v->store;
        struct task_row row;
        struct schedule schedule;

        int r = task_read(s, a->task, &row);
        if (r < 0)
                return failed(a->v, r, "%s: %s", s->path, sqlite3_errmsg(s->db));
        if (!row.exists)
                return failed(a->v, -ENOENT, "%s knows no task %s", s->path, a->task);
        /* Without its instants the range has the right ends, and no count. */
        (void) task_schedule(&row, &schedule);
        a->schedule = &schedule;
        r = find_ahead(a);
        if (r < 0 || !set || a->ret->units == 0)
                return r;
        r = set_back(a);
        return r < 0 ? r : store_checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
}

static int cursor_local(struct recovery *v, const char *task, bool set, struct recover_ahead *ret)
{
        struct ahead a = { .v = v, .task = task, .ret = ret };

        int r = open_ledger(v, false);
        if (r < 0)
                return r;
        if (!identity_fits(v))
                return failed(v, -EUCLEAN, "%s is not the ledger this node left; first: onced recover --ledger -c FILE",
                              v->store.path);
        r = store_lock(&v->store);
        if (r < 0)
                return failed(v, r, "%s: %s", v->store.lock_path, strerror(-r));
        r = cursor_settle(&a, set);
        store_unlock(&v->store);
        free(a.units);
        return r;
}

int recover_cursor_local(const struct config *c, const char *task, bool set, struct recover_ahead *ret, char *why)
{
        struct recovery v;

        *ret = (struct recover_ahead) { .now = stamp_instant(clock_wall()) };
        int r = recovery_begin(&v, c, why);
        if (r == 0)
                r = cursor_local(&v, task, set, ret);
        recovery_end(&v);
        return r;
}
