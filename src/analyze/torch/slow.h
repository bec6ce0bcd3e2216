/* SPDX-License-Identifier: MIT
 * Why a step took longer than others: its operators and kernels beside those of the median step. */
#ifndef ANALYZE_TORCH_SLOW_H
#define ANALYZE_TORCH_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;
struct op_steps;

enum { OP_SLOW_STEPS = 5, OP_SLOW_ROWS = 5 };

struct op_slow_row {
	const char *name;
	bool is_device; /* it ran there; else an operator or a region, its own time on the host */
	double seconds, median_s; /* in this step, in the median one */
	uint64_t n_times, n_median;
	double waited_s; /* at least, in this step: ready to run while others had the CPU */
};

struct op_slow_step {
	size_t step; /* in op_steps */
	double seconds;
	const struct op_slow_row *v; /* what took more, the largest difference first */
	size_t n;
};

struct op_slow {
	size_t median; /* the step that all are held against */
	double median_s;
	const struct op_slow_step *v; /* 20 % longer than the median and more, the longest first */
	size_t n;
	size_t n_slow; /* how many there are in all */
};

/* With fewer than three steps there are none. */
const struct op_slow *op_slow_build(
	struct arena *a, struct op_events *x, const struct op_steps *steps);

#endif
