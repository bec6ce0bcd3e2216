/* SPDX-License-Identifier: MIT
 * What is known of functions and lines beyond their values, where stacks have sums (stacks.h): a part of profile.c. */
#ifndef ANALYZE_SAMPLES_PROFILE_SUMS_H
#define ANALYZE_SAMPLES_PROFILE_SUMS_H

#include <stddef.h>

#include "analyze/stats/sampled_sum.h"

struct stacks;

struct profile_sum {
	struct sampled_sum self, total;
};

struct profile_sums {
	struct profile_sum *functions, *lines; /* by number; owned */
};

/* Recursion counts once. Lines have numbers below n_lines. */
struct profile_sums profile_sums_build(const struct stacks *s, size_t n_lines);
void profile_sums_done(struct profile_sums *p);

#endif
