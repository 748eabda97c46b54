/* One request at a time over the unix socket, by libcurl, with short limits on everything: the other end may be
 * any process that listens there. */
#include "cli/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "cli/arguments.h"
#include "cli/cli.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"
#include "common/exits.h"
#include "common/file.h"

#define CONNECT_MS 2000L
#define ANSWER_MS  15000L

/* A metrics page of a thousand tasks has five megabytes. */
#define ANSWER_MAX (64UL << 20)

#define SOCKET_DEFAULT "/run/onced/onced.sock"

static int read_config(struct client *c, const char *path)
{
        struct complaints complaints = COMPLAINTS_NONE;
        int r = config_load(path, &c->config, &complaints);

        if (r < 0)
                complaints_print(&complaints, stderr);
        if (r < 0 && !complaints.errors)
                fprintf(stderr, "onced %s: %s: %s\n", c->command, path, strerror(-r));
        if (r < 0)
                fprintf(stderr, "onced %s: a running instance can be asked all the same: name its socket by "
                                "--socket PATH instead of -c\n", c->command);
        complaints_done(&complaints);
        return r < 0 ? EXIT_CONFIGURATION : 0;
}

/* --socket, else $ONCED_SOCKET, else run_dir of -c FILE, else the standard place. */
static int choose_socket(struct client *c, const char *given)
{
        const char *environment = getenv("ONCED_SOCKET");

        if (given)
                c->socket = strdup(given);
        else if (environment && *environment)
                c->socket = strdup(environment);
        else if (c->config)
                c->socket = path_join(c->config->run_dir, "onced.sock");
        else
                c->socket = strdup(SOCKET_DEFAULT);
        if (!c->socket)
                return EXIT_OS;
        if (strlen(c->socket) >= sizeof(((struct sockaddr_un *) 0)->sun_path))
                return usage_error(c->command, "the socket's path is too long for the system: %s", c->socket);
        return 0;
}

#define OPTIONS_MAX 8

int client_begin(struct client *c, int argc, char **argv, const struct argument *options,
                 const char **operands, size_t operands_max)
{
        const char *socket = NULL, *file = NULL;
        struct argument all[OPTIONS_MAX + 1] = { { "--socket", &socket, NULL }, { "-c", &file, NULL },
                                                 { "--json", NULL, &c->json } };
        size_t count = 3;

        *c = (struct client) { .command = argv[0] };
        for (; options && options->name && count < OPTIONS_MAX; options++)
                all[count++] = *options;
        int r = arguments_read(argc, argv, all, operands, operands_max);
        if (r == 0 && file)
                r = read_config(c, file);
        return r ? r : choose_socket(c, socket);
}

void client_done(struct client *c)
{
        c->config = config_free(c->config);
        free(c->socket);
        free(c->body);
        *c = (struct client) { 0 };
}

void client_say_absent(const struct client *c)
{
        fprintf(stderr,
                "onced %s: no instance answers at %s\n"
                "  start one with `onced run FILE`, or name its socket by --socket PATH, $ONCED_SOCKET or -c FILE\n",
                c->command, c->socket);
}

struct answer_sink {
        struct buf buf;
        bool too_long;
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
        struct answer_sink *sink = arg;

        if (sink->buf.len + size * count > ANSWER_MAX) {
                sink->too_long = true;
                return 0;
        }
        buf_add(&sink->buf, bytes, size * count);
        return sink->buf.failed ? 0 : size * count;
}

DEFINE_CLEANUP(CURL *, curl_freep, curl_easy_cleanup)
DEFINE_CLEANUP(struct curl_slist *, slist_freep, curl_slist_free_all)

static CURLcode transfer(const struct client *c, const char *path, const char *accept, struct answer_sink *sink,
                         long *ret_status, long *ret_errno)
{
        _cleanup_(slist_freep) struct curl_slist *headers = NULL;
        _cleanup_(curl_freep) CURL *curl = curl_easy_init();
        struct buf url = BUF_EMPTY, header = BUF_EMPTY;
        CURLcode r = CURLE_OUT_OF_MEMORY;

        buf_format(&url, "http://onced%s", path);
        buf_format(&header, "Accept: %s", accept ? accept : "application/json");
        if (!header.failed)
                headers = curl_slist_append(NULL, header.data);
        if (curl && headers && !url.failed) {
                (void) curl_easy_setopt(curl, CURLOPT_URL, url.data);
                (void) curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
                /* A proxy of the environment has no business on a local socket. */
                (void) curl_easy_setopt(curl, CURLOPT_PROXY, "");
                (void) curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
                (void) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
                (void) curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
                (void) curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
                (void) curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ANSWER_MS);
                (void) curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
                (void) curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
                r = curl_easy_perform(curl);
                (void) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
                (void) curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, ret_errno);
        }
        buf_done(&url);
        buf_done(&header);
        return r;
}

/* What the API said of a request it did not fulfil. */
static int say_problem(const struct client *c, long status)
{
        json_auto_t *problem = json_loadb(c->body, c->len, 0, NULL);
        const char *detail = member_text(problem, "detail");

        if (*detail)
                fprintf(stderr, "onced %s: %s\n", c->command, detail);
        else
                fprintf(stderr, "onced %s: %s answered with status %ld\n", c->command, c->socket, status);
        return EXIT_FAILED;
}

static int say_failure(const struct client *c, CURLcode r, bool too_long, long error, bool *ret_absent)
{
        if (too_long) {
                fprintf(stderr, "onced %s: the answer of %s is too long\n", c->command, c->socket);
        } else if (r == CURLE_COULDNT_CONNECT && error == EACCES) {
                fprintf(stderr, "onced %s: no permission for %s: join the group that owns it, or use sudo\n",
                        c->command, c->socket);
        } else if (r == CURLE_COULDNT_CONNECT && ret_absent) {
                *ret_absent = true;
        } else if (r == CURLE_COULDNT_CONNECT) {
                client_say_absent(c);
        } else if (r == CURLE_OPERATION_TIMEDOUT) {
                fprintf(stderr, "onced %s: the instance at %s does not answer in time\n", c->command, c->socket);
        } else {
                fprintf(stderr, "onced %s: asking %s: %s\n", c->command, c->socket, curl_easy_strerror(r));
        }
        return EXIT_FAILED;
}

int client_get(struct client *c, const char *path, const char *accept, bool *ret_absent)
{
        struct answer_sink sink = { BUF_EMPTY, false };
        long status = 0, error = 0;
        CURLcode r = transfer(c, path, accept, &sink, &status, &error);

        free(c->body);
        c->len = sink.buf.len;
        c->body = buf_take(&sink.buf);
        if (r == CURLE_OK && !c->body)
                r = CURLE_OUT_OF_MEMORY;
        if (r != CURLE_OK)
                return say_failure(c, r, sink.too_long, error, ret_absent);
        return status == 200 ? 0 : say_problem(c, status);
}

int client_get_json(struct client *c, const char *path, bool *ret_absent, json_t **ret)
{
        int r = client_get(c, path, NULL, ret_absent);

        if (r)
                return r;
        json_t *j = json_loadb(c->body, c->len, JSON_ALLOW_NUL, NULL);
        if (!j) {
                fprintf(stderr, "onced %s: what answers at %s does not speak the API\n", c->command, c->socket);
                return EXIT_FAILED;
        }
        *ret = j;
        return 0;
}
