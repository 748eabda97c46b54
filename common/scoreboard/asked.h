/* One word a unit, shared by the workers of a node: who is asking the group's ledger about which instant. The first
 * worker to reach it asks; its siblings wait a little, and mostly find the answer here, so that an instant costs about
 * one request a node and not one a worker. The word decides nothing: whatever stands in it, at worst one more request
 * is sent. A worker that dies or hangs while it asks leaves a word that the next one takes after its patience.
 *
 * C11 atomics, no locks. The table has ASKED_UNITS words and never shrinks; a unit beyond finds none, and all ask. */
#ifndef ONCED_ASKED_H
#define ONCED_ASKED_H

#include <stddef.h>

#include "common/clock.h"
#include "common/record/ids.h"

#define ASKED_UNITS 16384

struct asked_table;
struct asked;

enum asked_answer {
        ASKED_YOURS,      /* nobody asks, or not for longer than the patience: the caller does */
        ASKED_BY_OTHER,   /* wait, and look again */
        ASKED_DECIDED,    /* the ledger has decided this very instant */
};

/* Before the processes that are to share it are forked. 0 or -errno. */
int asked_create(struct asked_table **ret);
struct asked_table *asked_free(struct asked_table *t);   /* NULL is fine; returns NULL */

/* The unit's word; NULL: there is none, `t` is NULL or full. It lives as long as the table. */
struct asked *asked_find(struct asked_table *t, const char *unit);

/* `patience_ms`: 1 to 60,000. */
enum asked_answer asked_try(struct asked *a, struct instant planned, struct mono now, int64_t patience_ms);

/* What the ledger answered to who was to ask: decided, here or elsewhere; or not, and the next may ask at once. */
void asked_decided(struct asked *a, struct instant planned);
void asked_undecided(struct asked *a, struct instant planned);

#endif
