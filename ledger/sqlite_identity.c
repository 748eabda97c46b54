/* Whether this ledger is the one this node knows. node_id beside it holds its incarnation and the newest start
 * that reached it, so that a missing, foreign or older ledger is seen; the witness in run_dir holds the same, so that
 * an older node_id is. What an older copy may have forgotten is never run again: the barrier is set to now, and
 * instants up to it are recorded as unknown(barrier). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/config/config.h"
#include "common/node_id.h"
#include "ledger/sqlite_store.h"

struct meta {
        char incarnation[INCARNATION_TEXT], boot[BOOT_ID_TEXT], durability[16];
        uint64_t life;
        bool clean;
};

static int meta_read(struct sqlite_store *s, struct meta *ret)
{
        sqlite3_stmt *st;

        int r = statement_begin(s, SQL_META, NO_VALUES, &st);
        if (r < 0)
                return r;
        r = statement_row(s, st);
        if (r > 0) {
                column_text(st, 0, ret->incarnation, sizeof(ret->incarnation));
                ret->life = (uint64_t) sqlite3_column_int64(st, 1);
                column_text(st, 2, ret->boot, sizeof(ret->boot));
                ret->clean = sqlite3_column_int(st, 3) == 1;
                column_text(st, 4, ret->durability, sizeof(ret->durability));
        }
        statement_resetp(&st);
        return r > 0 ? 0 : r < 0 ? r : -EUCLEAN;
}

static int node_read(struct sqlite_store *s, struct node_id *ret)
{
        int r = node_id_read(s->config->state_dir, ret);

        if (r == -ENOENT) {
                *ret = (struct node_id) { .clean = true };
                (void) snprintf(ret->node, sizeof(ret->node), "%s", s->node);
                return 0;
        }
        if (r == -EINVAL) {
                store_halt(s, "%s/node_id is not understood; it is kept", s->config->state_dir);
                return -EUCLEAN;
        }
        return r;
}

/* By the time it was made: the numbers of files are used again, and are others after a mount. "" where the file system
 * does not keep it. */
static void ledger_file(const struct sqlite_store *s, char *ret)
{
        struct statx x;

        *ret = '\0';
        if (statx(AT_FDCWD, s->path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) == 0 && (x.stx_mask & STATX_BTIME))
                (void) snprintf(ret, LEDGER_FILE_TEXT, "%lld.%09u", (long long) x.stx_btime.tv_sec,
                                x.stx_btime.tv_nsec);
}

/* Without a witness there is less to see by, and all goes on: run_dir may be new, or be swept while we run. */
static void witness_write(const struct sqlite_store *s, const struct node_id *n)
{
        (void) node_witness_write(s->config->run_dir, n);
}

/* What `n` and the witness tell of state_dir as a whole. */
static bool is_older(const struct sqlite_store *s, const struct node_id *n, char *ret_why, size_t room)
{
        struct node_id witness;
        char now[LEDGER_FILE_TEXT];

        ledger_file(s, now);
        int r = node_witness_read(s->config->run_dir, &witness);
        return node_id_is_older(n, r < 0 ? NULL : &witness, now, ret_why, room);
}

/* True when instants up to now may have been started without this file knowing it, and why. */
static bool has_forgotten(const struct sqlite_store *s, const struct meta *m, const struct node_id *n, char *ret_why,
                          size_t room)
{
        bool relaxed = s->config->durability == DURABILITY_PROCESS ||
                       strcmp(m->durability, durability_names[DURABILITY_PROCESS]) == 0;
        const char *why = NULL;

        if (m->life < n->life || (n->clean && !m->clean))
                why = "the ledger is an older copy";
        else if (m->life > 0 && relaxed && !m->clean && strcmp(m->boot, s->boot) != 0)
                why = "the machine went down without a clean stop, under durability process";
        if (!why)
                return is_older(s, n, ret_why, room);
        (void) snprintf(ret_why, room, "%s", why);
        return true;
}

static int life_write(struct sqlite_store *s, bool barrier_now)
{
        struct value barrier = barrier_now ? NUMBER(stamp_instant(clock_wall()).ms) : NOTHING;

        int r = store_sync_level(s, true);
        if (r < 0)
                return r;
        r = statement_run(s, SQL_BEGIN, NO_VALUES);
        if (r < 0)
                return r;
        r = statement_run(s, SQL_META_LIFE, VALUES(NUMBER(s->life), TEXT(s->boot),
                                                   TEXT(durability_names[s->config->durability]), barrier));
        if (r == 0)
                r = statement_run(s, SQL_COMMIT, NO_VALUES);
        if (!sqlite3_get_autocommit(s->db))
                (void) statement_run(s, SQL_ROLLBACK, NO_VALUES);
        return r;
}

static int node_write(struct sqlite_store *s, const struct meta *m, struct node_id *n)
{
        (void) snprintf(n->incarnation, sizeof(n->incarnation), "%s", m->incarnation);
        (void) snprintf(n->boot, sizeof(n->boot), "%s", s->boot);
        ledger_file(s, n->ledger);
        n->life = s->life;
        n->clean = false;
        int r = node_id_write(s->config->state_dir, n);
        if (r == 0)
                witness_write(s, n);
        return r;
}

/* One process of a start does this for all: the ledger first, so that node_id never claims more than it holds. */
int identity_settle(struct sqlite_store *s, char *ret_note, size_t room)
{
        struct meta m;
        struct node_id n;

        int r = meta_read(s, &m);
        if (r < 0)
                return r;
        r = node_read(s, &n);
        if (r < 0)
                return r;
        if (n.incarnation[0] && strcmp(n.incarnation, m.incarnation) != 0) {
                store_halt(s, "%s is another ledger than the one this node knows", s->path);
                return -EUCLEAN;
        }
        if (m.life > s->life) {
                store_halt(s, "%s has seen start %" PRIu64 ", this is start %" PRIu64 ": node_id is an older copy",
                           s->path, m.life, s->life);
                return -EUCLEAN;
        }
        if (m.life == s->life)
                return n.life == s->life && n.incarnation[0] ? 0 : node_write(s, &m, &n);

        char why[160];
        bool forgot = has_forgotten(s, &m, &n, why, sizeof(why));
        r = life_write(s, forgot);
        if (r < 0)
                return r;
        if (forgot)
                (void) snprintf(ret_note, room, "instants up to now are unknown and do not run: %s", why);
        return node_write(s, &m, &n);
}

static int node_mark(struct sqlite_store *s, bool clean)
{
        struct node_id n;

        int r = node_id_read(s->config->state_dir, &n);
        if (r < 0)
                return r;
        if (n.clean == clean || n.life != s->life)
                return 0;
        n.clean = clean;
        /* The witness never says clean when node_id does not: a crash in between looks like no copy. */
        if (!clean)
                witness_write(s, &n);
        r = node_id_write(s->config->state_dir, &n);
        if (r == 0 && clean)
                witness_write(s, &n);
        return r;
}

/* The mark commits with a sync and so takes all earlier commits of all processes with it to the disk. */
int identity_mark_clean(struct sqlite_store *s)
{
        int r = store_sync_level(s, true);
        if (r < 0)
                return r;
        r = statement_run(s, SQL_META_CLEAN, VALUES(NUMBER(1)));
        return r < 0 ? r : node_mark(s, true);
}

/* Before the commit that clears the ledger's mark: node_id must not be clean when the ledger is not, which is
 * how an older copy of this very life is known. */
int identity_unmark(struct sqlite_store *s)
{
        int r = node_mark(s, false);
        return r < 0 ? r : statement_run(s, SQL_META_CLEAN, VALUES(NUMBER(0)));
}
