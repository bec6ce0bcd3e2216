/* SPDX-License-Identifier: MIT
 *
 * What changed from one PyTorch trace to another, operator by operator. Rows are those of ops_count, the same by name; own times
 * add up, so the changes of all rows together are the change of the total, on the CPU and on the device. What ran on the device for
 * no operator that is known is a row of its own. */
#ifndef ANALYZE_TORCH_DIFF_H
#define ANALYZE_TORCH_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;

enum ops_diff_scale {
	OPS_DIFF_ABSOLUTE,
	OPS_DIFF_RUN,  /* shares of each trace's own total */
	OPS_DIFF_STEP, /* per step */
};
extern const char *const ops_diff_scales[]; /* "absolute", "run", "step" */

struct ops_diff_side {
	double calls, self_cpu_s, self_device_s;
};

struct ops_diff_row {
	const char *name;
	bool is_annotation;
	struct ops_diff_side side[2]; /* A, B; scaled */
};

struct ops_diff_trace {
	const char *path;
	const char *missing;        /* op_events_missing */
	size_t n_steps;             /* 0: none were found */
	double step_s;              /* median of a step; NAN without */
	struct ops_diff_side total; /* scaled */
};

struct ops_diff {
	enum ops_diff_scale scale;
	struct ops_diff_row *v; /* the largest change first: CPU and device together */
	size_t n;
	struct ops_diff_trace trace[2];
	bool has_device;
};

/* One side's rows, so that the events need not stay; copied into the arena. */
struct ops_diff_source {
	struct ops_diff_trace trace;
	const struct ops_diff_row *v; /* side[0], not scaled */
	size_t n;
};

struct ops_diff_source ops_diff_take(struct arena *a, const char *path, struct op_events *x);

/* OPS_DIFF_STEP needs steps on both sides: without, it is OPS_DIFF_ABSOLUTE. */
struct ops_diff *ops_diff_build(
	struct arena *a, const struct ops_diff_source source[2], enum ops_diff_scale scale);

#endif
