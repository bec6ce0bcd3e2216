/* SPDX-License-Identifier: MIT
 *
 * Spans in each other as they should be counted: every moment of a thread belongs to the innermost span, where two overlap to
 * the one that began last, which is cut at the end of the one it began in. Python functions lie in Python functions, and
 * operators in operators.
 *
 *	ops_nest_init(&n, x);
 *	n.tree.parent[node], n.self_ns[node], n.around[node] ...
 *	ops_nest_done(&n); */
#ifndef ANALYZE_TORCH_NEST_H
#define ANALYZE_TORCH_NEST_H

#include "analyze/torch/tree.h"

struct ops_nest {
	struct ops_tree tree; /* with Python functions; callers are those of this way to count */
	size_t n;             /* nodes */
	int64_t *self_ns, *end_ns; /* by node; ends as cut */
	uint32_t *around; /* by node: the innermost Python function; NULL: there are none */
};

void ops_nest_init(struct ops_nest *n, struct op_events *x);
void ops_nest_done(struct ops_nest *n);

/* Its length as cut, on the CPU. */
static inline int64_t ops_nest_ns(const struct ops_nest *n, uint32_t node)
{
	return n->end_ns[node] - ops_node(&n->tree, node)->start_ns;
}

#endif
