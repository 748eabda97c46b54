/* What every file of a trigger log must say again when it begins: plans in force and children alive. Old
 * files are deleted after a while, and without these lines what remains could not be judged. */
#ifndef ONCED_STANDING_H
#define ONCED_STANDING_H

#include <stdbool.h>
#include <stddef.h>

struct standing_fact {
        char *key;               /* owned; NULL: removed, the place may not be reused while searching */
        char *e, *fields;        /* owned: kind of line, and its own fields as written */
};

struct standing {
        struct standing_fact *facts;   /* owned, in order of appearance */
        size_t count, room;
        size_t *index;                 /* owned hash table: place in `facts` + 1, 0 free */
        size_t index_room;
};

void standing_done(struct standing *s);

/* Keeps the fact, in place of the one with the same key. 0 or -ENOMEM. */
int standing_keep(struct standing *s, const char *key, const char *e, const char *fields, size_t len);
void standing_drop(struct standing *s, const char *key);

#endif
