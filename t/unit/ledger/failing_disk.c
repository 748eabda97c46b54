/* Each file is the real one behind a table of methods that look at the switches first. */
#include "t/unit/ledger/failing_disk.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "t/unit/cases.h"

_Atomic int disk_full, disk_write_failures, disk_sync_failures, disk_sync_ms, disk_syncs;

static sqlite3_vfs *real, shim;

/* SQLite has one table of methods a way of locking; each gets its double, and all share one write and sync. */
static struct { sqlite3_io_methods ours; const sqlite3_io_methods *theirs; } tables[4];
static int (*real_write)(sqlite3_file *, const void *, int, sqlite3_int64);
static int (*real_sync)(sqlite3_file *, int);
static _Atomic(sqlite3_file *) wal_file;

static int on_write(sqlite3_file *f, const void *data, int amount, sqlite3_int64 offset)
{
        if (disk_full)
                return SQLITE_FULL;
        if (f == wal_file && disk_write_failures > 0) {
                disk_write_failures--;
                return SQLITE_IOERR_WRITE;
        }
        return real_write(f, data, amount, offset);
}

static int on_sync(sqlite3_file *f, int flags)
{
        if (f == wal_file)
                disk_syncs++;
        (void) usleep((useconds_t) disk_sync_ms * 1000);
        if (disk_sync_failures > 0) {
                disk_sync_failures--;
                return SQLITE_IOERR_FSYNC;
        }
        return real_sync(f, flags);
}

static void put_double(sqlite3_file *f)
{
        size_t i = 0;

        while (tables[i].theirs && tables[i].theirs != f->pMethods)
                i++;
        assert_true(i < sizeof(tables) / sizeof(tables[0]) - 1);
        if (!tables[i].theirs) {
                tables[i].theirs = f->pMethods;
                tables[i].ours = *f->pMethods;
                tables[i].ours.xWrite = on_write;
                tables[i].ours.xSync = on_sync;
                real_write = f->pMethods->xWrite;
                real_sync = f->pMethods->xSync;
        }
        f->pMethods = &tables[i].ours;
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
        (void) vfs;
        int r = real->xOpen(real, name, f, flags, ret_flags);
        if (r == SQLITE_OK && f->pMethods)
                put_double(f);
        if (r == SQLITE_OK && (flags & SQLITE_OPEN_WAL))
                wal_file = f;
        return r;
}

void failing_disk_install(void)
{
        real = sqlite3_vfs_find(NULL);
        assert_non_null(real);
        shim = *real;
        shim.zName = "failing";
        shim.xOpen = on_open;
        assert_int_equal(sqlite3_vfs_register(&shim, 1), SQLITE_OK);
}
