/* The limits of the server, made small: four connections, one idle second. */
#include "t/unit/cases.h"
#include "t/unit/console/http_talk.h"
#include "t/unit/console/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/api.h"
#include "console/server.h"

#define CONNECTIONS 4
#define ASK         "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
#define ASK_LAST    "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

struct small {
        struct world w;
        pid_t pid;
};

static _Noreturn void serve(const struct world *w)
{
        const struct api_options o = { &w->config, w->board, "node", "owner", "boot" };
        struct server *server;
        struct api *api;
        uv_loop_t loop;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);   /* also after a case that failed */
        (void) signal(SIGPIPE, SIG_IGN);
        if (uv_loop_init(&loop) < 0 || api_new(&loop, &o, &api) < 0 ||
            server_open(&loop, w->listener, api, (struct server_limits) { CONNECTIONS, 1 }, &server) < 0)
                _exit(1);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        _exit(2);
}

static void small_up(struct small *s)
{
        world_init(&s->w, 1, 1);
        world_master(&s->w, true, false);
        world_listen(&s->w);
        s->pid = fork();
        assert_true(s->pid >= 0);
        if (s->pid == 0)
                serve(&s->w);
}

static void small_down(struct small *s)
{
        int status;

        assert_int_equal(kill(s->pid, SIGKILL), 0);
        assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
        assert_true(WIFSIGNALED(status));   /* it still ran */
        world_done(&s->w);
}

static int ask_new(struct small *s)
{
        int fd = talk_open(s->w.socket);

        talk_say(fd, ASK_LAST);
        char *answer = talk_hear(fd, 8000);
        int status = talk_status(answer);
        free(answer);
        (void) close(fd);
        return status;
}

/* All connections are taken and have been answered: the server is at its limit. */
static void fill(struct small *s, int fds[CONNECTIONS])
{
        for (int i = 0; i < CONNECTIONS; i++) {
                char byte;
                fds[i] = talk_open(s->w.socket);
                talk_say(fds[i], ASK);
                assert_int_equal(read(fds[i], &byte, 1), 1);
        }
}

static void a_full_server_listens_again_when_all_leave_at_once(void **state)
{
        struct small s;
        int fds[CONNECTIONS];
        (void) state;

        small_up(&s);
        for (int round = 0; round < 5; round++) {
                fill(&s, fds);
                for (int i = 0; i < CONNECTIONS; i++)
                        (void) close(fds[i]);
                assert_int_equal(ask_new(&s), 200);
        }
        small_down(&s);
}

static void idle_connections_make_room_for_the_next(void **state)
{
        struct small s;
        int fds[CONNECTIONS];
        char byte[4096];
        (void) state;

        small_up(&s);
        for (int i = 0; i < CONNECTIONS; i++) {
                fds[i] = talk_open(s.w.socket);
                if (i % 2)
                        talk_say(fds[i], "GET /hea");
        }
        assert_int_equal(ask_new(&s), 200);
        for (int i = 0; i < CONNECTIONS; i++) {
                while (read(fds[i], byte, sizeof(byte)) > 0)
                        ;   /* ended by the server, if need be with words about it */
                (void) close(fds[i]);
        }
        small_down(&s);
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_full_server_listens_again_when_all_leave_at_once),
                cmocka_unit_test(idle_connections_make_room_for_the_next),
        };

        (void) alarm(60);   /* a server that has gone deaf fails the test, and does not hang it */
        return RUN_CASES(argc, argv, "server", tests);
}
