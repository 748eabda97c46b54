/* A dictionary from byte strings to pointers of the caller; keys are copied. */
#ifndef ONCED_PROVE_DICT_H
#define ONCED_PROVE_DICT_H

#include <stddef.h>
#include <stdint.h>

struct dict_slot {
        char *key;              /* owned; NULL: free */
        size_t len;
        uint64_t hash;
        void *value;            /* borrowed */
};

struct dict {
        struct dict_slot *slots;   /* owned */
        size_t count, room;
};

void dict_done(struct dict *t);
void *dict_get(const struct dict *t, const void *key, size_t len);   /* NULL: not there */
int dict_put(struct dict *t, const void *key, size_t len, void *value);   /* a new key; 0 or -ENOMEM */

#endif
