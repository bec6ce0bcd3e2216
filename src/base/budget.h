/* SPDX-License-Identifier: MIT
 *
 * What a file may cost whoever reads it. Compression, counts and references let a few bytes claim any amount of memory
 * or work; no honest file claims more than a multiple of its own size. Whoever opens a file makes a budget of that
 * size, and all that is unpacked, made or gone over again for it is taken from there:
 *
 *	struct budget b = budget_for(size_bytes);
 *	if (!budget_take(&b, n * sizeof *rows) || !budget_step(&b, n))
 *		return budget_error(&b, e);
 *
 * A budget that was exceeded stays so: code without a way to fail may take from it and leave the answer to its caller.
 * docs/FORMAT.md states the multiples, docs/decisions/0037 where they come from. */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct err;

enum {
	BUDGET_LEAST_BYTES = 64 << 20, /* that any file may cost */
	BUDGET_BYTES = 256,            /* more for each of its own */
	BUDGET_LEAST_STEPS = 16 << 20,
	BUDGET_STEPS = 64,
	BUDGET_RECORD_BYTES = 64, /* what is held of a record beside the record itself */
};

struct budget {
	uint64_t file_bytes;
	uint64_t most_bytes, most_steps;
	uint64_t bytes, steps; /* taken so far */
};

struct budget budget_for(uint64_t file_bytes);
/* A file that turns out to be longer than was known (a pipe, a recording that grows). */
void budget_grow(struct budget *b, uint64_t file_bytes);

static inline bool budget_is_kept(const struct budget *b)
{
	return b->bytes <= b->most_bytes && b->steps <= b->most_steps;
}

/* Both say whether all that was taken by now is within the budget. Nothing that is there comes near 2^64 at once, and
 * nobody goes on long enough for sums to reach it. */
static inline bool budget_take(struct budget *b, uint64_t n_bytes)
{
	b->bytes += n_bytes;
	return budget_is_kept(b);
}

/* Records, or references followed. */
static inline bool budget_step(struct budget *b, uint64_t n_steps)
{
	b->steps += n_steps;
	return budget_is_kept(b);
}

/* ERR_BAD_FILE and the line that says so. */
int budget_error(const struct budget *b, struct err *e);

#endif
