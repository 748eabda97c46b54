/* The trigger log of one process: append-only JSON lines, numbered and chained by hash, from which
 * `onced prove` shows afterwards what happened.
 * One file a process, <node>.<slot>.<pid>.<pstart>.<k>.jsonl in <log.dir>/triggers; k + 1 at rotate_size,
 * a new day, or triglog_rotate. Lines gather in memory and go out in one write(2) at triglog_flush, at
 * 60 KiB, or before a run line's function returns. `slot` is "0".. for workers, "m" master, "c" console.
 *
 * Field order of every line: e, n, t (wall), b (boottime ns), then the line's own fields, h last:
 * h = first 16 hex of SHA-256 over the previous h (16 zeros at first; carried on over rotation) and the
 * bytes of the line up to, not including, `,"h":`. Node, slot, pid, pstart and boot stand in the file's first
 * line (`start`, or `rotate` in a continued file), since they hold for all lines of the file. */
#ifndef ONCED_TRIGLOG_H
#define ONCED_TRIGLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/record/names.h"

struct triglog;
struct task;

struct triglog_options {
        const char *dir;        /* <log.dir>/triggers; made if missing, 0700 */
        const char *node, *slot, *pstart;
        int pid;
        const char *boot;       /* boot id */
        int64_t rotate_size;    /* bytes */
        bool sync;              /* log_sync: power; fdatasync before a run line's function returns */
};

/* All fail with -errno and leave nothing open. Strings are copied. */
int triglog_open(const struct triglog_options *o, struct triglog **ret);

/* Writes what is pending and closes without a `stop` line. NULL is fine; returns NULL. */
struct triglog *triglog_close(struct triglog *t);

/* Pending lines out. 0 or -errno; after a failure the lines stay pending (up to 1 MiB, then they are
 * counted and a `gap` line follows once writing works again). */
int triglog_flush(struct triglog *t);

/* Next file, as at USR1: `rotate` line with the next name, then the new file, whose `rotate` line names the
 * one before and its last h, so that it can be verified when that one is deleted. Plans in force and children
 * alive are said again in every file, for the same reason. */
int triglog_rotate(struct triglog *t);

/* Looks whether the current file is still there, by its name: a file that was deleted or renamed takes lines that
 * nobody finds. 0: it is; 1: it was not, the next file was begun (the folder made again); -errno as a failed write. */
int triglog_follow(struct triglog *t);

/* -errno of the newest failed write, 0 when writing works. No claim is made while it is not 0. */
int triglog_state(const struct triglog *t);

/* Base name of the current file, for roster lines. */
const char *triglog_name(const struct triglog *t);

/* How many files were begun: more than before when the log has moved on to a next one. */
unsigned triglog_files(const struct triglog *t);

/* `tzdata`: the release of the zone data that this process computes schedules with; "" when it computes none. */
void triglog_start(struct triglog *t, const char *role, uint32_t generation, const char *version,
                   const char *config_hash, const char *tzdata);

/* How far a worker came: every instant before `local` of tasks in the local ledger, and before `group` of those in
 * the group's, is known to be decided. `led`: dedicated tasks were its own. */
struct cease_line {
        struct instant local, group;
        bool led;
};

/* Written when a worker begins to take nothing new: a process that is killed later is judged by it, and not by its
 * newest line, which may be about a run that went on. */
void triglog_cease(struct triglog *t, const struct cease_line *c);

/* The last line of a process that ends in good order; `c` again, as it is by then. NULL: it ran no task. */
void triglog_stop(struct triglog *t, const char *reason, const struct cease_line *c);

/* Roster, by the master: who existed, and how each ended. `was_ready`: the child had said that it was ready; one
 * that never did has asked for nothing, so nobody misses its log. */
void triglog_born(struct triglog *t, const char *role, const char *slot, int pid, const char *pstart);
void triglog_gone(struct triglog *t, const char *slot, int pid, const char *pstart, bool was_ready, int exit_code,
                  int signal);

struct plan_line {
        const char *task;
        enum path path;
        const char *schedule;        /* as schedule_text has it */
        const char *misfire, *overlap, *scope;
        int64_t grace_ms;            /* skip; -1: default rule */
        unsigned limit;              /* catch_up; 0 under skip, and lookback_ms too */
        int64_t lookback_ms;
        const char *scope_key;
        unsigned shards, max_running;
        bool enabled;
        uint64_t rev;
        struct instant valid_from;   /* instants after it follow this plan */
        int64_t timeout_ms;
};
void triglog_plan(struct triglog *t, const struct plan_line *p);

/* What attempt, run, finish, skip and lease lines say of their occurrence. */
struct line_subject {
        const char *trig, *occ;
        const char *task;
        const char *scope_key;
        unsigned shard;
        struct instant planned;
        bool manual;
};

void triglog_attempt(struct triglog *t, const struct line_subject *s, enum path path, enum outcome out,
                     const char *fence, const char *token, int64_t late_us, enum cause cause,
                     struct stamp store_time /* ns 0: none */);

/* The run line: written out (and synced, if asked for) when this returns 0. On failure the caller must not
 * start. The line is then taken back; what part of it reached the file stays there as a fragment, and a
 * `torn` line behind it says that it was no start. If only the sync failed the line stays whole, and the
 * caller's finish line (failed, cause log) says that nothing was started. */
int triglog_run(struct triglog *t, const struct line_subject *s, enum path path, const char *fence,
                const char *runner);

void triglog_child(struct triglog *t, const struct line_subject *s, int keeper_pid, int pid);

/* `of`: the trigger id of the dead attempt when somebody else ends its record, else NULL. */
void triglog_finish(struct triglog *t, const struct line_subject *s, enum state state, enum cause cause,
                    enum result result, int64_t run_us, const char *of, const char *error);

/* e is "skip" or "miss" by `state`; count instants from first to last. Also for STATE_UNKNOWN (barrier). */
void triglog_range(struct triglog *t, const char *task, const char *scope_key, unsigned shard,
                   struct instant first, struct instant last, uint64_t count, enum state state,
                   enum cause cause);

/* The same line in place of the process `of`, which may have died before its own left. */
void triglog_told(struct triglog *t, const char *of, const char *task, const char *scope_key, unsigned shard,
                  struct instant first, struct instant last, uint64_t count, enum state state, enum cause cause);

void triglog_lease(struct triglog *t, const struct line_subject *s,
                   const char *what /* late, lost, reasserted */);
/* The wall clock was set, and went by `jump_ns` more than time did: forward, or back when below 0. */
void triglog_step(struct triglog *t, int64_t jump_ns);

#endif
