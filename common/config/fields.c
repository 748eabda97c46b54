/* The keys of the configuration: one row each, in the order in which they are dumped and documented. */
#include "common/config/field.h"

#include <string.h>

#include "common/config/config.h"
#include "common/config/form.h"
#include "common/config/timing.h"
#include "common/schedule/zone.h"

#define SECOND MS_PER_S
#define MINUTE (60 * MS_PER_S)
#define HOUR   (3600 * MS_PER_S)
#define YEAR   (366 * MS_PER_DAY)
#define KIB    1024LL
#define MIB    (1024 * KIB)
#define TIB    (MIB * MIB)
#define INSTANT_FIRST (-62167219200000LL)   /* 0000-01-01T00:00:00Z */
#define INSTANT_LAST  253402300799999LL     /* 9999-12-31T23:59:59.999Z */

/* The key itself, its type, where its value goes. */
#define ROW(record, name, kind, member) .key = name, .type = kind, .offset = offsetof(record, member)
#define PART(name) .key = name, .type = FIELD_PART
#define RANGE(low, high) .min = (low), .max = (high)
#define END { .key = NULL }

/* clang-format off */
static const struct field misfire_fields[] = {
        { ROW(struct misfire, "policy", FIELD_CHOICE, policy), .choices = misfire_names, .dflt = "skip",
          .help = "skip: only the newest missed instant, within grace; catch_up: the newest few, in order" },
        { ROW(struct misfire, "grace", FIELD_SPAN, grace_ms), RANGE(0, YEAR), .special = "auto",
          .special_value = -1, .dflt = "auto",
          .help = "skip: how late an instant may still start; auto: the lesser of 59 s and the interval" },
        { ROW(struct misfire, "limit", FIELD_COUNT, limit), RANGE(1, 1000), .dflt = "1",
          .help = "catch_up: how many missed instants are run, the newest ones" },
        { ROW(struct misfire, "lookback", FIELD_SPAN, lookback_ms), RANGE(0, YEAR), .dflt = "1h",
          .help = "catch_up: how far back missed instants are looked for" },
        END
};

static const struct field overlap_fields[] = {
        { ROW(struct overlap, "policy", FIELD_CHOICE, policy), .choices = overlap_names,
          .help = "due while the one before still runs: drop, queue or concurrent; unset: drop, or queue "
                  "under catch_up" },
        { ROW(struct overlap, "queue_limit", FIELD_COUNT, queue_limit), RANGE(1, 100000),
          .help = "queue: how many may wait; unset: 100, or misfire.limit under catch_up" },
        { ROW(struct overlap, "max_running", FIELD_COUNT, max_running), RANGE(1, 1000), .dflt = "10",
          .help = "concurrent: how many may run at once" },
        END
};

static const struct field history_fields[] = {
        { ROW(struct history_keep, "count", FIELD_COUNT, count), RANGE(1, 100000), .dflt = "1000",
          .help = "records kept" },
        { ROW(struct history_keep, "age", FIELD_SPAN, age_ms), RANGE(SECOND, YEAR), .special = "off",
          .dflt = "off", .help = "records older than this are dropped as well" },
        END
};

static const struct field http_fields[] = {
        { ROW(struct http_target, "url", FIELD_TEXT, url), .check = form_http_url, .required = true,
          .help = "http:// or https://, or a path that is joined to http_base" },
        { ROW(struct http_target, "method", FIELD_TEXT, method), .check = form_method,
          .help = "unset: GET, or POST with a body" },
        { ROW(struct http_target, "headers", FIELD_LIST, headers), .check = form_header, .shown = form_shown,
          .pair = ": ", .max = 64, .help = "further headers, as a map or as \"Name: value\"" },
        { ROW(struct http_target, "body", FIELD_TEXT, body), .min = -1, .max = 65536,
          .help = "sent as it is" },
        { ROW(struct http_target, "query", FIELD_BOOL, query), .dflt = "true",
          .help = "add concurrency_id (the shard), concurrency_count (how many there are) and host_id (the node) "
                  "to the URL's query; the X-Onced- headers say the same" },
        { ROW(struct http_target, "follow", FIELD_COUNT, follow), RANGE(0, 20), .dflt = "0",
          .help = "how many redirects are followed" },
        { ROW(struct http_target, "connect_timeout", FIELD_SPAN, connect_timeout_ms), RANGE(10, HOUR),
          .dflt = "30s", .help = "longest time until a connection stands" },
        END
};

