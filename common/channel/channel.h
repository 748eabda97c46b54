/* Messages between the master and a child: one SOCK_SEQPACKET pair a child, fixed-size records with a
 * layout version, slot and generation, so that a late message of a dead worker is not taken for its
 * successor's. The receiver checks all of it: the supervisor trusts children in nothing. */
#ifndef ONCED_CHANNEL_H
#define ONCED_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/record/ids.h"

#define CHANNEL_LAYOUT 1

enum message_type {
        MESSAGE_NONE,
        /* child to master */
        MESSAGE_READY,        /* loop runs, ledger is open */
        MESSAGE_GONE_DONE,    /* interrupt(owner) is committed: `owner`, `trees_gone` as asked */
        MESSAGE_DRAINED,      /* nothing runs any more; the child ends by itself next */
        MESSAGE_VERB,         /* console: what an operator asked (value: enum verb) */
        MESSAGE_LED,          /* the LEAD is done: value = term */
        MESSAGE_DEPOSED,      /* a newer term than its own is in force: value = that term */
        /* master to child */
        MESSAGE_LEAD,         /* be the timer worker */
        MESSAGE_DRAIN,        /* claim nothing more, finish what runs, then end */
        MESSAGE_STOP,         /* end runs now (TERM, KILL), then end */
        MESSAGE_GONE,         /* the process `owner` is dead; trees_gone: its task trees too */
        MESSAGE_REOPEN,       /* USR1: next trigger file; a descriptor for the log comes along if it is a file */
        MESSAGE_TYPE_COUNT_
};

/* What can be asked of the master; its signals are the same verbs (supervisor/verb.c). */
enum verb {
        VERB_NONE,
        VERB_RELOAD,
        VERB_DRAIN,           /* without stopping */
        VERB_RESUME,
        VERB_STOP,            /* drain and stop; asked again: fast; a third time: kill */
        VERB_REOPEN,
        VERB_WORKERS,
        VERB_STOP_FAST,
        VERB_UPGRADE,
        VERB_MORE,            /* one worker */
        VERB_FEWER,
        VERB_COUNT_
};

struct message {
        uint32_t layout;
        uint32_t type;
        uint32_t slot;
        uint32_t generation;
        uint64_t value;
        uint32_t trees_gone;
        char owner[OWNER_TEXT];   /* NUL-terminated or "" */
};

/* Sends without blocking, a descriptor along if fd >= 0. 0, -EAGAIN when the peer does not read, -EPIPE. */
int channel_send(int channel, const struct message *m, int fd);

/* Receives one message. 1; 0 when nothing is there; -EPIPE at the end of the peer; -EPROTO: malformed (it
 * is consumed). A received descriptor (close-on-exec) goes to *ret_fd, -1 if none. */
int channel_receive(int channel, struct message *ret, int *ret_fd);

#endif
