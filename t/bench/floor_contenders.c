/* The floor of a group: contenders that know nothing of each other, each of which asks Redis itself at each whole
 * second, by SET NX PX under the name of the instant. Nothing is fenced, renewed, recorded or freed.
 * usage: floor_contenders PORT CONTENDERS SECONDS */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEASE_MS "30000"

/* Gives back how many instants it won, -1 when the server failed. */
static int contend(int port, int index, time_t first, int seconds)
{
        redisContext *c = redisConnect("127.0.0.1", port);
        int won = 0;

        if (!c || c->err)
                return -1;
        for (int i = 0; i < seconds && won >= 0; i++) {
                const struct timespec at = { first + i, 0 };
                (void) clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
                redisReply *r = redisCommand(c, "SET naive:%lld %d NX PX " LEASE_MS, (long long) at.tv_sec, index);
                if (!r || r->type == REDIS_REPLY_ERROR)
                        won = -1;
                else
                        won += r->type == REDIS_REPLY_STATUS;
                freeReplyObject(r);
        }
        redisFree(c);
        return won;
}

int main(int argc, char **argv)
{
        int failed = 0;

        if (argc != 4)
                return 64;
        time_t first = time(NULL) + 2;
        for (int i = 0; i < atoi(argv[2]); i++) {
                pid_t pid = fork();
                if (pid < 0)
                        return 71;
                if (pid == 0) {
                        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                        _exit(contend(atoi(argv[1]), i, first, atoi(argv[3])) < 0);
                }
        }
        for (int status; wait(&status) > 0; )
                failed |= status;
        return failed ? 71 : 0;
}
