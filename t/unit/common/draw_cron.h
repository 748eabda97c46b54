/* Cron expressions drawn at random: every form of the grammar, most of them often enough to be met in a day. */
#ifndef ONCED_DRAW_CRON_H
#define ONCED_DRAW_CRON_H

#include <stddef.h>
#include <stdint.h>

/* The next number of a series that `seed` begins; the same on every machine. */
uint64_t draw(uint64_t *seed);
unsigned draw_below(uint64_t *seed, unsigned n);

void draw_cron(uint64_t *seed, char *ret, size_t room);

/* An expression of few times a day, so that years of it can be walked: its days are what is drawn. */
void draw_daily_cron(uint64_t *seed, char *ret, size_t room);

#endif
