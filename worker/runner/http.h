/* The contract of the http runner with the services it calls.
 *
 * Each run makes one request; a redirect is followed only with `follow: n`. What the run is told:
 *
 *   X-Onced-Task, -Occurrence, -Trigger, -Fence, -Node, -Shard, -Shards
 *   X-Onced-Planned, X-Onced-Deadline    Unix time in ms
 *   X-Onced-Window                       ms
 *   Idempotency-Key                      the occurrence id
 *   traceparent                          00-<first 32 hex of the occurrence id>-<first 16 hex of the SHA-256 of
 *                                        the trigger id>-01
 *   query: concurrency_id (shard), concurrency_count (shards), host_id (node), after the URL's own; none of them
 *   with `query: false`
 *
 * With `http_secret` also
 *
 *   X-Onced-Signature: t=<unix seconds>,v1=<64 lower-case hex digits>
 *
 * where v1 is the HMAC-SHA256, keyed with the bytes of the secret, of the text
 *
 *   <t>.<METHOD>.<path>[?<query>].<lower-case hex SHA-256 of the body>
 *
 * with path and query byte for byte as in the request line, and the SHA-256 of nothing when there is no body.
 * It proves sender and content; a receiver that must not be replayed also checks the age of t and the
 * Idempotency-Key. A request redirected to another origin carries neither signature nor Authorization.
 *
 * What is made of the answer: 2xx succeeded, with `X-Onced-Result: noop` without a business result; another
 * status failed(status); no connection failed(not_sent); a request that left without a whole answer
 * unknown(no_answer), since the service may have done its work. The body is kept up to 64 KiB, then the
 * transfer is cut and the status stands. */
#ifndef ONCED_HTTP_H
#define ONCED_HTTP_H

#include "worker/runner/runner.h"

/* More than this in header lines, all answers of a run together, is no answer. */
#define HTTP_HEADERS_MAX 65536

#endif