static const struct field exec_fields[] = {
        { ROW(struct exec_target, "argv", FIELD_LIST, argv), .max = 1000, .required = true,
          .help = "the command and its arguments; no shell reads them" },
        { ROW(struct exec_target, "cwd", FIELD_TEXT, cwd), .check = form_path,
          .help = "folder it starts in; unset: /" },
        { ROW(struct exec_target, "env", FIELD_LIST, env), .check = form_env, .shown = form_shown,
          .pair = "=",
          .max = 1000, .help = "variables it gets, as a map or as NAME=value" },
        { ROW(struct exec_target, "env_pass", FIELD_LIST, env_pass), .check = form_env_name, .one = true,
          .max = 1000, .help = "variables of the daemon's environment that are passed on" },
        { ROW(struct exec_target, "noop_exit", FIELD_LIST, noop_exit), .check = form_exit, .one = true,
          .max = 255,
          .help = "exit codes that mean: ran well, had nothing to do" },
        { ROW(struct exec_target, "kill_after", FIELD_SPAN, kill_after_ms), RANGE(0, HOUR), .dflt = "5s",
          .help = "time between SIGTERM and SIGKILL" },
        { ROW(struct exec_target, "leave_children", FIELD_BOOL, leave_children), .dflt = "false",
          .help = "do not end processes that the command leaves behind; report them" },
        { ROW(struct exec_target, "user", FIELD_TEXT, user), .check = form_account,
          .help = "account it runs under; unset: the workers' own",
          .later = "running commands as another user",
          .blocks = true },
        { ROW(struct exec_target, "umask", FIELD_MODE, umask), RANGE(0, 0777), .dflt = "0022" },
        { ROW(struct exec_target, "nice", FIELD_NUMBER, nice), RANGE(-20, 19), .dflt = "0" },
        END
};

static const struct field redis_task_fields[] = {
        { ROW(struct redis_target, "stream", FIELD_TEXT, stream), .max = 512,
          .help = "key of a stream that gets one entry a run" },
        { ROW(struct redis_target, "fields", FIELD_LIST, fields), .check = form_entry_field, .shown = form_shown,
          .pair = "=", .max = 1000,
          .help = "stream: fields of the entry behind occurrence, trigger, task, planned, fence, node, shard and "
                  "shards, as a map or as name=value" },
        { ROW(struct redis_target, "maxlen", FIELD_COUNT, maxlen), RANGE(1, 1000000000),
          .help = "stream: about how many entries it keeps; unset: all" },
        { ROW(struct redis_target, "script", FIELD_TEXT, script), .check = form_path,
          .help = "file with a Lua script of up to 64 KiB, read with the configuration" },
        { ROW(struct redis_target, "keys", FIELD_LIST, keys), .one = true, .max = 1000, .help = "script: its KEYS" },
        { ROW(struct redis_target, "args", FIELD_LIST, args), .one = true, .max = 1000, .help = "script: its ARGV" },
        END
};

