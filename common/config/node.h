/* A YAML file as a tree in which every node knows its line and column. All memory of a tree is one arena:
 * it is freed at once, and what outlives reading is copied out. */
#ifndef ONCED_CONFIG_NODE_H
#define ONCED_CONFIG_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/complaint.h"

#define YAML_FILE_MAX  (4U << 20)   /* bytes of one file */
#define YAML_DEPTH_MAX 32
#define YAML_NODES_MAX 2000000U     /* of one file */
#define YAML_KEYS_MAX  256U         /* of one map */
#define YAML_TEXT_MAX  65536U       /* bytes of one value, after expansion of variables */

enum node_kind {
        NODE_TEXT,
        NODE_LIST,
        NODE_MAP,
        NODE_BROKEN,   /* complained of already: say no more about it */
};

struct node {
        enum node_kind kind;
        bool quoted;               /* text: was not plain, so `""` is a text and not the absence of one */
        bool verbatim;             /* text: stands in the file byte by byte, behind its quote if it has one */
        struct place place;
        struct place key_place;    /* in a map */
        const char *key;           /* in a map, else NULL */
        const char *text;          /* NODE_TEXT */
        size_t count;              /* children */
        struct node *first, *last, *next;
};

struct arena;

struct tree {
        struct node *root;         /* NULL: nothing usable */
        struct arena *arena;       /* owned */
};

#define TREE_NONE ((struct tree) { 0 })

/* Parses `len` bytes of the file named `file` (borrowed by the places). Everything wrong goes to
 * `complaints`; 0 with a tree that may hold NODE_BROKEN, or -EINVAL (not YAML), -ENOMEM. */
int tree_parse(const char *file, const char *bytes, size_t len, struct tree *ret,
               struct complaints *complaints);
void tree_done(struct tree *t);

void *arena_take(struct arena **a, size_t size);            /* zeroed; NULL without memory */
const char *arena_text(struct arena **a, const char *text, size_t len);

const struct node *node_get(const struct node *map, const char *key);   /* NULL: not there, or no map */

/* True for no value at all: `key:`, `~` or `null`. */
bool node_is_null(const struct node *n);

/* Where the bytes from `at` of a text stand. The place of the whole for no bytes, and when escapes, folded lines or
 * variables lie between the text and the file. */
struct place node_place_in(const struct node *n, size_t at, size_t length);

/* "a list", "a map", "text": for complaints. */
const char *node_kind_text(const struct node *n);

/* `text` in quotes, cut to be readable in a complaint, without control characters. */
#define QUOTE_TEXT 80
const char *quote(const char *text, char ret[QUOTE_TEXT]);

#endif
