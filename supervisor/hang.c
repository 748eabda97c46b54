/* The rule for hung children. After a pause of the whole machine (suspend, a frozen container) the master may be
 * the first to run again: then all beats are old, and all children are given their whole time anew. */
#include "supervisor/hang.h"

static struct mono later(struct mono a, struct mono b)
{
        return a.ns > b.ns ? a : b;
}

bool hang_was_pause(struct mono wanted, struct mono woke)
{
        return mono_since_ms(wanted, woke) > PAUSE_MS;
}

enum hang hang_verdict(const struct life_signs *s, struct mono now, int64_t boot_timeout_ms,
                       int64_t hang_timeout_ms, struct mono *ret_due)
{
        struct mono beat = s->beat.ns > now.ns ? now : s->beat;
        struct mono set_up = s->set_up.ns > now.ns ? now : s->set_up;
        struct mono due;
        enum hang hang;

        if (!s->said_ready) {
                /* A table of 100,000 tasks takes its time where others want the cores too. */
                due = mono_plus_ms(later(later(set_up, s->born), s->counted_from), boot_timeout_ms);
                hang = HANG_BOOT;
        } else {
                due = mono_plus_ms(later(later(beat, s->ready), s->counted_from), hang_timeout_ms);
                hang = HANG_BEAT;
        }
        if (s->deaf.ns) {
                struct mono deaf = mono_plus_ms(later(s->deaf, s->counted_from), hang_timeout_ms);
                if (deaf.ns < due.ns) {
                        due = deaf;
                        hang = HANG_DEAF;
                }
        }
        *ret_due = due;
        return now.ns >= due.ns ? hang : HANG_NONE;
}
