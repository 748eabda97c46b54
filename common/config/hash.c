/* Hashes over what differs from the defaults, in the order of the tables: a new key of a later version
 * changes the hash of no task that does not use it. Secrets are no part of it, as they are none of a dump.
 * A schedule counts by its meaning: MON-FRI for 1-5 is no other definition, which would end the running one. */
#include "common/config/field.h"

#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/config/config.h"

static int hash_text(struct buf *text, char ret[17])
{
        char digest[DIGEST_TEXT];

        if (text->failed)
                return -ENOMEM;
        digest_hex(buf_string(text), text->len, digest);
        memcpy(ret, digest, 16);
        ret[16] = '\0';
        return 0;
}

static int task_hashes(struct task *t, const struct task *pristine, struct buf *scratch)
{
        char schedule[SCHEDULE_TEXT];

        schedule_text(&t->schedule, schedule, sizeof(schedule));
        buf_clear(scratch);
        buf_format(scratch, "%s\n", schedule);
        fields_dump(task_fields, FIELDS_WHEN, t, pristine, 0, scratch);
        int r = hash_text(scratch, t->when_hash);
        if (r < 0)
                return r;
        buf_clear(scratch);
        fields_dump(task_fields, FIELDS_REST, t, pristine, 0, scratch);
        if (t->redis.text)
                buf_text(scratch, t->redis.text);
        return hash_text(scratch, t->def_hash);
}

static int config_hash(struct config *c, const struct config *pristine)
{
        _cleanup_(buf_done) struct buf text = BUF_EMPTY;

        fields_dump(config_fields, FIELDS_ALL, c, pristine, 0, &text);
        for (size_t i = 0; i < c->alert_count; i++)
                fields_dump(alert_fields, FIELDS_ALL, &c->alerts[i], NULL, 0, &text);
        for (size_t i = 0; i < c->task_count; i++)
                buf_format(&text, "%s %s %s\n", c->tasks[i].name, c->tasks[i].when_hash,
                           c->tasks[i].def_hash);
        return hash_text(&text, c->hash);
}

static int tasks_hashes(struct config *c)
{
        _cleanup_(buf_done) struct buf scratch = BUF_EMPTY;
        struct task pristine = { 0 };

        int r = fields_init(task_fields, &pristine);
        for (size_t i = 0; i < c->task_count && r == 0; i++)
                r = task_hashes(&c->tasks[i], &pristine, &scratch);
        fields_free(task_fields, &pristine);
        return r;
}

int hashes_fill(struct config *c)
{
        struct config pristine = { 0 };

        int r = tasks_hashes(c);
        if (r == 0)
                r = fields_init(config_fields, &pristine);
        if (r == 0)
                r = config_hash(c, &pristine);
        fields_free(config_fields, &pristine);
        return r;
}
