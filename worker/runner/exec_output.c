/* Reads the output pipe of a command. */
#include "worker/runner/exec_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/config/utf8.h"
#include "worker/runner/outcome.h"

/* A chatty command gets 1 MiB a turn of the loop; the other runs of the worker then have theirs. */
#define READ_SIZE   65536
#define TURN_READS  16

/* The largest pipe an unprivileged process can make is 1 MiB: this many reads empty any. */
#define DRAIN_READS 64

static void tail_keep(struct exec_output *o, const char *bytes, size_t len)
{
        size_t old = o->tail_len;

        if (len > EXEC_TAIL) {
                bytes += len - EXEC_TAIL;
                len = EXEC_TAIL;
        }
        if (old > EXEC_TAIL - len)
                old = EXEC_TAIL - len;
        memmove(o->tail, o->tail + o->tail_len - old, old);
        memcpy(o->tail + old, bytes, len);
        o->tail_len = old + len;
}

static bool is_blank(char c)
{
        return (unsigned char) c <= ' ' || c == 0x7f;
}

static bool ends_line(char c)
{
        return c == '\n' || c == '\r';
}

const char *exec_output_last_line(const struct exec_output *o, char ret[EXEC_LINE])
{
        size_t end = o->tail_len, len, bad;

        while (end > 0 && is_blank(o->tail[end - 1]))
                end--;
        size_t begin = end;
        while (begin > 0 && !ends_line(o->tail[begin - 1]))
                begin--;
        while (begin < end && is_blank(o->tail[begin]))
                begin++;
        len = end - begin;
        bool cut = len > EXEC_LINE - 4;
        if (cut)
                len = EXEC_LINE - 4;
        memcpy(ret, o->tail + begin, len);
        ret[len] = '\0';
        for (size_t i = 0; i < len; i++)
                if ((unsigned char) ret[i] < ' ' || ret[i] == 0x7f)
                        ret[i] = ' ';
        while (!utf8_valid(ret, len, &bad))   /* torn by a cut, or not text at all */
                ret[bad] = '?';
        if (cut)
                memcpy(ret + len, "...", 4);
        return ret;
}

static void read_some(struct exec_output *o, int reads)
{
        static char piece[READ_SIZE];   /* one loop a process: nobody reads at the same time */

        while (reads-- > 0 && !o->ended) {
                ssize_t n = read(o->fd, piece, sizeof(piece));
                if (n > 0) {
                        (void) outcome_text_add(o->into, piece, (size_t) n);
                        tail_keep(o, piece, (size_t) n);
                } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
                        o->ended = true;
                } else if (errno == EAGAIN) {
                        return;
                }
        }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
        struct exec_output *o = container_of(poll, struct exec_output, poll);

        (void) status;
        (void) events;
        read_some(o, TURN_READS);
        if (!o->ended)
                return;
        (void) uv_poll_stop(poll);
        o->on_end(o);
}

int exec_output_open(struct exec_output *o, uv_loop_t *loop, struct run_outcome *into,
                     void (*on_end)(struct exec_output *o), int *ret_writer)
{
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        int r = uv_poll_init(loop, &o->poll, ends[0]);
        if (r < 0) {
                (void) close(ends[0]);
                (void) close(ends[1]);
                return r;
        }
        o->fd = ends[0];
        o->into = into;
        o->ended = false;
        o->tail_len = 0;
        o->on_end = on_end;
        (void) uv_poll_start(&o->poll, UV_READABLE, on_readable);
        *ret_writer = ends[1];
        return 0;
}

void exec_output_drain(struct exec_output *o)
{
        read_some(o, DRAIN_READS);
}

static void on_closed(uv_handle_t *h)
{
        struct exec_output *o = container_of(h, struct exec_output, poll);

        (void) close(o->fd);
        o->on_closed(o);
}

void exec_output_close(struct exec_output *o, void (*closed)(struct exec_output *o))
{
        o->on_closed = closed;
        uv_close((uv_handle_t *) &o->poll, on_closed);
}
