/* Reading ONCED_FAULT, and doing what it asks. */
#include "common/fault.h"

#ifdef ONCED_FAULTS

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAULTS_MAX 16
#define POINT_MAX  32

enum fault_action { FAULT_KILL, FAULT_STOP, FAULT_SLEEP, FAULT_EXIT };

struct fault {
        char point[POINT_MAX];
        enum fault_action action;
        long number;             /* milliseconds or exit code */
        unsigned long at;        /* the passage that is meant; 0: each */
        atomic_ulong passages;
};

static struct fault faults[FAULTS_MAX];
static unsigned fault_count;
static pthread_once_t reading = PTHREAD_ONCE_INIT;

/* What cannot be read ends the process: a test that injects nothing by mistake would pass. */
static void refuse(const char *text)
{
        (void) fprintf(stderr, "ONCED_FAULT: cannot read \"%s\"\n", text);
        _exit(64);
}

static enum fault_action action_of(const char *word, const char *whole)
{
        static const char *const names[] = { "kill", "stop", "sleep", "exit" };

        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (strcmp(word, names[i]) == 0)
                        return (enum fault_action) i;
        refuse(whole);
        return FAULT_KILL;
}

static void read_one(const char *text)
{
        struct fault *f = &faults[fault_count];
        char word[POINT_MAX], rest[64] = "";

        if (fault_count >= FAULTS_MAX || sscanf(text, "%31[a-z-]:%31[a-z]%63s", f->point, word, rest) < 2)
                refuse(text);
        f->action = action_of(word, text);
        char *p = rest;
        if (*p == '=')
                f->number = strtol(p + 1, &p, 10);
        if (*p == '@')
                f->at = strtoul(p + 1, &p, 10);
        if (*p)
                refuse(text);
        fault_count++;
}

static void read_all(void)
{
        const char *env = getenv("ONCED_FAULT");
        char *copy = env ? strdup(env) : NULL, *left = NULL;

        for (char *one = copy ? strtok_r(copy, ",", &left) : NULL; one; one = strtok_r(NULL, ",", &left))
                read_one(one);
        free(copy);
}

static bool is_first(const struct fault *f)
{
        const char *path = getenv("ONCED_FAULT_ONCE");
        char marker[4096];
        if (!path)
                return true;

        (void) snprintf(marker, sizeof(marker), "%s.%s", path, f->point);
        int fd = open(marker, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0)
                return false;
        (void) dprintf(fd, "%d\n", (int) getpid());
        (void) close(fd);
        return true;
}

static void act(const struct fault *f)
{
        struct timespec wait = { f->number / 1000, f->number % 1000 * 1000000 };

        switch (f->action) {
        case FAULT_KILL:
                (void) kill(getpid(), SIGKILL);
                break;
        case FAULT_STOP:
                (void) kill(getpid(), SIGSTOP);
                break;
        case FAULT_SLEEP:
                (void) nanosleep(&wait, NULL);
                break;
        case FAULT_EXIT:
                _exit((int) f->number);
        }
}

void fault_point(const char *name)
{
        (void) pthread_once(&reading, read_all);
        for (unsigned i = 0; i < fault_count; i++) {
                struct fault *f = &faults[i];
                if (strcmp(f->point, name) != 0)
                        continue;
                unsigned long passage = atomic_fetch_add(&f->passages, 1) + 1;
                if ((f->at == 0 || f->at == passage) && is_first(f))
                        act(f);
        }
}

#endif
