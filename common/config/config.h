/* The configuration as one typed tree, read from YAML by one table of fields (fields.c). The table drives
 * reading, `check`, `check --dump`, defaults and documentation. All durations are in ms, sizes in bytes. */
#ifndef ONCED_CONFIG_H
#define ONCED_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/complaint.h"
#include "common/log.h"
#include "common/record/ids.h"
#include "common/record/names.h"
#include "common/schedule/misfire.h"
#include "common/schedule/schedule.h"

enum overlap_policy { OVERLAP_DROP, OVERLAP_QUEUE, OVERLAP_CONCURRENT };
enum scope { SCOPE_AUTO, SCOPE_MAIN, SCOPE_ALL, SCOPE_MANUAL };
enum dst_fold { DST_FOLD_FIRST, DST_FOLD_BOTH };
enum first_policy { FIRST_WINDOW, FIRST_NEXT };
enum lease_lost { LEASE_LOST_KILL, LEASE_LOST_CONTINUE };
enum runner_type { RUNNER_NOOP, RUNNER_HTTP, RUNNER_EXEC, RUNNER_CALL, RUNNER_REDIS };
enum durability { DURABILITY_FULL, DURABILITY_PROCESS };
enum log_sync { LOG_SYNC_NONE, LOG_SYNC_POWER };
enum log_target { LOG_TO_STDERR, LOG_TO_FILE };

extern const char *const overlap_names[], *const scope_names[], *const first_names[], *const dst_fold_names[],
        *const lease_lost_names[], *const runner_names[], *const durability_names[], *const log_sync_names[], *const log_target_names[];

struct text_list {
        char **items;          /* owned, NULL-terminated; NULL when empty */
        size_t count;
};

struct overlap {
        enum overlap_policy policy;
        unsigned queue_limit;  /* 1..100000 */
        unsigned max_running;  /* concurrent: 1..1000 */
};

struct history_keep {
        unsigned count;        /* 1..100000 */
        int64_t age_ms;        /* 0: by count alone */
};

struct http_target {
        char *url;             /* effective value, always absolute: a path is joined to http_base */
        char *method;          /* GET by default, POST with a body */
        struct text_list headers;  /* "Name: value" */
        char *body;            /* NULL: none */
        bool query;            /* concurrency_id, concurrency_count and host_id go into the query */
        unsigned follow;       /* redirects followed, 0..20 */
        int64_t connect_timeout_ms;  /* 30 s */
};

/* Where a command without a slash is looked for, whatever PATH the task has. */
#define EXEC_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct exec_target {
        struct text_list argv; /* argv[0] absolute, or found on the standard PATH */
        char *cwd;             /* NULL: / */
        struct text_list env;      /* "NAME=value" */
        struct text_list env_pass; /* names taken from the daemon's environment */
        struct text_list noop_exit;/* exit codes, decimal 1..255 */
        int64_t kill_after_ms; /* 5 s */
        bool leave_children;
        char *user;            /* NULL: the workers' own */
        unsigned umask;        /* 0022 */
        int nice;              /* -20..19 */
};

/* Written to the group's own server, behind a check of the fence. */
struct redis_target {
        char *stream;              /* NULL: a script */
        struct text_list fields;   /* stream: "name=value", behind those that onced gives */
        unsigned maxlen;           /* stream: about how many entries it keeps; 0: all */
        char *script;              /* path of a file; NULL: a stream */
        struct text_list keys, args;
        char *text;                /* of the script as it was when the configuration was read; owned */
};

struct task {
        char *name;
        struct place place;
        struct schedule schedule;
        char *cron, *tz;             /* as written; NULL unless the schedule is by cron */
        enum dst_fold dst_fold;      /* cron */
        enum path singleton;
        enum scope scope;
        bool enabled;
        struct misfire misfire;
        enum first_policy first;
        struct overlap overlap;
        int64_t timeout_ms;
        int64_t lease_ms;            /* 1 s .. 1 h */
        enum lease_lost on_lease_lost;
        unsigned shards, max_shards;
        struct history_keep history;
        int64_t window_ms;           /* 0: half the interval */
        int64_t late_ms;             /* alert above; 0: off */
        enum runner_type runner;
        struct http_target http;
        struct exec_target exec;
        struct redis_target redis;
        char *call;                  /* a runner that comes later */
        char when_hash[17];          /* schedule (by what it means, not how it is written), enabled, scope, shards */
        char def_hash[17];           /* everything else */
};

