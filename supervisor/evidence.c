/* Evidence about a hung child from /proc and the scoreboard. */
#include "supervisor/evidence.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "supervisor/slot.h"

#define PROC_LIMIT 8192

static int proc_read(const struct slot *s, const char *file, struct buf *ret)
{
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) s->process.pid, file);
        return file_read_proc(path, PROC_LIMIT, ret);
}

/* The value of "Key:\tvalue" in /proc/PID/status, its blanks as they are. */
static void add_status(struct buf *ret, const char *status, const char *key, const char *name)
{
        size_t len = strlen(key);

        for (const char *line = status; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, len) != 0 || line[len] != ':')
                        continue;
                line += len + 1;
                line += strspn(line, " \t");
                buf_format(ret, "%s%s %.*s", ret->len ? ", " : "", name, (int) strcspn(line, "\n"), line);
                return;
        }
}

void evidence_gather(const struct slot *s, struct buf *ret)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;
        struct place_view v;

        buf_clear(ret);
        if (proc_read(s, "status", &text) == 0 && text.len) {
                add_status(ret, text.data, "State", "state");
                add_status(ret, text.data, "Threads", "threads");
                add_status(ret, text.data, "VmRSS", "rss");
                add_status(ret, text.data, "SigBlk", "blocked signals");
        }
        if (proc_read(s, "wchan", &text) == 0 && text.len)
                buf_format(ret, ", wchan %.64s", text.data);
        if (proc_read(s, "syscall", &text) == 0 && text.len)
                buf_format(ret, ", syscall %.*s", (int) strcspn(text.data, "\n"), text.data);
        if (s->board && s->place >= 0 && board_read(s->board, (unsigned) s->place, &v) == 0 && v.occ[0])
                buf_format(ret, "; task %s, occurrence %s", v.task, v.occ);
}
