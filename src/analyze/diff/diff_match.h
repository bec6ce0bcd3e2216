/* SPDX-License-Identifier: MIT
 * Which function of one recording is which of another: a part of diff.c, whose header has the rule. */
#ifndef ANALYZE_DIFF_DIFF_MATCH_H
#define ANALYZE_DIFF_DIFF_MATCH_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct profile_function;

struct diff_pair { /* NULL: the side has none */
	const struct profile_function *of[2];
};

struct diff_pairs {
	const struct diff_pair *v;
	size_t n;
};

struct diff_list {
	const struct profile_function *v;
	size_t n;
};

/* Every function of either side is in one pair. */
struct diff_pairs diff_match(struct arena *a, struct diff_list before, struct diff_list after);

#endif
