/* The runners by type. */
#include "worker/runner/runner.h"

const struct runner_kind *runner_kind(enum runner_type type)
{
        switch (type) {
        case RUNNER_NOOP:
                return &runner_noop;
        case RUNNER_HTTP:
                return &runner_http;
        case RUNNER_EXEC:
                return &runner_exec;
        case RUNNER_REDIS:
                return &runner_redis;
        default:
                return NULL;
        }
}
