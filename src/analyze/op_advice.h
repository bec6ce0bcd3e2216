/* SPDX-License-Identifier: MIT
 *
 * What a PyTorch trace says should be changed: a table of rules, each with the figure it looks at, the threshold from which
 * on it speaks, and a page in docs/advice. A rule that lacks its data says nothing. */
#ifndef ANALYZE_OP_ADVICE_H
#define ANALYZE_OP_ADVICE_H

#include <stddef.h>

struct arena;
struct op_events;
struct op_kernels;
struct op_steps;
struct ops;

struct op_finding {
	const char *rule;     /* the page in docs/advice, without .md */
	const char *evidence; /* a sentence with figures, without the full stop */
	const char *change;   /* what to do, likewise */
	double saving_s;      /* of all steps, at most; NAN: cannot be told from a trace */
};

struct op_advice {
	const struct op_finding *v; /* largest saving first, those without one last */
	size_t n;
	/* What all of them save at most: they overlap, so it is less than their sum; NAN where none can be told. */
	double together_s;
};

/* ops: as ops_count makes them. */
const struct op_advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops);

#endif
