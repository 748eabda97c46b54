/* The API without a wire: which paths there are, what may be asked of them, who answers.
 * A request is answered at once, or later when a ledger must be asked. */
#ifndef ONCED_API_H
#define ONCED_API_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "console/answer.h"
#include "console/history.h"

struct board;
struct config;
struct api;

#define API_PARAMETERS_MAX 8

struct api_parameter {
        const char *name, *value;   /* borrowed */
};

struct api_request {
        const char *method, *path, *accept;   /* accept NULL: not given */
        struct api_parameter parameters[API_PARAMETERS_MAX];
        size_t parameter_count;     /* above API_PARAMETERS_MAX: there were too many */
};

struct api_options {
        const struct config *config;          /* all borrowed, outlive the api */
        const struct board *board;
        const char *node, *owner, *boot;
};

int api_new(uv_loop_t *loop, const struct api_options *o, struct api **ret);

/* Nobody may wait for an answer any more (api_cancel). NULL is fine; returns NULL. */
struct api *api_free(struct api *a);

typedef void (*api_cb)(void *arg);

/* True: `ret` is filled. False: it is filled later, on the loop, right before `done` runs; `ret` must live
 * until then, `rq` need not. */
bool api_answer(struct api *a, const struct api_request *rq, struct answer *ret, api_cb done, void *arg);

/* Answers all who wait with 503, before it returns. */
void api_cancel(struct api *a);

#endif
