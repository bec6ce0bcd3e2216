/* SPDX-License-Identifier: MIT
 *
 * The Python functions around operators, where a trace has them (with_stack=True): who asked for an operator, in which
 * module of the model. torch names a function by the line it begins at, or, where it ran already when profiling began, by the line it
 * was at then. Neither asked for anything. Where a trace tells from where functions were called (op_events.sources), that line is
 * named; otherwise the function alone. */
#ifndef ANALYZE_TORCH_PYTHON_H
#define ANALYZE_TORCH_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"

struct ops_tree;

struct ops_python {
	const struct ops_tree *tree;
	/* by node: the innermost Python function around it; its own callers are its parents */
	const uint32_t *around;
	struct intern stacks; /* texts of them */
	struct map stack_of;  /* Python function's node → number in stacks + 1 */
	/* Python function's node → who asks in it: struct ops_source as a number */
	struct map source_of;
	struct map bare; /* a function's name → the same without its line */
};

void ops_python_done(struct ops_python *p);

/* The n innermost functions around a node, built-in ones left out: its number + 1 in stacks, 0 where there are none. */
uint32_t ops_python_stack(struct ops_python *p, uint32_t node, unsigned n);

/* Who asked for an operator: a line, or the innermost function that is not torch's where the line is not known. */
struct ops_source {
	uint32_t name;    /* "train.py(12): step"; OPS_NONE: nobody is known */
	bool is_function; /* the line is not the one that asked */
};

struct ops_source ops_python_source(struct ops_python *p, uint32_t node);
/* The name of a function without its line, "train.py: step". */
uint32_t ops_python_without_line(struct ops_python *p, uint32_t name);
/* The name of the innermost module, OPS_NONE where there is none. */
uint32_t ops_python_module(const struct ops_python *p, uint32_t node);

#endif
