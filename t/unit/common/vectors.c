#include "t/unit/common/vectors.h"

#include <stdio.h>
#include <stdlib.h>

#include "t/unit/cases.h"

size_t vectors_each(const char *name, void (*each)(const json_t *line))
{
        char path[4096], *text = NULL;
        size_t room = 0, count = 0;
        const char *source = getenv("ONCED_SOURCE");

        assert_non_null(source);
        (void) snprintf(path, sizeof(path), "%s/t/vectors/%s", source, name);
        FILE *f = fopen(path, "r");
        if (!f)
                fail_msg("%s cannot be read", path);
        while (getline(&text, &room, f) > 0) {
                json_error_t error;
                json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, &error);
                if (!line)
                        fail_msg("%s: %s", path, error.text);
                each(line);
                json_decref(line);
                count++;
        }
        free(text);
        (void) fclose(f);
        assert_true(count > 0);
        return count;
}

const char *vector_text(const json_t *line, const char *key)
{
        const char *text = json_string_value(json_object_get(line, key));

        if (!text)
                fail_msg("no %s", key);
        return text;
}

int64_t vector_int(const json_t *line, const char *key)
{
        const json_t *value = json_object_get(line, key);

        if (!json_is_integer(value))
                fail_msg("no %s", key);
        return json_integer_value(value);
}

struct instant vector_instant(const json_t *value)
{
        struct instant i = { 0 };

        if (json_is_null(value))
                return INSTANT_NONE;
        if (!json_is_string(value) || instant_parse(json_string_value(value), &i) < 0)
                fail_msg("no instant");
        return i;
}
