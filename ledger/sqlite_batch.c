/* One batch, one transaction: reads need no lock and go first, then all writes under ledger.lock, finishes
 * before claims so that a freed slot can be claimed in the same step. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/config/config.h"
#include "common/fault.h"
#include "ledger/sqlite_store.h"

#define KEPT_TEXT_MAX  (64u << 10)
#define KEPT_ERROR_MAX (4u << 10)

typedef int (*operation)(struct sqlite_store *s, struct ledger_call *c);

static const struct {
        operation run;
        bool reads;      /* changes nothing: no lock, no transaction */
        bool durable;    /* must be on the disk before it is answered */
        int turn;
} operations[LEDGER_OP_COUNT_] = {
        [LEDGER_PEEK] = { op_peek, true, false, 0 },
        [LEDGER_HISTORY] = { op_history, true, false, 0 },
        [LEDGER_QUEUED] = { op_queued, true, false, 0 },
        [LEDGER_BEAT] = { op_beat, true, false, 0 },
        [LEDGER_NODES] = { op_nodes, true, false, 0 },
        [LEDGER_SET_MAIN] = { op_set_main, true, false, 0 },
        [LEDGER_SWEEP] = { op_sweep, true, false, 0 },
        [LEDGER_FINISH] = { op_finish, false, false, 1 },
        [LEDGER_INTERRUPT] = { op_interrupt, false, false, 1 },
        [LEDGER_SAID] = { op_said, false, false, 1 },
        [LEDGER_LEAD] = { op_lead, false, true, 2 },
        [LEDGER_DEFINE] = { op_define, false, true, 2 },
        [LEDGER_REGISTER] = { op_register, false, true, 2 },
        [LEDGER_REVOKE] = { op_revoke, false, true, 2 },
        [LEDGER_TAKE] = { op_take, false, true, 3 },
        [LEDGER_CLAIM] = { op_claim, false, true, 3 },
};
#define TURNS 4

static void fail(struct ledger_call *c, int error, const char *why)
{
        ledger_call_done(c);
        memset(&c->out, 0, sizeof(c->out));
        c->error = error;
        (void) snprintf(c->why, sizeof(c->why), "%.*s", (int) sizeof(c->why) - 1, why);
}

static bool word_fits(const char *word, size_t room)
{
        return word && strnlen(word, room) < room;
}

static bool unit_fits(const struct unit_key *u)
{
        return word_fits(u->scope_key, NODE_ID_MAX) && word_fits(u->task, TASK_NAME_MAX) && u->shard < SHARDS_MAX;
}

static bool gap_fits(const struct claim_in *in)
{
        const struct instant_range *g = &in->gap;

        if (g->count == 0)
                return !instant_is_none(in->planned);
        return g->first.ms > in->expect.ms && g->first.ms <= g->last.ms && g->count <= INT64_MAX &&
               (instant_is_none(in->planned) || g->last.ms < in->planned.ms);
}

static bool claim_fits(const struct claim_in *in)
{
        return unit_fits(&in->unit) && word_fits(in->occ, OCC_TEXT) && word_fits(in->token, TOKEN_TEXT) &&
               word_fits(in->trig, TRIG_TEXT) && word_fits(in->owner, OWNER_TEXT) &&
               word_fits(in->node, NODE_ID_MAX) && gap_fits(in);
}

static bool take_fits(const struct take_in *in)
{
        return unit_fits(&in->unit) && word_fits(in->token, TOKEN_TEXT) && *in->token &&
               word_fits(in->trig, TRIG_TEXT) && word_fits(in->owner, OWNER_TEXT) && word_fits(in->node, NODE_ID_MAX);
}

static bool finish_fits(const struct finish_in *in)
{
        return unit_fits(&in->unit) && word_fits(in->occ, OCC_TEXT) && word_fits(in->token, TOKEN_TEXT) &&
               word_fits(in->fence, FENCE_TEXT) && word_fits(in->trig, TRIG_TEXT) &&
               word_fits(in->owner, OWNER_TEXT) && word_fits(in->node, NODE_ID_MAX) &&
               state_is_final(in->state) && in->cause < CAUSE_COUNT_ && in->result < RESULT_COUNT_ &&
               in->text_len <= KEPT_TEXT_MAX && (in->text || in->text_len == 0) &&
               word_fits(in->error, KEPT_ERROR_MAX + 1) && (!in->take || take_fits(in->take));
}

