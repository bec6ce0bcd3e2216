/* SPDX-License-Identifier: MIT
 *
 * Profile: where sampled time went, by function and by line. Inclusive time counts a function once per
 * stack however often it recurs. A shortened sample is self time of "[cut]", never of the frame it was
 * cut at; shortened and lost samples stay in every denominator. */
#ifndef ANALYZE_PROFILE_H
#define ANALYZE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/interval.h"

struct arena;
struct stacks;

struct profile_cost {
	uint64_t self_n, total_n; /* samples */
	double self_s, total_s;
	struct interval self, total; /* of the share of all samples */
};

struct profile_function {
	const char *name, *file; /* qualified name; "" file for synthetic ones */
	uint32_t first_line;
	bool is_synthetic; /* [cut] and its like */
	struct profile_cost cost;
};

struct profile_line {
	const char *file, *function;
	int line; /* −1: the interpreter has none for it */
	struct profile_cost cost;
};

struct profile {
	uint64_t n_samples;                       /* lost ones included: what shares are of */
	double seconds;                           /* that the samples stand for */
	double lost_share;                        /* of n_samples that gave no stack */
	const struct profile_function *functions; /* by self time, falling */
	size_t n_functions;
	const struct profile_line *lines; /* by self time, falling */
	size_t n_lines;
};

const struct profile *profile_build(struct arena *a, const struct stacks *s);

#endif
