/* All logs as one sequence by planned instant, so that no clock decides what is compared with what. */
#ifndef ONCED_PROVE_MERGE_H
#define ONCED_PROVE_MERGE_H

struct evidence;
struct judge;

/* Hands every line about an occurrence to judge_take. 0 or -errno. */
int merge_logs(struct evidence *e, struct judge *j);

#endif
