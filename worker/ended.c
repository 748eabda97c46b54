/* Finish lines and counts for records that were ended in place of their dead owner, and the skip and miss lines it
 * may have died before writing; whoever reads both knows them for one fact. */
#include "worker/ended.h"

#include "common/record/triglog.h"
#include "common/scoreboard/scoreboard.h"
#include "ledger/ledger.h"
#include "worker/shortfall.h"

void ended_log(struct triglog *log, struct board_place *place, struct shortfalls *people,
               const struct ended_record *list, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const struct ended_record *e = &list[i];
                struct line_subject subject = {
                        .trig = e->trig, .occ = e->occ, .task = e->task, .scope_key = e->scope_key,
                        .shard = e->shard, .planned = e->planned,
                };
                triglog_finish(log, &subject, e->state, e->cause, RESULT_NONE, 0, e->trig, "");
                if (e->state == STATE_FAILED)
                        continue;   /* not started, and ended, and counted, by the dead process itself */
                /* Its run was counted by the dead process, and its gauge went with it. */
                row_finished(place_row(place, e->task), e->state, RESULT_NONE, -1);
                if (e->state == STATE_INTERRUPTED)
                        place_add(place, COUNT_INTERRUPTED, 1);
                shortfall_run(people, e->task, e->occ, e->state, e->cause, "");
        }
}

void told_log(struct triglog *log, struct shortfalls *people, const struct told_range *list, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const struct told_range *r = &list[i];

                triglog_told(log, r->owner, r->task, r->scope_key, r->shard, r->first, r->last, r->count, r->state,
                             r->cause);
                shortfall_range(people, r->task, &(struct instant_range) { r->first, r->last, r->count }, r->state,
                                r->cause);
        }
}
