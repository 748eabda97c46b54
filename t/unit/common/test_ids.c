/* Identities against vectors made by another program: sinks and log readers depend on every byte. */
#include <string.h>

#include "common/record/ids.h"
#include "common/record/names.h"
#include "t/unit/cases.h"
#include "t/unit/common/vectors.h"

static void check_ids(const json_t *line)
{
        char occ[OCC_TEXT], token[TOKEN_TEXT], unit[UNIT_TEXT];
        unsigned shard = (unsigned) vector_int(line, "shard");

        occurrence_id(vector_text(line, "scope_key"), vector_text(line, "task"), shard,
                      (struct instant) { vector_int(line, "planned") }, occ);
        assert_string_equal(occ, vector_text(line, "occ"));
        claim_token(vector_text(line, "owner"), occ, token);
        assert_string_equal(token, vector_text(line, "token"));
        unit_text(vector_text(line, "scope_key"), vector_text(line, "task"), shard, unit);
        assert_string_equal(unit, vector_text(line, "unit"));
}

static void id_vectors_hold(void **state)
{
        (void) state;
        assert_int_equal(vectors_each("ids.jsonl", check_ids), 4);
}

static void owner_and_trigger_name_node_slot_process_and_try(void **state)
{
        struct process_id p = { .pid = 4711, .start = "81234-a2f3" };
        char owner[OWNER_TEXT], trig[TRIG_TEXT];

        (void) state;
        owner_text("web1-2a3b4c5d", "2", &p, owner);
        assert_string_equal(owner, "web1-2a3b4c5d.2.4711.81234-a2f3");
        trigger_id(owner, 17, trig);
        assert_string_equal(trig, "web1-2a3b4c5d.2.4711.81234-a2f3.17");
}

static void names_are_found_by_word(void **state)
{
        (void) state;
        assert_int_equal(name_index(state_names, "interrupted"), STATE_INTERRUPTED);
        assert_int_equal(name_index(cause_names, "log"), CAUSE_LOG);
        assert_int_equal(name_index(outcome_names, "lost_local"), OUTCOME_LOST_LOCAL);
        assert_int_equal(name_index(path_names, "Flock"), -1);
        assert_true(state_is_final(STATE_MISSED) && !state_is_final(STATE_RUNNING));
}

int main(int argc, char **argv)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(id_vectors_hold),
                cmocka_unit_test(owner_and_trigger_name_node_slot_process_and_try),
                cmocka_unit_test(names_are_found_by_word),
        };
        return RUN_CASES(argc, argv, "ids", tests);
}
