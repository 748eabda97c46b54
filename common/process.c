/* /proc/PID/stat says when a process began; pid and start together name it for ever on this boot. */
#include "common/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file.h"

/* Fields of /proc/PID/stat after the name in brackets, which may itself hold blanks and brackets. */
static int stat_fields(pid_t pid, char *ret_state, unsigned long long *ret_start)
{
        char path[64];
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
        int r = file_read_proc(path, 8192, &text);
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        const char *p = text.len ? strrchr(text.data, ')') : NULL;
        /* state is field 3, starttime field 22 (proc(5)); nineteen fields lie between them */
        if (!p || sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                         ret_state, ret_start) != 2)
                return -EIO;
        return 0;
}

int process_identify(pid_t pid, struct process_id *ret)
{
        char boot[BOOT_ID_TEXT], state;
        unsigned long long start;

        int r = stat_fields(pid, &state, &start);
        if (r < 0)
                return r;
        if (state == 'Z' || state == 'X')
                return -ESRCH;
        r = clock_boot_id(boot);
        if (r < 0)
                return r;
        ret->pid = pid;
        (void) snprintf(ret->start, sizeof(ret->start), "%llu-%.4s", start, boot);
        return 0;
}

bool process_alive(const struct process_id *id)
{
        struct process_id now;

        return process_identify(id->pid, &now) == 0 && strcmp(now.start, id->start) == 0;
}

static struct {
        char *room;    /* argv's own memory, which ps reads */
        size_t len;
} title;

void process_title_init(int argc, char **argv)
{
        if (argc < 1)
                return;
        char *end = argv[0] + strlen(argv[0]) + 1;
        for (int i = 1; i < argc && argv[i] == end; i++)
                end += strlen(argv[i]) + 1;
        title.room = argv[0];
        title.len = (size_t) (end - argv[0]);
}

void process_title(const char *format, ...)
{
        char text[256];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        (void) prctl(PR_SET_NAME, text);   /* the first 15 bytes: top and /proc/PID/comm */
        if (title.len == 0)
                return;
        size_t n = strnlen(text, title.len - 1);
        memcpy(title.room, text, n);
        memset(title.room + n, 0, title.len - n);
}
