/* Opening and closing the local ledger: which file, with which settings, and whether it may be used at all. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/config/config.h"
#include "common/node_id.h"
#include "ledger/sqlite_store.h"

/* A stranger's lock (sqlite3 by hand) and recovery after a crash are waited for this long. */
#define BUSY_MS 500
/* So many pages in the log are copied into the file. The log's file keeps their room, so that commits write over
 * blocks that are there: a file that grows costs each fdatasync a commit of the file system's own journal. */
#define WAL_CHECKPOINT_PAGES 1000
#define WAL_KEPT_BYTES       "4194304"
/* A leader that commits nothing learns of the others' log by the size of its file. */
#define WAL_CHECKPOINT_BYTES (8L << 20)
/* Checked whole at the first open after an unclean end, as far as that takes no more than a moment. */
#define CHECK_BYTES (64L << 20)

static void tell(struct sqlite_store *s, enum ledger_health h)
{
        if (s->said && s->health == h && h != LEDGER_HALTED)
                return;
        s->said = true;
        s->health = h;
        s->report(s->report_arg, h, s->why);
}

static void halt(struct sqlite_store *s, const char *cure, const char *format, va_list args)
{
        size_t room = sizeof(s->why) - strlen(cure);

        if (s->halted)
                return;
        (void) vsnprintf(s->why, room, format, args);
        (void) strcat(s->why, cure);
        s->halted = true;
        tell(s, LEDGER_HALTED);
}

void store_halt(struct sqlite_store *s, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        halt(s, STORE_CURE, format, args);
        va_end(args);
}

void store_refuse(struct sqlite_store *s, const char *format, ...)
{
        va_list args;

        s->refused = !s->halted;
        va_start(args, format);
        halt(s, "", format, args);
        va_end(args);
}

void store_down(struct sqlite_store *s, const char *format, ...)
{
        va_list args;

        if (s->halted)
                return;
        va_start(args, format);
        (void) vsnprintf(s->why, sizeof(s->why), format, args);
        va_end(args);
        tell(s, LEDGER_DOWN);
}

void store_up(struct sqlite_store *s, const char *note)
{
        (void) snprintf(s->why, sizeof(s->why), "%s", note);
        tell(s, LEDGER_UP);
}

/* File systems on which flock or mmap of several machines cannot be trusted. FUSE_SUPER_MAGIC and the rest are
 * not in the kernel's header of Debian 12. */
static bool network_fs(long type)
{
        static const unsigned magic[] = { NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42 /* cifs */,
                                          0xfe534d42 /* smb2 */, V9FS_MAGIC, 0x65735546 /* fuse */,
                                          0x00c36400 /* ceph */,
                                          0x0bd00bd0 /* lustre */, CODA_SUPER_MAGIC, AFS_SUPER_MAGIC };

        for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
                if ((unsigned) type == magic[i])
                        return true;
        return false;
}

static int folder_fits(struct sqlite_store *s)
{
        struct statfs fs;

        if (statfs(s->config->state_dir, &fs) < 0)
                return -errno;
        if (network_fs(fs.f_type) && !s->config->allow_network_fs) {
                store_refuse(s, "%s lies on a network file system, whose locks are not to be trusted; cure: a local "
                                "folder, or allow_network_fs", s->config->state_dir);
                return -EUCLEAN;
        }
        return 0;
}

static int make_file(struct sqlite_store *s)
{
        struct node_id n;

        int r = node_id_read(s->config->state_dir, &n);
        if (r == 0 && n.incarnation[0] && !s->recovering) {
                store_halt(s, "%s is missing or empty, but this node had a ledger", s->path);
                return -EUCLEAN;
        }
        if (r < 0 && r != -ENOENT && !s->recovering)
                return r;
        int fd = open(s->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        (void) close(fd);
        return 0;
}

/* Looks before SQLite does, by name: closing a descriptor of the file would drop SQLite's own locks. */
static int file_fits(struct sqlite_store *s, struct stat *ret)
{
        if (lstat(s->path, ret) < 0 && (errno != ENOENT || s->read_only))
                return -errno;
        if (!s->read_only && (access(s->path, F_OK) < 0 || (S_ISREG(ret->st_mode) && ret->st_size == 0))) {
                int r = make_file(s);
                if (r < 0)
                        return r;
                if (lstat(s->path, ret) < 0)
                        return -errno;
        }
        if (!S_ISREG(ret->st_mode)) {
                store_halt(s, "%s is no file", s->path);
                return -EUCLEAN;
        }
        if ((!s->read_only || s->recovering) && ret->st_uid != geteuid()) {
                store_refuse(s, "%s belongs to uid %d, not to uid %d which runs this", s->path, (int) ret->st_uid,
                             (int) geteuid());
                return -EUCLEAN;
        }
        return 0;
}

bool store_file_is_ours(struct sqlite_store *s)
{
        struct stat st;

        return lstat(s->path, &st) == 0 && st.st_dev == s->db_dev && st.st_ino == s->db_ino;
}

/* Every commit of another process empties a connection's page cache. From the heap its pages would be given back to
 * the kernel and faulted in anew each time; a pool keeps them. Must come before the first use of SQLite. */
#define POOL_PAGE  (4096 + 512)
#define POOL_PAGES 128

static void memory_settle(void)
{
        static char pool[POOL_PAGES][POOL_PAGE] __attribute__((aligned(8)));

        (void) sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        (void) sqlite3_config(SQLITE_CONFIG_PAGECACHE, pool, POOL_PAGE, POOL_PAGES);
}

static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
        struct sqlite_store *s = arg;

        (void) db;
        (void) name;
        s->wal_pages = pages;
        return SQLITE_OK;
}

