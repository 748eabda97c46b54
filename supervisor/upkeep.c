/* One look a second: two calls of stat. */
#include "supervisor/upkeep.h"

#include "common/config/config.h"
#include "common/log.h"
#include "common/record/triglog.h"
#include "supervisor/crew.h"
#include "supervisor/listener.h"

#define LOOK_MS 1000

/* The console serves the socket it was born with, so that another socket takes another console. */
static void console_renew(struct crew *c)
{
        struct slot *console = crew_console(c);

        if (console->state != SLOT_STARTING && console->state != SLOT_READY)
                return;   /* the next one is born with the new socket anyway */
        (void) crew_tell(console, MESSAGE_STOP, -1);
        slot_go(console, SLOT_STOPPING);
}

static int socket_look(struct crew *c, struct listener *l)
{
        int r = listener_follow(l, c->config->run_dir, (mode_t) c->config->api.socket_mode);

        if (r <= 0)
                return r;
        (void) log_warning(0, "%s had been removed and is there again", l->path);
        c->listener = l->fd;
        console_renew(c);
        return 0;
}

void upkeep_look(struct upkeep *u, struct crew *c, struct listener *l, struct mono now)
{
        if (now.ns < u->due.ns || c->ending)
                return;
        u->due = mono_plus_ms(now, LOOK_MS);
        if (triglog_follow(c->roster) == 1)
                (void) log_error(0, "the roster's file had been removed; what it told is lost, it goes on in %s",
                                 triglog_name(c->roster));
        int r = socket_look(c, l);
        if (r < 0 && r != u->said)
                (void) log_error(r, "%s was removed and cannot be bound again", l->path);
        u->said = r;
}
