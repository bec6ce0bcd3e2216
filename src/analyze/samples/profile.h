/* SPDX-License-Identifier: MIT
 *
 * Profile: where sampled time went, by function and by line. Inclusive time counts a function once per
 * stack however often it recurs. A shortened sample is self time of "[cut]", never of the frame it was
 * cut at; shortened and lost samples stay in every denominator: what was lost is nobody's time. */
#ifndef ANALYZE_SAMPLES_PROFILE_H
#define ANALYZE_SAMPLES_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/interval.h"
#include "base/units.h"

struct arena;
struct stacks;

struct profile_cost {
	uint64_t self_n, total_n; /* samples */
	double self_value, total_value;
	struct interval self, total; /* of the share of all sampled time */
	/* Of sampled allocations: how many those were, estimated; the intervals are those of the bytes, as shares of the estimated total. */
	double self_count, total_count;
};

struct profile_function {
	const char *name, *file; /* qualified name; "" file for synthetic ones */
	uint32_t first_line;
	bool is_synthetic; /* [cut] and its like */
	uint32_t function; /* its number (frames.h) */
	/* Counted call by call (exact.h); else 0: */
	uint32_t exact; /* index there */
	uint64_t calls, primitive_calls;
	struct profile_cost cost;
};

struct profile_line {
	const char *file, *function;
	uint32_t function_id; /* its number (frames.h) */
	uint32_t first_line;  /* of the function */
	int line;             /* −1: the interpreter has none for it */
	/* The part of the line that most of its own time is spent in, bytes; −1: not known. */
	int column, end_column;
	double column_share; /* of the line's own time */
	struct profile_cost cost;
};

struct profile {
	uint64_t n_samples; /* lost ones included: what shares are of */
	double n_effective; /* samples of equal weight that tell as much as these */
	double value;       /* that the samples stand for, lost ones included */
	enum unit unit;     /* of all values (origin.h) */
	bool has_counts;    /* of sampled allocations */
	bool is_exact;      /* or not known to be sampled: intervals are UNITS_UNKNOWN */
	double lost_share;  /* of n_samples that gave no stack */
	const struct profile_function *functions; /* by self time, falling */
	size_t n_functions;
	const struct profile_line *lines; /* by self time, falling */
	size_t n_lines;
};

enum profile_order {
	PROFILE_SELF,
	PROFILE_TOTAL,
	PROFILE_NAME,
	PROFILE_FILE,
	PROFILE_LINE,
	PROFILE_CALLS, /* and those that are not recursive: counted, so of exact profiles */
	PROFILE_PRIMITIVE,
};

const struct profile *profile_build(struct arena *a, const struct stacks *s);
/* The same in another order: time and calls fall, names rise; FILE goes by file, line and name, LINE by line. */
const struct profile *profile_sorted(
	struct arena *a, const struct profile *p, enum profile_order order);

#endif