static int settings(struct sqlite_store *s)
{
        (void) sqlite3_extended_result_codes(s->db, 1);
        (void) sqlite3_busy_timeout(s->db, BUSY_MS);
        /* The last connection would checkpoint at its close, outside of ledger.lock. */
        int r = sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_wal_autocheckpoint(s->db, 0);
        if (r == SQLITE_OK)
                r = sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        if (r == SQLITE_OK && !s->read_only)
                r = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = " WAL_KEPT_BYTES, NULL,
                                 NULL, NULL);
        s->wal_pages = 0;
        (void) sqlite3_wal_hook(s->db, on_commit, s);
        return store_errno(s, r);
}

int store_sync_level(struct sqlite_store *s, bool full)
{
        if (s->full_sync == full)
                return 0;
        int r = sqlite3_exec(s->db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL,
                             NULL);
        if (r == SQLITE_OK)
                s->full_sync = full;
        return store_errno(s, r);
}

static bool last_end_was_clean(struct sqlite_store *s)
{
        sqlite3_stmt *st;

        if (statement_begin(s, SQL_META, NO_VALUES, &st) < 0)
                return false;
        bool clean = statement_row(s, st) > 0 && (sqlite3_column_int(st, 3) == 1 ||
                                                  (uint64_t) sqlite3_column_int64(st, 1) == s->life);
        statement_resetp(&st);
        return clean;
}

static int check_whole(struct sqlite_store *s)
{
        sqlite3_stmt *st;

        const char *check = s->recovering ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";

        int r = sqlite3_prepare_v2(s->db, check, -1, &st, NULL);
        if (r != SQLITE_OK)
                return store_errno(s, r);
        r = statement_row(s, st);
        const char *found = r > 0 ? (const char *) sqlite3_column_text(st, 0) : NULL;
        bool sound = found && strcmp(found, "ok") == 0;
        if (r >= 0 && !sound)
                store_halt(s, "%s is damaged: %.60s; it is kept", s->path, found ? found : "it cannot be checked");
        (void) sqlite3_finalize(st);
        return r < 0 ? r : sound ? 0 : -EUCLEAN;
}

/* An fsync that failed may have left pages marked clean that never reached the disk: all of the WAL is copied
 * into the file and synced anew before anything is built on it. */
static int write_anew(struct sqlite_store *s)
{
        if (!s->rewrite)
                return 0;
        int r = store_checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
        if (r == 0)
                s->rewrite = false;
        return r;
}

static int open_settle(struct sqlite_store *s, const struct stat *st, char *ret_note, size_t room)
{
        int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                    (s->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);

        int r = store_errno(s, sqlite3_open_v2(s->path, &s->db, flags, NULL));
        if (r < 0)
                return r;
        s->db_dev = st->st_dev;
        s->db_ino = st->st_ino;
        s->full_sync = true;   /* SQLite's default */
        r = settings(s);
        if (r == 0)
                r = schema_settle(s);
        if (r < 0 || (s->read_only && !s->recovering))
                return r;
        r = write_anew(s);
        if (r == 0 && (s->recovering || (st->st_size <= CHECK_BYTES && !last_end_was_clean(s))))
                r = check_whole(s);
        return r < 0 || s->recovering ? r : identity_settle(s, ret_note, room);
}

static int open_locked(struct sqlite_store *s, char *ret_note, size_t room)
{
        struct stat st = { 0 };

        int r = file_fits(s, &st);
        if (r < 0)
                return r;
        return open_settle(s, &st, ret_note, room);
}

int store_open(struct sqlite_store *s)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        char note[240] = "";

        (void) pthread_once(&once, memory_settle);
        int r = folder_fits(s);
        if (r == 0 && !s->read_only)
                r = store_lock(s);
        if (r == 0) {
                r = open_locked(s, note, sizeof(note));
                store_unlock(s);
        }
        if (r == 0) {
                store_up(s, note);
                return 0;
        }
        if (r == -EUCLEAN)
                store_halt(s, "%s is damaged: %s; it is kept", s->path, s->db ? sqlite3_errmsg(s->db) : "");
        else if (r == -EPROTONOSUPPORT)
                store_down(s, "%s was written by an older onced; it can be read when this one has been started",
                           s->path);
        else if (r == -ENOENT && s->read_only)
                store_down(s, "%s: there is no ledger yet", s->path);
        else
                store_down(s, "opening %s: %s", s->path, strerror(-r));
        store_close(s);
        return r;
}

void store_close(struct sqlite_store *s)
{
        statements_done(s);
        (void) sqlite3_close(s->db);
        s->db = NULL;
}

int store_checkpoint(struct sqlite_store *s, int mode)
{
        return store_errno(s, sqlite3_wal_checkpoint_v2(s->db, NULL, mode, NULL, NULL));
}

static bool checkpoint_is_due(const struct sqlite_store *s)
{
        struct stat st;

        return s->wal_pages >= WAL_CHECKPOINT_PAGES ||
               (stat(s->wal_path, &st) == 0 && st.st_size >= WAL_CHECKPOINT_BYTES);
}

void store_checkpoint_if_due(struct sqlite_store *s)
{
        if (!s->led || !s->db || s->halted || !checkpoint_is_due(s) || store_lock(s) < 0)
                return;
        (void) store_checkpoint(s, SQLITE_CHECKPOINT_PASSIVE);
        s->wal_pages = 0;
        store_unlock(s);
}

void store_end(struct sqlite_store *s)
{
        if (s->db && !s->halted && !s->read_only && store_lock(s) == 0) {
                if (store_file_is_ours(s) && identity_mark_clean(s) == 0 && s->led)
                        (void) store_checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
                store_unlock(s);
        }
        store_close(s);
        if (s->lock_fd >= 0)
                (void) close(s->lock_fd);
        s->lock_fd = -1;
}
