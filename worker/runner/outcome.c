/* How a run went: states, causes and the bounded text a task gave. */
#include "worker/runner/outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void outcome_init(struct run_outcome *o)
{
        *o = (struct run_outcome) { .state = STATE_RUNNING, .code = -1 };
}

void outcome_set(struct run_outcome *o, enum state state, enum cause cause, enum result result,
                 const char *format, ...)
{
        va_list args;

        o->state = state;
        o->cause = cause;
        o->result = result;
        o->error[0] = '\0';
        if (!format)
                return;
        va_start(args, format);
        (void) vsnprintf(o->error, sizeof(o->error), format, args);
        va_end(args);
}

void outcome_stopped(struct run_outcome *o, enum run_stop why)
{
        if (why == RUN_STOP_LEASE_LOST)
                outcome_set(o, STATE_INTERRUPTED, CAUSE_LEASE_LOST, RESULT_NONE, "stopped: the lease was lost");
        else
                outcome_set(o, STATE_INTERRUPTED, CAUSE_STOPPED, RESULT_NONE, "stopped: the daemon ends");
}

/* The text grows in powers of two from 1 KiB: most outputs are short, and the cap is one. */
static size_t text_room(size_t len)
{
        size_t room = 1024;

        while (room < len)
                room *= 2;
        return room;
}

size_t outcome_text_add(struct run_outcome *o, const char *bytes, size_t len)
{
        size_t keep = RUN_TEXT_MAX - o->text_len;

        if (keep > len)
                keep = len;
        if (keep > 0 && (!o->text || text_room(o->text_len + keep) > text_room(o->text_len))) {
                char *text = realloc(o->text, text_room(o->text_len + keep) + 1);
                if (text)
                        o->text = text;
                else
                        keep = 0;
        }
        if (keep > 0) {
                memcpy(o->text + o->text_len, bytes, keep);
                o->text_len += keep;
                o->text[o->text_len] = '\0';
        }
        o->text_cut += len - keep;
        return keep;
}

void run_done_free(struct run *r)
{
        free(r->outcome.text);
        r->outcome.text = NULL;
        r->outcome.text_len = 0;
}