/* A call that could not be stored whole would fail its whole batch: it is turned away before. */
static bool call_fits(const struct ledger_call *c)
{
        switch (c->op) {
        case LEDGER_LEAD:
                return word_fits(c->in.lead.node, NODE_ID_MAX) && c->in.lead.boot;
        case LEDGER_DEFINE:
                return word_fits(c->in.define.task, TASK_NAME_MAX) && word_fits(c->in.define.when_hash, 65) &&
                       word_fits(c->in.define.def_hash, 65) && c->in.define.shards <= SHARDS_MAX;
        case LEDGER_REGISTER:
                return unit_fits(&c->in.reg.unit);
        case LEDGER_PEEK:
                return unit_fits(&c->in.peek.unit);
        case LEDGER_CLAIM:
                return claim_fits(&c->in.claim);
        case LEDGER_REVOKE:
                return unit_fits(&c->in.revoke.unit) && word_fits(c->in.revoke.occ, OCC_TEXT) &&
                       word_fits(c->in.revoke.token, TOKEN_TEXT);
        case LEDGER_RENEW:
        case LEDGER_NODES:
        case LEDGER_SWEEP:
                return true;
        case LEDGER_BEAT:
                return word_fits(c->in.beat.node, NODE_ID_MAX);
        case LEDGER_SET_MAIN:
                return word_fits(c->in.set_main.node, NODE_ID_MAX);
        case LEDGER_TAKE:
                return take_fits(&c->in.take);
        case LEDGER_QUEUED:
                return word_fits(c->in.queued.node, NODE_ID_MAX);
        case LEDGER_FINISH:
                return finish_fits(&c->in.finish);
        case LEDGER_INTERRUPT:
                return word_fits(c->in.interrupt.owner, OWNER_TEXT);
        case LEDGER_SAID:
                return !c->in.said.owner || word_fits(c->in.said.owner, OWNER_TEXT);
        case LEDGER_HISTORY:
                return c->in.history.limit >= 1 && c->in.history.limit <= 1000 && c->in.history.state < STATE_COUNT_;
        default:
                return false;
        }
}

static int begin(struct sqlite_store *s, bool full)
{
        sqlite3_stmt *st;

        int r = store_sync_level(s, full);
        if (r < 0)
                return r;
        r = statement_run(s, SQL_BEGIN, NO_VALUES);
        if (r < 0)
                return r;
        r = statement_begin(s, SQL_META, NO_VALUES, &st);
        if (r < 0)
                return r;
        r = statement_row(s, st);
        uint64_t life = r > 0 ? (uint64_t) sqlite3_column_int64(st, 1) : 0;
        s->clean = r > 0 && sqlite3_column_int(st, 3) == 1;
        s->barrier = r > 0 && sqlite3_column_type(st, 5) != SQLITE_NULL ?
                             (struct instant) { sqlite3_column_int64(st, 5) } : INSTANT_NONE;
        s->fence = s->fence_before = r > 0 ? sqlite3_column_int64(st, 6) : 0;
        s->now = clock_wall();
        statement_resetp(&st);
        if (r < 0)
                return r;
        if (life != s->life) {
                store_halt(s, "%s was replaced while it was open", s->path);
                return -EUCLEAN;
        }
        return 0;
}

static void roll_back(struct sqlite_store *s)
{
        if (!sqlite3_get_autocommit(s->db))
                (void) statement_run(s, SQL_ROLLBACK, NO_VALUES);
}

static int perform_all(struct sqlite_store *s, struct ledger_call **calls, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                struct ledger_call *c = calls[i];

                ledger_call_done(c);
                memset(&c->out, 0, sizeof(c->out));
                c->error = 0;
                c->why[0] = '\0';
                int r = operations[c->op].run(s, c);
                if (r < 0)
                        return r;
        }
        if (s->fence != s->fence_before)
                return statement_run(s, SQL_META_FENCE, VALUES(NUMBER(s->fence)));
        return 0;
}

static bool wants_durable(const struct sqlite_store *s, struct ledger_call **calls, size_t count)
{
        if (s->config->durability == DURABILITY_PROCESS)
                return false;
        for (size_t i = 0; i < count; i++)
                if (operations[calls[i]->op].durable || (calls[i]->op == LEDGER_FINISH && calls[i]->in.finish.take))
                        return true;
        return false;
}

/* A batch that wrote nothing has nothing to commit and costs no sync. */
static int transact(struct sqlite_store *s, struct ledger_call **calls, size_t count, bool *ret_committing)
{
        bool full = wants_durable(s, calls, count);

        int r = begin(s, full);
        if (r == 0 && s->clean && !full) {
                /* Taking the mark of a clean end away must not be lost with the power. */
                roll_back(s);
                r = begin(s, true);
        }
        int64_t before = sqlite3_total_changes64(s->db);
        if (r == 0)
                r = perform_all(s, calls, count);
        if (r == 0 && s->clean && sqlite3_total_changes64(s->db) != before)
                r = identity_unmark(s);
        if (r == 0) {
                *ret_committing = true;
                fault_point("commit-held");
                r = statement_run(s, SQL_COMMIT, NO_VALUES);
        }
        return r;
}