/* What is told about an event. Read and checked; telling comes with a later version. */
struct alert {
        struct place place;
        struct text_list on;         /* names of events, see alert_events */
        enum runner_type runner;     /* http or exec */
        struct http_target http;
        struct exec_target exec;
};

extern const char *const alert_events[];

struct recycle { int64_t max_age_ms; uint64_t max_runs; uint64_t max_rss; unsigned jitter_percent; };

struct config {
        char *path;                  /* as given */
        unsigned workers;            /* 1..256; `auto`: as many as CPUs this process may use */
        char *state_dir, *run_dir;   /* /var/lib/onced, /run/onced */
        char *user, *group;
        struct {
                char *dir;           /* /var/log/onced */
                enum log_level level;
                enum log_format format;
                enum log_target to;  /* stderr (default) or file: <dir>/onced.log, reopened at USR1 */
                int64_t rotate_size, keep_ms, max_bytes;
        } log;
        enum log_sync log_sync;
        enum durability durability;
        struct {
                /* NULL: no redis; without credentials, which go to user and password. With sentinels its database alone
                 * matters; it is made up of `master` when it is not given. */
                char *url;
                char *app, *group;   /* onced, default */
                char *user, *password;   /* password is a secret: never dumped */
                unsigned wait_replicas;
                struct text_list sentinels;
                char *master;        /* what the sentinels call the primary; NULL without them */
                int64_t max_skew_ms;
        } redis;
        struct {
                unsigned socket_mode;    /* 0660 */
                char *listen;            /* NULL: off */
                char *token;             /* secret */
        } api;
        char *http_base;
        char *http_secret;           /* secret */
        int64_t boot_timeout_ms, hang_timeout_ms, drain_timeout_ms, probation_ms, reload_interval_ms,
                drain_max_ms, trigger_ttl_ms, main_timeout_ms, heartbeat_ms, max_future_ms;
        bool give_up, allow_network_fs;
        struct recycle recycle;
        unsigned tick_limit, max_handles;
        struct task *tasks;          /* owned; in the order of the files */
        size_t task_count;
        const struct task **by_name; /* owned array for config_task, sorted */
        struct alert *alerts;        /* owned */
        size_t alert_count;
        struct text_list files;      /* what was read: the file itself, then its includes */
        char hash[17];               /* over the effective values: names this configuration in logs */
};

/* Reads `path` with its includes. 0, or -errno with the reasons in `complaints` (notes and warnings may be
 * there on success too). Secrets given as file: or env: are read here. task.place borrows from the config. */
int config_load(const char *path, struct config **ret, struct complaints *complaints);
struct config *config_free(struct config *c);   /* NULL is fine; returns NULL */

/* Effective values as YAML that config_load reads back to the same tree; secrets as "(secret)". */
struct buf;
void config_dump(const struct config *c, struct buf *ret);

/* Every key with type, default, range and help, one a line: the documentation from the table itself. */
void config_keys(struct buf *ret);

const struct task *config_task(const struct config *c, const char *name);   /* NULL: no such task */

/* True when it asks for what this version cannot do; one error a feature, naming the first task that uses it.
 * `run` and `check` refuse it with exit 78, since a task that silently never runs is worse. */
bool config_has_later(const struct config *c, struct complaints *complaints);

/* "250ms", "1h30m"? No: one number and one unit of ms s m h d. 0 or -EINVAL / -ERANGE (overflow). */
int span_parse(const char *text, int64_t *ret_ms);
void span_text(int64_t ms, char ret[32]);        /* the shortest form span_parse reads back */
/* "64MiB", "2GiB", "10k"... bytes, units K/M/G/T with or without iB or B, all of them powers of 1024. */
int size_parse(const char *text, int64_t *ret_bytes);
void size_text(int64_t bytes, char ret[32]);     /* the shortest form size_parse reads back */

#endif
