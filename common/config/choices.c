/* The words of the configuration's choices, each list in the order of its enum. */
#include "common/config/config.h"

#include <stddef.h>

const char *const overlap_names[] = { "drop", "queue", "concurrent", NULL };
const char *const scope_names[] = { "auto", "main", "all", "manual", NULL };
const char *const first_names[] = { "window", "next", NULL };
const char *const dst_fold_names[] = { "first", "both", NULL };
const char *const lease_lost_names[] = { "kill", "continue", NULL };
const char *const runner_names[] = { "noop", "http", "exec", "call", "redis", NULL };
const char *const durability_names[] = { "full", "process", NULL };
const char *const log_sync_names[] = { "none", "power", NULL };
const char *const log_target_names[] = { "stderr", "file", NULL };
const char *const alert_events[] = { "missed", "interrupted", "unknown", "worker-crash", "degraded", "late",
                                     "queue-growing", "config-split", "ledger-down", NULL };