const struct field task_fields[] = {
        { ROW(struct task, "name", FIELD_TEXT, name), .check = form_task_name, .required = true,
          .own = true },
        { ROW(struct task, "every", FIELD_SPAN, schedule.every_ms), RANGE(EVERY_MIN_MS, EVERY_MAX_MS),
          .schedule = true, .help = "time between planned instants, on a grid that no restart shifts" },
        { ROW(struct task, "cron", FIELD_TEXT, cron), .judge = cron_judge, .max = CRON_MAX - 1, .schedule = true,
          .help = "five fields (minute, hour, day of month, month, day of week), seconds before them if there are "
                  "six; or a macro as @daily. onced-schedule(7) has the grammar" },
        { ROW(struct task, "anchor", FIELD_INSTANT, schedule.anchor_ms), RANGE(INSTANT_FIRST, INSTANT_LAST),
          .dflt = "0", .schedule = true,
          .help = "an instant of the grid of `every`, in the past or in the future: a time, or milliseconds since 1970 "
                  "(negative: before)" },
        { ROW(struct task, "tz", FIELD_TEXT, tz), .judge = zone_judge, .max = ZONE_NAME_MAX - 1, .dflt = "UTC",
          .schedule = true, .help = "time zone on whose clock `cron` is read, as Europe/Berlin" },
        { ROW(struct task, "dst_fold", FIELD_CHOICE, dst_fold), .choices = dst_fold_names, .dflt = "first",
          .schedule = true,
          .help = "cron: a local time that comes twice, as in the hour that autumn repeats, fires the first time "
                  "or both times" },
        { ROW(struct task, "singleton", FIELD_CHOICE, singleton), .choices = path_names,
          .help = "how it is once per interval: by the timer worker, a file lock, Redis, or not at all; "
                  "unset: redis if `redis:` is configured, else flock" },
        { ROW(struct task, "scope", FIELD_CHOICE, scope), .choices = scope_names, .dflt = "auto",
          .when = true,
          .help = "auto: once in the group; all: once on every node; with a later version also main: by the "
                  "main node, and manual: only when told" },
        { ROW(struct task, "enabled", FIELD_BOOL, enabled), .dflt = "true", .when = true },
        { ROW(struct task, "misfire", FIELD_GROUP, misfire), .group = misfire_fields, .word = "policy",
          .help = "what becomes of instants that nobody could start in time" },
        { ROW(struct task, "first", FIELD_CHOICE, first), .choices = first_names, .dflt = "window",
          .help = "the very first start: instants just missed count (window), or only later ones (next)" },
        { ROW(struct task, "overlap", FIELD_GROUP, overlap), .group = overlap_fields, .word = "policy",
          .help = "what happens to an instant that is due while the one before still runs" },
        { ROW(struct task, "timeout", FIELD_SPAN, timeout_ms), RANGE(10, YEAR),
          .help = "longest run time; has no default, since only you know it" },
        { ROW(struct task, "lease", FIELD_SPAN, lease_ms), RANGE(SECOND, HOUR), .test_min = 100,
          .dflt = "30s",
          .help = "redis: how long a silent worker keeps its right to run" },
        { ROW(struct task, "on_lease_lost", FIELD_CHOICE, on_lease_lost), .choices = lease_lost_names,
          .dflt = "kill",
          .help = "redis: stop a run whose right is gone, or let it go on under its old fence" },
        { ROW(struct task, "shards", FIELD_COUNT, shards), RANGE(1, SHARDS_MAX), .dflt = "1", .when = true,
          .help = "parallel parts; each run is told its number and the count" },
        { ROW(struct task, "max_shards", FIELD_COUNT, max_shards), RANGE(1, SHARDS_MAX),
          .help = "most parts a live change may give; unset: 16, or shards if that is more" },
        { ROW(struct task, "history", FIELD_GROUP, history), .group = history_fields, .number = "count",
          .word = "age", .help = "records kept: a number, an age or both" },
        { ROW(struct task, "window", FIELD_SPAN, window_ms), RANGE(1, YEAR), .special = "auto",
          .dflt = "auto",
          .help = "the run is told to be done within this; auto: half the interval" },
        { ROW(struct task, "late", FIELD_SPAN, late_ms), RANGE(1, YEAR), .special = "off", .dflt = "off",
          .help = "alert when a start is later than this", .later = "alerts" },
        { ROW(struct task, "noop", FIELD_PRESENCE, runner), .special_value = RUNNER_NOOP, .own = true,
          .help = "do nothing, successfully" },
        { ROW(struct task, "http", FIELD_GROUP, http), .group = http_fields, .word = "url", .own = true,
          .help = "send a request, with concurrency_id, concurrency_count and host_id in its query unless "
                  "http.query is false; 2xx is success" },
        { ROW(struct task, "exec", FIELD_GROUP, exec), .group = exec_fields, .list = "argv", .own = true,
          .help = "run a command; exit code 0 is success" },
        { ROW(struct task, "call", FIELD_TEXT, call), .check = form_call, .own = true,
          .help = "call a function of a plugin", .later = "plugins", .blocks = true },
        { ROW(struct task, "redis", FIELD_GROUP, redis), .group = redis_task_fields, .own = true,
          .help = "an entry of a stream, or a script, on the server of the top-level `redis:`, in the step that checks "
                  "the fence; once for each planned instant" },
        END
};

