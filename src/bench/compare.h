/* SPDX-License-Identifier: MIT
 *
 * Runs A and B against each other in blocks (analyze/stats/verdict.h): in each a fresh process of A, of B and of A again, order
 * drawn anew, all three with the same hash seed and environment, until the verdict is clear or the time is over. What is over
 * soon runs in several rounds, and the least of each side counts: other programs and slow spells of a CPU only ever add time. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/verdict.h"

struct err;

enum { COMPARE_MOST_ROUNDS = 9 };

/* One side: takes one time in a fresh process. */
struct contender {
	const char *name;
	int (*time)(void *ctx, uint64_t seed, double *ret_s, struct err *e);
	void *ctx;
};

struct compare_options {
	struct verdict_options verdict;
	double time_s; /* at most, about */
	size_t blocks; /* exactly; 0: until it is clear */
	/* of a block; 0: as many as fit half a second, COMPARE_MOST_ROUNDS at most */
	unsigned rounds;
	bool no_control; /* leave A again out */
	uint64_t seed;
	void (*on_block)(void *ctx, size_t n_blocks, double elapsed_s); /* may be NULL */
	void *ctx;
};

struct comparison {
	struct verdict verdict;
	struct verdict_block *blocks; /* owned */
	size_t n;
	unsigned rounds; /* of each block */
	double elapsed_s;
};

/* Both sides run once before, uncounted: files and caches are warm for either. When a side fails, or Ctrl-C was pressed, the
 * blocks so far are in ret and judged. */
int compare_run(const struct contender *a, const struct contender *b,
	const struct compare_options *o, struct comparison *ret, struct err *e);
void comparison_done(struct comparison *c);

#endif
