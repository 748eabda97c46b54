/* /proc/PID/stat and /proc/PID/fd, read when somebody asks and never kept. */
#include "console/proc_facts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#define STAT_MAX 4096
/* More descriptors than this are not counted: reading on would only cost time. */
#define FDS_MAX 100000

DEFINE_CLEANUP(DIR *, closedirp, (void) closedir)

int proc_stat_parse(const char *text, struct proc_facts *ret)
{
        /* The name in parentheses may hold anything, also `) `: the last one ends it. */
        const char *p = strrchr(text, ')');
        unsigned long utime, stime;
        long rss;

        if (!p || sscanf(p + 1,
                         " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu"
                         " %*d %*d %*d %*d %*d %*d %*u %*u %ld",
                         &utime, &stime, &rss) != 3)
                return -EINVAL;
        long ticks = sysconf(_SC_CLK_TCK);
        ret->cpu_ms = (int64_t) ((utime + stime) * 1000 / (unsigned long) (ticks > 0 ? ticks : 100));
        ret->rss_bytes = (int64_t) rss * sysconf(_SC_PAGESIZE);
        return 0;
}

static int64_t count_fds(pid_t pid)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid);
        _cleanup_(closedirp) DIR *d = opendir(path);
        if (!d)
                return -1;
        int64_t n = 0;
        for (const struct dirent *e; n < FDS_MAX && (e = readdir(d));)
                if (e->d_name[0] != '.')
                        n++;
        return n;
}

struct proc_facts proc_facts_read(const struct process_id *id)
{
        struct proc_facts f = PROC_FACTS_NONE;
        struct buf text = BUF_EMPTY;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) id->pid);
        if (file_read_proc(path, STAT_MAX, &text) >= 0 && !text.failed && text.data)
                (void) proc_stat_parse(text.data, &f);
        buf_done(&text);
        f.fds = count_fds(id->pid);
        /* Asked last: only if the same process still runs was all of it about this one. */
        return process_alive(id) ? f : PROC_FACTS_NONE;
}
