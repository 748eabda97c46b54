/* The states of a slot and the moves between them, in one table. */
#include "supervisor/slot.h"

#include <assert.h>
#include <stdio.h>

#include "common/log.h"
#include "supervisor/restart.h"

static const char *const state_names_of_slot[SLOT_STATE_COUNT_] = {
        "empty", "waiting", "starting", "ready", "draining", "stopping", "dying", "refused",
};

#define TO(s) (1u << SLOT_##s)

static const unsigned slot_moves[SLOT_STATE_COUNT_] = {
        [SLOT_EMPTY]    = TO(WAITING),
        [SLOT_WAITING]  = TO(EMPTY) | TO(STARTING),
        [SLOT_STARTING] = TO(READY) | TO(DRAINING) | TO(STOPPING) | TO(DYING) | TO(EMPTY) | TO(WAITING) | TO(REFUSED),
        [SLOT_READY]    = TO(DRAINING) | TO(STOPPING) | TO(DYING) | TO(EMPTY) | TO(WAITING) | TO(REFUSED),
        [SLOT_DRAINING] = TO(STOPPING) | TO(DYING) | TO(EMPTY) | TO(WAITING) | TO(REFUSED),
        [SLOT_STOPPING] = TO(DYING) | TO(EMPTY) | TO(WAITING) | TO(REFUSED),
        [SLOT_DYING]    = TO(EMPTY) | TO(WAITING) | TO(REFUSED),
        [SLOT_REFUSED]  = TO(EMPTY),
};

void slot_init(struct slot *s, unsigned index, enum place_role role, const struct child_kind *kind,
               struct board *board)
{
        *s = (struct slot) {
                .index = index, .role = role, .kind = kind, .board = board, .state = SLOT_EMPTY, .due = NEVER,
                .pidfd = -1, .channel = -1, .tree = -1, .place = -1,
        };
        if (role == ROLE_CONSOLE) {
                (void) snprintf(s->name, sizeof(s->name), "c");
                (void) snprintf(s->title, sizeof(s->title), "console");
        } else {
                (void) snprintf(s->name, sizeof(s->name), "%u", index);
                (void) snprintf(s->title, sizeof(s->title), "worker %u", index);
        }
}

bool slot_may_go(enum slot_state from, enum slot_state to)
{
        return slot_moves[from] & (1u << to);
}

static enum place_state place_state_of(enum slot_state s)
{
        switch (s) {
        case SLOT_STARTING:
                return PLACE_STARTING;
        case SLOT_READY:
                return PLACE_READY;
        case SLOT_DRAINING:
        case SLOT_STOPPING:
        case SLOT_DYING:
                return PLACE_DRAINING;
        default:
                return PLACE_ENDED;
        }
}

void slot_go(struct slot *s, enum slot_state to)
{
        assert(slot_may_go(s->state, to));
        log_debug("%s: %s -> %s", s->title, slot_state_name(s->state), slot_state_name(to));
        s->state = to;
        s->due = NEVER;
        if (s->board && s->place >= 0)
                board_set_state(s->board, (unsigned) s->place, place_state_of(to));
}

bool slot_lives(const struct slot *s)
{
        return s->state >= SLOT_STARTING && s->state <= SLOT_DYING;
}

bool slot_in_crash_loop(const struct slot *s)
{
        return s->state == SLOT_REFUSED || (s->state != SLOT_READY && s->recent_deaths >= CRASH_LOOP_DEATHS);
}

const char *slot_state_name(enum slot_state s)
{
        return state_names_of_slot[s];
}
