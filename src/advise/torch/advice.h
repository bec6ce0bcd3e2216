/* SPDX-License-Identifier: MIT
 *
 * What a PyTorch trace says should be changed, as findings: a table of rules, each with the figure it looks at, the threshold from
 * which on it speaks, and a page in docs/advice. A rule that lacks its data says nothing.
 *
 * A finding has a file and line where one of them asked for at least half of its time: the line itself in light recordings
 * (run --torch), the first line of the function where Python functions were traced (no line of one that was running when
 * profiling began). It is a heuristic, whatever its rule can claim,
 * where the trace has fewer than OP_ADVICE_STEPS steps, or events of it are missing. */
#ifndef ANALYZE_OP_ADVICE_H
#define ANALYZE_OP_ADVICE_H

#include <stddef.h>

struct arena;
struct finding;
struct op_events;
struct op_kernels;
struct op_steps;
struct ops;

enum { OP_ADVICE_STEPS = 3 }; /* from so many on, one that is unlike the others does not decide */

struct op_advice {
	const struct finding *v; /* findings_sort */
	size_t n;
	/* What all of them save at most, in time: they overlap, so it is less than their sum; NAN where none can be told. */
	double together_s;
};

/* ops: as ops_count makes them. */
const struct op_advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops);

#endif
