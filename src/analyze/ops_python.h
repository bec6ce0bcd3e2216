/* SPDX-License-Identifier: MIT
 *
 * The Python functions around operators, where a trace has them (with_stack=True): who asked for an operator, in which
 * module of the model. */
#ifndef ANALYZE_OPS_PYTHON_H
#define ANALYZE_OPS_PYTHON_H

#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"

struct ops_tree;

struct ops_python {
	const struct ops_tree *tree;
	const uint32_t *
		around; /* by node: the innermost Python function around it; its own callers are its parents */
	struct intern stacks; /* texts of them */
	struct map stack_of;  /* Python function's node → number in stacks + 1 */
};

void ops_python_done(struct ops_python *p);

/* The n innermost functions around a node, built-in ones left out: its number + 1 in stacks, 0 where there are none. */
uint32_t ops_python_stack(struct ops_python *p, uint32_t node, unsigned n);
/* Names' numbers, OPS_NONE where there is none: the innermost function that is not torch's, and the innermost module. */
uint32_t ops_python_source(const struct ops_python *p, uint32_t node);
uint32_t ops_python_module(const struct ops_python *p, uint32_t node);

#endif
