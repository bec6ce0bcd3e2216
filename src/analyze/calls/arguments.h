/* SPDX-License-Identifier: MIT
 *
 * Arguments: of which functions were the calls repetitions of earlier ones (run --args), so that a cache or a loop less could save
 * them. Counted over all threads and processes.
 *
 * Of more different arguments than fit the sketch the number is an estimate: hashes are sampled, each with all its calls, so
 * calls ÷ (mean calls of a sampled hash) is how many there are; those seen most often are known apart, and are not
 * left to chance. The interval is of 95 %. */
#ifndef ANALYZE_CALLS_ARGUMENTS_H
#define ANALYZE_CALLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct exact;
struct frames;
struct tables;

struct argument_row {
	uint32_t function;       /* number (frames.h) */
	const char *name, *file; /* borrowed from the frames */
	uint32_t first_line;
	uint64_t calls;  /* of the function, as counted */
	uint64_t probed; /* calls whose arguments were looked at */
	/* of them: what was passed is not known in full, so equal ones may differ */
	uint64_t opaque;
	bool is_exact; /* distinct is counted, not estimated */
	double distinct, distinct_low, distinct_high;
	double repeated, repeated_low, repeated_high; /* share of the probed calls */
	double repeated_s; /* at most: that share of the function's total time; unknown without a clock */
	const char *shape; /* seen most often: "(int 20, str[5])"; "" when none was seen twice */
	uint64_t shape_calls, shape_over; /* over: they may be fewer by this */
};

struct arguments {
	/* Those whose arguments are known in full first; then most time that is repeated, else most calls. */
	const struct argument_row *v;
	size_t n;
};

/* Never NULL. exact: of the same recording. */
const struct arguments *arguments_build(
	struct arena *a, struct tables *t, struct frames *f, const struct exact *exact);

#endif
