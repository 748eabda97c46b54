/* What the harness tells the shim, in a file that both map: seed.py writes it in this layout. */
#ifndef ONCED_TEST_CHAOS_SHIM_H
#define ONCED_TEST_CHAOS_SHIM_H

#include <stdint.h>

#define SHIM_SKEWS 16

struct shim_control {
        int32_t sync_delay_ms;   /* each fsync and fdatasync takes this much longer */
        int32_t sync_error;      /* and then fails with this errno; 0: it does not */
        struct {
                int32_t pid;     /* 0: free */
                int32_t pad;
                int64_t ns;      /* the wall clock of that process is this much ahead */
        } skews[SHIM_SKEWS];
};

#endif
