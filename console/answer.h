/* What the API answers to one request, before it is put on a wire: status, type and body. Errors are problem
 * details (RFC 9457). Filling never fails: without memory the answer becomes a bare 500. */
#ifndef ONCED_ANSWER_H
#define ONCED_ANSWER_H

#include <jansson.h>
#include <stddef.h>

struct buf;

struct answer {
        unsigned status;         /* 0: not filled yet */
        const char *type;        /* content type; static */
        char *body;              /* owned; NULL: none */
        size_t len;
        const char *allow;       /* methods, with 405; static, NULL: none */
        unsigned retry_after_s;  /* with 503; 0: none */
};

#define ANSWER_EMPTY ((struct answer) { 0 })

void answer_done(struct answer *a);

/* `body` is taken over; NULL means that it could not be built. */
void answer_json(struct answer *a, unsigned status, json_t *body);

/* The contents of `body` are taken over. */
void answer_text(struct answer *a, unsigned status, const char *type, struct buf *body);

void answer_problem(struct answer *a, unsigned status, const char *detail, ...)
        __attribute__((format(printf, 3, 4)));

/* Bytes of any origin as a JSON string: what is not UTF-8 becomes U+FFFD. */
json_t *json_bytes(const char *bytes, size_t len);
json_t *json_text(const char *text);

#endif
