/* Identities are digests over netstrings: no two different sets of fields can give the same bytes. */
#include "common/record/ids.h"

#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

void digest_hex(const void *bytes, size_t len, char ret[DIGEST_TEXT])
{
        static const char digits[] = "0123456789abcdef";
        unsigned char sum[SHA256_DIGEST_LENGTH];

        (void) SHA256(bytes, len, sum);
        for (size_t i = 0; i < sizeof(sum); i++) {
                ret[2 * i] = digits[sum[i] >> 4];
                ret[2 * i + 1] = digits[sum[i] & 15];
        }
        ret[2 * sizeof(sum)] = '\0';
}

void occurrence_id(const char *scope_key, const char *task, unsigned shard, struct instant planned,
                   char ret[OCC_TEXT])
{
        char shard_text[16], planned_text[24];
        char bytes[NODE_ID_MAX + TASK_NAME_MAX + 128];

        (void) snprintf(shard_text, sizeof(shard_text), "%u", shard);
        (void) snprintf(planned_text, sizeof(planned_text), "%" PRId64, planned.ms);
        int n = snprintf(bytes, sizeof(bytes), "onced:1:%zu:%s,%zu:%s,%zu:%s,%zu:%s,", strlen(scope_key), scope_key,
                         strlen(task), task, strlen(shard_text), shard_text, strlen(planned_text),
                         planned_text);
        digest_hex(bytes, (size_t) n, ret);
}

void owner_text(const char *node, const char *slot, const struct process_id *p, char ret[OWNER_TEXT])
{
        (void) snprintf(ret, OWNER_TEXT, "%s.%s.%d.%s", node, slot, (int) p->pid, p->start);
}

void trigger_id(const char *owner, uint64_t seq, char ret[TRIG_TEXT])
{
        (void) snprintf(ret, TRIG_TEXT, "%s.%" PRIu64, owner, seq);
}

void claim_token(const char *owner, const char *occ, char ret[TOKEN_TEXT])
{
        char bytes[OWNER_TEXT + OCC_TEXT], sum[DIGEST_TEXT];
        size_t owner_len = strnlen(owner, OWNER_TEXT - 1), occ_len = strnlen(occ, OCC_TEXT - 1);

        memcpy(bytes, owner, owner_len);
        bytes[owner_len] = '\0';
        memcpy(bytes + owner_len + 1, occ, occ_len);
        digest_hex(bytes, owner_len + 1 + occ_len, sum);
        memcpy(ret, sum, TOKEN_TEXT - 1);
        ret[TOKEN_TEXT - 1] = '\0';
}

void unit_text(const char *scope_key, const char *task, unsigned shard, char ret[UNIT_TEXT])
{
        (void) snprintf(ret, UNIT_TEXT, "%zu:%s,%zu:%s,%u", strlen(scope_key), scope_key, strlen(task), task,
                        shard);
}