const struct field alert_fields[] = {
        { ROW(struct alert, "on", FIELD_LIST, on), .choices = alert_events, .one = true, .required = true,
          .max = 16,
          .help = "events to be told about" },
        { ROW(struct alert, "http", FIELD_GROUP, http), .group = http_fields, .word = "url",
          .help = "tell by a request" },
        { ROW(struct alert, "exec", FIELD_GROUP, exec), .group = exec_fields, .list = "argv",
          .help = "tell by a command" },
        END
};

static const struct field log_fields[] = {
        { ROW(struct config, "dir", FIELD_TEXT, log.dir), .check = form_path, .dflt = "/var/log/onced",
          .help = "folder of onced.log and of triggers/" },
        { ROW(struct config, "level", FIELD_CHOICE, log.level), .choices = log_level_names, .dflt = "info" },
        { ROW(struct config, "format", FIELD_CHOICE, log.format), .choices = log_format_names,
          .dflt = "text" },
        { ROW(struct config, "to", FIELD_CHOICE, log.to), .choices = log_target_names, .dflt = "stderr",
          .help = "where the log for people goes; file: onced.log, reopened at SIGUSR1" },
        { ROW(struct config, "rotate_size", FIELD_SIZE, log.rotate_size), RANGE(64 * KIB, 4 * KIB * MIB),
          .dflt = "64MiB",
          .help = "a trigger log goes on in a new file at this size, and daily; sooner when max_bytes is small" },
        { ROW(struct config, "keep", FIELD_SPAN, log.keep_ms), RANGE(MINUTE, 10 * YEAR), .dflt = "7d",
          .help = "trigger logs older than this are deleted" },
        { ROW(struct config, "max_bytes", FIELD_SIZE, log.max_bytes), RANGE(MIB, TIB), .dflt = "2GiB",
          .help = "trigger logs beyond this are deleted, oldest first; looked at each minute and at each new file" },
        END
};

static const struct field redis_fields[] = {
        { ROW(struct config, "url", FIELD_TEXT, redis.url), .check = form_redis_url, .required = true,
          .unless = "sentinels",
          .help = "redis://HOST:PORT/DB or unix:///PATH; a user and password in it count as the keys below" },
        { ROW(struct config, "app", FIELD_TEXT, redis.app), .check = form_word, .dflt = "onced",
          .help = "first part of every Redis key" },
        { ROW(struct config, "group", FIELD_TEXT, redis.group), .check = form_word, .dflt = "default",
          .help = "nodes with the same app and group share their tasks" },
        { ROW(struct config, "user", FIELD_TEXT, redis.user), .max = 256 },
        { ROW(struct config, "password", FIELD_SECRET, redis.password) },
        { ROW(struct config, "wait_replicas", FIELD_COUNT, redis.wait_replicas), RANGE(0, 16), .dflt = "0",
          .help = "replicas that must have a claim before its start", .later = "waiting for replicas",
          .blocks = true },
        { ROW(struct config, "sentinels", FIELD_LIST, redis.sentinels), .check = form_address, .one = true,
          .max = 16, .help = "host:port of sentinels that name the server; more than half must be reachable" },
        { ROW(struct config, "master", FIELD_TEXT, redis.master), .check = form_word,
          .help = "what the sentinels call the server" },
        { ROW(struct config, "max_skew", FIELD_SPAN, redis.max_skew_ms), RANGE(10, HOUR), .dflt = "1s",
          .help = "largest difference between this node's clock and the server's, and between servers" },
        END
};

