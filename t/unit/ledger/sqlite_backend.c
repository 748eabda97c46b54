/* State folders under TMPDIR, removed with their few files. */
#include "t/unit/ledger/sqlite_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/node_id.h"

static int fresh(struct config *config, void **ret_data)
{
        const char *tmp = getenv("TMPDIR");
        struct node_id n = { .node = "here-0a1b2c3d" };
        char folder[256];

        (void) snprintf(folder, sizeof(folder), "%s/onced-ledger-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(folder))
                return -errno;
        config->state_dir = strdup(folder);
        config->durability = DURABILITY_FULL;
        *ret_data = NULL;
        return config->state_dir ? node_id_write(folder, &n) : -ENOMEM;
}

static void drop(struct config *config, void *data)
{
        static const char *const files[] = { "ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.lock",
                                             "node_id", "copy.db", "moved.db" };

        (void) data;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_(freep) char *path = path_join(config->state_dir, files[i]);
                (void) unlink(path);
        }
        (void) rmdir(config->state_dir);
        free(config->state_dir);
}

const struct conformance_backend sqlite_backend = { .name = "sqlite", .kind = &ledger_sqlite, .fresh = fresh,
                                                    .drop = drop };
