/* A watched holder of one unit: who, how often renewed, since when it has not moved. */
#include "worker/claim/watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct watch {
        char occ[OCC_TEXT];
        uint64_t seq;
        struct mono since;
        unsigned looks;
        bool ripe;
};

static void begin(struct watch *w, const char *occ, uint64_t seq, struct mono now)
{
        *w = (struct watch) { .seq = seq, .since = now };
        (void) snprintf(w->occ, sizeof(w->occ), "%s", occ);
}

void watch_note(struct watch **w, const char *occ, uint64_t seq, int64_t lease_ms, struct mono now)
{
        if (!occ[0]) {
                watch_free(*w);
                *w = NULL;
                return;
        }
        if (!*w) {
                *w = malloc(sizeof(**w));
                if (!*w)
                        return;   /* not watched: nothing is taken over, which is the safe side */
                begin(*w, occ, seq, now);
                return;
        }
        if (strcmp((*w)->occ, occ) != 0 || (*w)->seq != seq) {
                begin(*w, occ, seq, now);
                return;
        }

        (*w)->looks++;
        if ((*w)->looks >= 2 && mono_since_ms((*w)->since, now) >= lease_ms + lease_ms / 5)
                (*w)->ripe = true;
}

void watch_ripe(const struct watch *w, char ret_occ[OCC_TEXT])
{
        (void) snprintf(ret_occ, OCC_TEXT, "%s", w->ripe ? w->occ : "");
}

const char *watch_occ(const struct watch *w)
{
        return w ? w->occ : "";
}

void watch_free(struct watch *w)
{
        free(w);
}
