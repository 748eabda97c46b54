/* The names of things: unit, occurrence, trigger, owner. Formats are part of the contract with sinks and
 * log readers; each has a test vector in t/vectors/ids.jsonl. */
#ifndef ONCED_IDS_H
#define ONCED_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/process.h"

#define TASK_NAME_MAX 128    /* bytes without NUL; [A-Za-z0-9][A-Za-z0-9_.:-]{0,127} */
#define NODE_ID_MAX   80     /* "<hostname cut to 64>-<8 hex>" */
#define SHARDS_MAX    1000

#define OCC_TEXT   65        /* 64 hex digits and NUL */
#define TOKEN_TEXT 33        /* 32 hex digits and NUL */
#define FENCE_TEXT 24        /* decimal and NUL */
#define TRIG_TEXT  192
#define OWNER_TEXT 160
#define START_TOKEN_TEXT 33  /* 32 hex digits and NUL: one start of one instance */

/* Lower-case hex SHA-256 over "onced:1:" and the netstrings (`len:bytes,`) of scope key, task, shard
 * and planned ms, the last two in decimal. `scope_key` is "" or the node id. */
void occurrence_id(const char *scope_key, const char *task, unsigned shard, struct instant planned,
                   char ret[OCC_TEXT]);

/* One process as an owner of claims: "<node>.<slot>.<pid>.<pstart>"; unique for ever. */
void owner_text(const char *node, const char *slot, const struct process_id *p, char ret[OWNER_TEXT]);

/* "<owner>.<seq>": one attempt of one process. */
void trigger_id(const char *owner, uint64_t seq, char ret[TRIG_TEXT]);

/* The token of one (process, occurrence): the same through all its retries, so it is computed, not drawn:
 * first 32 hex of SHA-256 over owner, a NUL and the occurrence id. */
void claim_token(const char *owner, const char *occ, char ret[TOKEN_TEXT]);

/* Text form of a unit, used as key in Redis and as input of lock names: netstrings of scope key and task,
 * then the shard in decimal. */
#define UNIT_TEXT 256
void unit_text(const char *scope_key, const char *task, unsigned shard, char ret[UNIT_TEXT]);

/* Lower-case hex SHA-256 of `len` bytes. */
#define DIGEST_TEXT 65
void digest_hex(const void *bytes, size_t len, char ret[DIGEST_TEXT]);

#endif
