/* What the commands that ask a running instance share: their options, and a request over its unix socket. */
#ifndef ONCED_CLIENT_H
#define ONCED_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct config;

/* Client options, and the connection. Filled by client_begin, emptied by client_done. */
struct client {
        const char *command;         /* for messages; borrowed */
        bool json;
        char *socket;                /* owned */
        struct config *config;       /* owned; of -c FILE, else NULL */
        char *body;                  /* owned: the newest answer, NUL-terminated */
        size_t len;
        bool too_long;
};

/* Reads the arguments: `options` (may be NULL) are those of one command beyond --socket, -c and --json. Operands as
 * arguments_read. 0, or the exit code to end with (the reason is printed). */
struct argument;
int client_begin(struct client *c, int argc, char **argv, const struct argument *options,
                 const char **operands, size_t operands_max);
void client_done(struct client *c);

/* GET `path`; the answer is in c->body. `accept` NULL: JSON. 0, or the exit code to end with, the reason printed:
 * unreachable, not understood, or a problem of the API by its detail. With `ret_absent` (may be NULL) nothing is
 * printed when no instance is there; true is stored and EXIT_FAILED returned. */
int client_get(struct client *c, const char *path, const char *accept, bool *ret_absent);

/* As client_get, and the body as JSON to be freed. */
int client_get_json(struct client *c, const char *path, bool *ret_absent, json_t **ret);

/* Prints the newest answer as it came (--json). Returns an exit code. */
int client_print_body(const struct client *c);

/* Prints `j` for programs. Returns an exit code. */
int client_print_json(const json_t *j);

/* Says that no instance answers, and how to come to one. */
void client_say_absent(const struct client *c);

/* Appends `text` to a URL, percent-encoded. */
struct buf;
void url_add(struct buf *url, const char *text);

/* Members of an object that another process built: "" and 0 for what is not there or of another type. */
const char *member_text(const json_t *j, const char *name);
json_int_t member_integer(const json_t *j, const char *name);
bool member_true(const json_t *j, const char *name);

/* "2026-11-30 17:00:00Z" of an RFC 3339 text; "" stays "". */
#define TIME_SHOWN 32
const char *time_shown(const char *text, bool with_ms, char ret[TIME_SHOWN]);

/* "1.5 s", "2 h 3 min": a span for people. */
#define SPAN_SHOWN 32
const char *span_shown(json_int_t ms, char ret[SPAN_SHOWN]);

#endif
