/* What nodes say and ask of each other through the ledger they share: who lives, who is main, whose leases ran out,
 * and effects that the store itself makes behind a check of the fence. Part of ledger.h; include that. */
#ifndef ONCED_LEDGER_GROUP_H
#define ONCED_LEDGER_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/record/ids.h"

#define HOST_TEXT         65
#define VERSION_TEXT      32
#define CONFIG_HASH_TEXT  17
#define GROUP_NODES_MAX   1000   /* more are counted, not listed */

/* A node says that it lives. `prev` is the token of its life before, "" when not known: the same node's next life
 * replaces it without a wait. Several with blanks between them, when it is not known which of them was heard last.
 * Another token than these that beat less than `offline_ms` ago: a clone. */
struct beat_in {
        const char *node, *token, *prev;
        const char *host, *boot, *version, *tzdata;
        const char *config;          /* hash of all definitions of tasks of this ledger */
        int pid;
        int64_t offline_ms;          /* three intervals; above 0, as main_ms */
        int64_t main_ms;             /* life of the lease of the main node, renewed by this beat */
        bool leaving;                /* the last beat of this life: a clean stop */
};

enum beat_verdict {
        BEAT_OK,
        BEAT_CLONE,                  /* another live instance has this node id; nothing was changed */
};

struct node_row {
        char node[NODE_ID_MAX], token[START_TOKEN_TEXT], host[HOST_TEXT], boot[BOOT_ID_TEXT];
        char version[VERSION_TEXT], tzdata[VERSION_TEXT], config[CONFIG_HASH_TEXT];
        int pid;
        struct stamp started, beat;  /* of its life, newest; by the store's clock */
        bool offline;                /* silent for longer than its own offline_ms, or it left */
        bool is_main;
};

struct beat_out {
        enum beat_verdict verdict;
        char other_token[START_TOKEN_TEXT], other_host[HOST_TEXT];   /* CLONE: who holds the name */
        int other_pid;
        struct stamp store_time;
        char main[NODE_ID_MAX];      /* "" none */
        char main_fence[FENCE_TEXT]; /* greater with each change of the main node */
        bool is_main, pinned;        /* this node; the operator's choice, never replaced */
        struct mono main_until;      /* is_main: by this process's clock, until when it can be relied on */
        struct node_row *nodes;      /* all known; owned by the call */
        size_t count;
        uint64_t unlisted;           /* beyond GROUP_NODES_MAX */
};

/* For people; nothing is changed. */
struct nodes_out {
        struct stamp store_time;
        char main[NODE_ID_MAX], main_fence[FENCE_TEXT];
        bool pinned;
        struct node_row *nodes;      /* owned by the call */
        size_t count;
        uint64_t unlisted;
};

/* The operator moves or pins the main node. -ENOENT: no such node is known. */
struct set_main_in {
        const char *node;            /* "": whoever comes first */
        bool pinned;
        const char *by;              /* who asked, for the record */
};
struct set_main_out { char before[NODE_ID_MAX]; };

/* Leases that ran out. A holder is ended, as interrupted(lease_lost), only when its occurrence is in `stale`: the
 * caller has seen it unmoved for as long as the observation rule asks; and when it has no lease at that moment. A
 * lease that lasts longer than it was given, since the store's clock went back, is cut. */
#define SWEEP_STALE_MAX 256
struct sweep_in {
        const char *node, *owner;
        uint64_t life;
        char (*stale)[OCC_TEXT];     /* borrowed until `done` */
        size_t stale_count;          /* up to SWEEP_STALE_MAX */
};
struct sweep_row { char occ[OCC_TEXT]; uint64_t seq; int64_t lease_ms; };   /* what its holder was given */
struct ended_record;
struct sweep_out {
        /* By this call, or by one whose answer did not arrive; to be logged in its `done`. Owned by the call. */
        struct ended_record *ended;
        size_t ended_count;
        struct sweep_row *expired;   /* by the store's clock; to be watched; owned by the call */
        size_t expired_count;
};

/* An effect on the store's own server, in one step with the check that the run may still make it. The occurrence is
 * the key against doubles: an effect that was made is not made again, and says so. */
enum effect_kind { EFFECT_STREAM, EFFECT_SCRIPT };
struct effect_in {
        const char *occ, *token, *fence;
        enum effect_kind kind;
        const char *key;             /* stream: its name */
        unsigned maxlen;             /* stream: about how many entries it keeps; 0: all */
        const char *script;          /* its text, which outlives the ledger: what is made of it is kept there */
        const char *const *keys;     /* script: its KEYS */
        size_t key_count;
        const char *const *fields;   /* stream: names and values in turn. script: its ARGV */
        size_t field_count;
        const char *const *context;  /* names and values in turn: a stream's first fields, a script's table `onced` */
        size_t context_count;
};
enum effected {
        EFFECT_DONE,
        EFFECT_BEFORE,               /* made before by this occurrence */
        EFFECT_FENCED,               /* the run is not this one's any more: nothing was written */
        EFFECT_FAILED,               /* it said so, or the server did; what it wrote until then stands. `text`: why */
};
struct effect_out {
        enum effected effected;
        /* Stream: the id of the entry. Script: what it returned, up to 64 KiB. The same again for BEFORE, and for what
         * FAILED before. Owned by the call. */
        char *text;
        size_t text_len;
};

#endif
