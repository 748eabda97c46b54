/* The hash chain of a trigger log: each line's h covers the line and the h before it, so that a line that
 * was removed, doubled or edited shows. Writer and verifier share this file. */
#ifndef ONCED_CHAIN_H
#define ONCED_CHAIN_H

#include <stddef.h>

#define CHAIN_TEXT 17                         /* 16 hex digits and NUL */
#define CHAIN_FIRST "0000000000000000"        /* the h before the first line */
#define CHAIN_TAIL 24                         /* bytes of `,"h":"<16 hex>"}` at the end of a line */

struct chain {
        struct evp_md_ctx_st *hash;           /* owned */
        struct evp_md_st *sha256;             /* owned */
        char h[CHAIN_TEXT];                   /* of the newest line */
};

int chain_init(struct chain *c);              /* 0 or -ENOMEM; h is CHAIN_FIRST */
void chain_done(struct chain *c);

/* h becomes the first 16 hex of SHA-256 over the previous h and the bytes of the line up to, not including,
 * `,"h":`. 0, or -ENOMEM when the digest failed; h is then as before. */
int chain_next(struct chain *c, const void *line, size_t len);

#endif
