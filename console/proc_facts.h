/* What the kernel knows of a process: memory, processor time, descriptors. */
#ifndef ONCED_PROC_FACTS_H
#define ONCED_PROC_FACTS_H

#include <stdint.h>

#include "common/process.h"

struct proc_facts {
        int64_t rss_bytes;    /* -1: unknown, as all of them */
        int64_t cpu_ms;       /* user and system time */
        int64_t fds;          /* unknown also when /proc/PID/fd may not be read */
};

#define PROC_FACTS_NONE ((struct proc_facts) { -1, -1, -1 })

/* Facts of the very process `id` names; all unknown when it does not run any more. */
struct proc_facts proc_facts_read(const struct process_id *id);

/* Reads the text of /proc/PID/stat. 0 or -EINVAL. */
int proc_stat_parse(const char *text, struct proc_facts *ret);

#endif