/* What becomes of the connection after a failed transaction, and how its calls are answered. */
static int settle_failure(struct sqlite_store *s, int r, bool committing)
{
        int code = sqlite3_extended_errcode(s->db);

        switch (r) {
        case -EUCLEAN:
                store_halt(s, "%s is damaged: %s; it is kept", s->path, sqlite3_errmsg(s->db));
                return -EUCLEAN;
        case -EIO:
                s->rewrite |= code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
                store_close(s);
                /* Not for good, however often: opened anew, all of the WAL is written and checked before anything
                 * is built on it, so a disk that works again needs no person. */
                store_down(s, "%s: %s", s->path, strerror(EIO));
                /* The frames of a failed commit may be found whole after a crash. */
                return committing ? -ETIMEDOUT : -EAGAIN;
        case -EPROTO:
                return r;
        default:
                store_down(s, "%s: %s", s->path, r == -EAGAIN ? "locked by another program" : strerror(-r));
                return -EAGAIN;
        }
}

static int transact_locked(struct sqlite_store *s, struct ledger_call **calls, size_t count)
{
        bool committing = false;

        if (!store_file_is_ours(s)) {
                store_halt(s, "%s was replaced or removed while it was open", s->path);
                return -EUCLEAN;
        }
        int r = transact(s, calls, count, &committing);
        if (r == 0) {
                store_up(s, "");
                return 0;
        }
        /* Before the rollback, which sets the error anew. */
        int answer = settle_failure(s, r, committing);
        if (s->db)
                roll_back(s);
        return answer;
}

static void run_writes(struct sqlite_store *s, struct ledger_call **calls, size_t count)
{
        int r = s->db ? store_lock(s) : -EAGAIN;
        if (r == 0) {
                r = transact_locked(s, calls, count);
                store_unlock(s);
        } else if (s->db) {
                store_down(s, "%s: %s", s->lock_path, strerror(-r));
                r = -EAGAIN;
        }
        if (r == 0)
                return;
        if (r == -EPROTO && count > 1) {
                for (size_t i = 0; i < count; i++)
                        run_writes(s, &calls[i], 1);
                return;
        }
        for (size_t i = 0; i < count; i++)
                fail(calls[i], r, r == -EPROTO ? "internal: refused by the database" : s->why);
}

static void run_read(struct sqlite_store *s, struct ledger_call *c)
{
        memset(&c->out, 0, sizeof(c->out));
        c->error = 0;
        int r = operations[c->op].run(s, c);
        if (r == -EUCLEAN)
                store_halt(s, "%s is damaged: %s; it is kept", s->path, sqlite3_errmsg(s->db));
        if (r < 0)
                fail(c, r == -EUCLEAN || r == -EPROTO || r == -ENOMEM ? r : -EAGAIN, strerror(-r));
}

/* Leases are for stores whose holders cannot be watched: here the master sees every death. */
static void renew(struct ledger_call *c)
{
        c->error = 0;
        c->out.renew = (struct renew_out) { RENEWED_OK, { INT64_MAX } };
}

/* True when the call still waits for the database. */
static bool answer_at_once(struct sqlite_store *s, struct ledger_call *c)
{
        memset(&c->out, 0, sizeof(c->out));
        if (!call_fits(c))
                fail(c, -EINVAL, "the call does not fit the limits");
        else if (s->halted)
                fail(c, -EUCLEAN, s->why);
        else if (c->op == LEDGER_RENEW)
                renew(c);
        else if (!s->db)
                fail(c, -EAGAIN, s->why);
        else if (s->read_only && !operations[c->op].reads)
                fail(c, -EROFS, "this connection only reads");
        else
                return true;
        return false;
}

void store_serve(struct sqlite_store *s, struct ledger_call *list)
{
        struct ledger_call *writes[SQLITE_BATCH_MAX];
        size_t count = 0;

        /* A reader has no say in which file it is: after a recovery it follows the name. */
        if (s->db && s->read_only && !store_file_is_ours(s))
                store_close(s);
        if (!s->db && !s->halted)
                (void) store_open(s);
        for (int turn = 0; turn < TURNS; turn++)
                for (struct ledger_call *c = list; c; c = c->next) {
                        if (operations[c->op].turn != turn || !answer_at_once(s, c))
                                continue;
                        if (operations[c->op].reads)
                                run_read(s, c);
                        else {
                                assert(count < SQLITE_BATCH_MAX);
                                writes[count++] = c;
                        }
                }
        if (count > 0)
                run_writes(s, writes, count);
}