static const struct field api_fields[] = {
        { ROW(struct config, "socket_mode", FIELD_MODE, api.socket_mode), RANGE(0, 0777), .dflt = "0660" },
        { ROW(struct config, "listen", FIELD_TEXT, api.listen), .check = form_address,
          .help = "TCP address of the API and the page; unset: off", .later = "the API on TCP" },
        { ROW(struct config, "token", FIELD_SECRET, api.token), .help = "bearer token, needed with listen" },
        END
};

const struct field config_fields[] = {
        { ROW(struct config, "workers", FIELD_COUNT, workers), RANGE(1, 256), .special = "auto",
          .dflt = "auto",
          .help = "worker processes; auto: one for every CPU this process may use" },
        { ROW(struct config, "state_dir", FIELD_TEXT, state_dir), .check = form_path,
          .dflt = "/var/lib/onced",
          .help = "the ledger and this node's identity" },
        { ROW(struct config, "run_dir", FIELD_TEXT, run_dir), .check = form_run_dir, .dflt = "/run/onced",
          .help = "the socket and the file locks" },
        { ROW(struct config, "user", FIELD_TEXT, user), .check = form_account,
          .help = "started as root: what workers and console run as", .later = "dropping root's rights",
          .blocks = true },
        { ROW(struct config, "group", FIELD_TEXT, group), .check = form_account,
          .later = "dropping root's rights",
          .blocks = true },
        { .key = "log", .type = FIELD_GROUP, .group = log_fields },
        { ROW(struct config, "log_sync", FIELD_CHOICE, log_sync), .choices = log_sync_names, .dflt = "none",
          .help = "power: trigger logs are synced to disk, so that a power loss loses none" },
        { ROW(struct config, "durability", FIELD_CHOICE, durability), .choices = durability_names,
          .dflt = "full",
          .help = "full: a claim is on disk before its run; process: it survives a crash, not a power loss" },
        { .key = "redis", .type = FIELD_GROUP, .group = redis_fields, .word = "url",
          .help = "the ledger that several nodes share" },
        { .key = "api", .type = FIELD_GROUP, .group = api_fields },
        { ROW(struct config, "http_base", FIELD_TEXT, http_base), .check = form_http_base,
          .help = "what comes before http targets that are a path" },
        { ROW(struct config, "http_secret", FIELD_SECRET, http_secret),
          .help = "key of X-Onced-Signature; unset: unsigned" },
        { ROW(struct config, "boot_timeout", FIELD_SPAN, boot_timeout_ms), RANGE(100, HOUR), .dflt = "10s",
          .help = "longest time until a process is ready, counted anew for each task that is set up" },
        { ROW(struct config, "hang_timeout", FIELD_SPAN, hang_timeout_ms), RANGE(SECOND, HOUR), .dflt = "10s",
          .help = "a process silent for this long is replaced" },
        { ROW(struct config, "drain_timeout", FIELD_SPAN, drain_timeout_ms), RANGE(0, MS_PER_DAY),
          .dflt = "30s",
          .help = "SIGTERM: time for runs to end by themselves" },
        { ROW(struct config, "probation", FIELD_SPAN, probation_ms), RANGE(0, HOUR), .dflt = "10s",
          .help = "reload: time in which the old workers stay ready to take over", .later = "reload" },
        { ROW(struct config, "reload_interval", FIELD_SPAN, reload_interval_ms), RANGE(SECOND, HOUR),
          .dflt = "15s",
          .help = "live changes are seen after this at the latest", .later = "live changes" },
        { ROW(struct config, "drain_max", FIELD_SPAN, drain_max_ms), RANGE(0, YEAR), .dflt = "24h",
          .help = "longest life of a shard that a live change took away", .later = "live changes" },
        { ROW(struct config, "trigger_ttl", FIELD_SPAN, trigger_ttl_ms), RANGE(SECOND, YEAR), .dflt = "300s",
          .help = "a manual trigger that nobody takes expires after this", .later = "manual triggers" },
        { ROW(struct config, "main_timeout", FIELD_SPAN, main_timeout_ms), RANGE(3 * SECOND, MS_PER_DAY),
          .dflt = "90s", .help = "a main node silent for this long is replaced", .later = "the main node" },
        { ROW(struct config, "heartbeat", FIELD_SPAN, heartbeat_ms), RANGE(SECOND, HOUR), .dflt = "30s",
          .help = "how often a node tells the others that it lives", .later = "node heartbeats" },
        { ROW(struct config, "max_future", FIELD_SPAN, max_future_ms), RANGE(SECOND, YEAR), .dflt = "1h",
          .help = "a stored cursor further ahead than this is refused loudly" },
        { ROW(struct config, "give_up", FIELD_BOOL, give_up), .dflt = "false",
          .help = "exit with 79 when all workers are in a crash loop" },
        { ROW(struct config, "allow_network_fs", FIELD_BOOL, allow_network_fs), .dflt = "false",
          .help = "let state_dir be on a network file system, whose locks may lie" },
        { ROW(struct config, "max_age", FIELD_SPAN, recycle.max_age_ms), RANGE(MINUTE, YEAR),
          .special = "off",
          .dflt = "off", .help = "a worker is replaced at this age", .later = "replacing workers" },
        { ROW(struct config, "max_runs", FIELD_BIG, recycle.max_runs), RANGE(1, 1000000000000LL),
          .special = "off",
          .dflt = "off", .help = "a worker is replaced after this many runs", .later = "replacing workers" },
        { ROW(struct config, "max_rss", FIELD_SIZE, recycle.max_rss), RANGE(16 * MIB, TIB), .special = "off",
          .dflt = "off", .help = "a worker is replaced at this memory size", .later = "replacing workers" },
        { ROW(struct config, "jitter", FIELD_PERCENT, recycle.jitter_percent), RANGE(0, 100), .dflt = "10%",
          .help = "the three limits above are spread by this much, so that not all go at once",
          .later = "replacing workers" },
        { ROW(struct config, "tick_limit", FIELD_COUNT, tick_limit), RANGE(1, 1000), .dflt = "100",
          .help = "most starts of a worker in one wake-up; the rest comes at the next" },
        { ROW(struct config, "max_handles", FIELD_COUNT, max_handles), RANGE(1, 10000), .dflt = "100",
          .help = "most runs of a worker at once; beyond it other workers win" },
        { PART("alerts"), .help = "a list of events and where they are told", .later = "alerts" },
        { PART("include"),
          .help = "pattern or list of patterns of further files, relative to this one; a task there "
                                   "replaces the task of its name here" },
        { PART("defaults"), .help = "values for all tasks of this file and its includes" },
        { PART("tasks"), .help = "the list of tasks" },
        END
};
/* clang-format on */

const struct field *field_find(const struct field *rows, const char *key)
{
        for (; rows->key; rows++)
                if (strcmp(rows->key, key) == 0)
                        return rows;
        return NULL;
}
