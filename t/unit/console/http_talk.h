/* A client made of plain sockets, which can be as rude as a test wants. */
#ifndef ONCED_TEST_HTTP_TALK_H
#define ONCED_TEST_HTTP_TALK_H

#include <stddef.h>

/* A connection to the unix socket at `path`; -1 when refused. */
int talk_open(const char *path);
void talk_say(int fd, const char *text);

/* Reads to the end of the connection, or for `timeout_ms`. To be freed. */
char *talk_hear(int fd, int timeout_ms);

/* One request on a connection of its own; `head` is the request line and headers without the last empty line.
 * "Connection: close" is added. Returns the whole answer, to be freed. */
char *talk(const char *path, const char *head);

/* The status of an answer, -1 when it is none; where its body begins. */
int talk_status(const char *answer);
const char *talk_body(const char *answer);

#endif
