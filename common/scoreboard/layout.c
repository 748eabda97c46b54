/* Words, texts and rows of the scoreboard: what its writers and readers share. */
#include "common/scoreboard/layout.h"

#include <string.h>

void words_put_text(_Atomic uint64_t *w, size_t words, const char *text)
{
        size_t len = strnlen(text, words * 8 - 1);

        for (size_t i = 0; i < words; i++) {
                uint64_t value = 0;
                if (i * 8 < len)
                        memcpy(&value, text + i * 8, len - i * 8 < 8 ? len - i * 8 : 8);
                word_put(&w[i], value);
        }
}

void words_get_text(const _Atomic uint64_t *w, size_t words, char *ret, size_t room)
{
        size_t len = 0;

        for (size_t i = 0; i < words * 8; i++) {
                unsigned char c = (unsigned char) (word_get(&w[i / 8]) >> (i % 8 * 8));
                if (c == 0)
                        break;
                if (c < 0x20 || c > 0x7e || len + 1 >= room) {
                        len = 0;
                        break;
                }
                ret[len++] = (char) c;
        }
        ret[len] = 0;
}

void sequence_begin(_Atomic uint64_t *s)
{
        /* | 1, not + 1: a word left odd by garbage must not turn the meaning around. */
        word_put(s, word_get(s) | 1);
        atomic_thread_fence(memory_order_release);
}

void sequence_end(_Atomic uint64_t *s)
{
        atomic_store_explicit(s, word_get(s) + 1, memory_order_release);
}

bool sequence_read(const _Atomic uint64_t *s, uint64_t *ret)
{
        *ret = atomic_load_explicit(s, memory_order_acquire);
        return (*ret & 1) == 0;
}

bool sequence_same(const _Atomic uint64_t *s, uint64_t seen)
{
        atomic_thread_fence(memory_order_acquire);
        return word_get(s) == seen;
}

/* FNV-1a: names are few and short, and nobody gains by making them collide. */
uint64_t row_hash(const char *name)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);

        for (; *name; name++)
                h = (h ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
        return h ? h : 1;
}

const struct board_row *rows_find(const struct board_row *rows, const char *task)
{
        uint64_t hash = row_hash(task);
        char name[TASK_NAME_MAX];

        if (strcmp(task, OTHER_NAME) == 0)
                return &rows[BOARD_TASKS];
        for (unsigned i = 0; i < BOARD_TASKS; i++) {
                const struct board_row *r = &rows[(hash + i) % BOARD_TASKS];
                uint64_t found = atomic_load_explicit(&r->hash, memory_order_acquire);
                if (found == 0)
                        return NULL;
                if (found != hash)
                        continue;
                words_get_text(r->name, NAME_WORDS, name, sizeof(name));
                if (strcmp(name, task) == 0)
                        return r;
        }
        return NULL;
}
