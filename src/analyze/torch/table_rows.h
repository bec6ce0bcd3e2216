/* SPDX-License-Identifier: MIT
 *
 * The rows of operator tables: one per name (with all steps under one), kind and, where asked for, shapes. */
#ifndef ANALYZE_TORCH_TABLE_ROWS_H
#define ANALYZE_TORCH_TABLE_ROWS_H

#include "analyze/torch/table.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct arena;
struct op_event;
struct ops_tree;

struct ops_shape {          /* an entry of x->shapes, looked at once */
	const char *text;   /* as Python prints it; lists of tensors are empty there, as in torch */
	uint32_t canonical; /* the first with that text */
};

struct ops_rows {
	struct arena *arena;
	const struct ops_tree *tree;
	const struct ops_options *options;
	struct map row_of;   /* name, kind and shapes → index */
	struct map pair_of;  /* shapes and stack → number */
	struct map flops_of; /* name and shapes → FLOPs */
	VEC(struct ops_row) v;
	struct ops_shape *shapes; /* by number in x->shapes, filled as needed */
	struct intern texts;      /* of shapes */
};

void ops_rows_init(
	struct ops_rows *r, struct arena *a, const struct ops_tree *t, const struct ops_options *o);
/* The row of an event, valid until the next call. stack: a number for the functions around it, 0 for none. */
struct ops_row *ops_rows_of(struct ops_rows *r, const struct op_event *e, uint32_t stack);
/* As torch counts them (flops.h). */
uint64_t ops_rows_torch_flops(struct ops_rows *r, const struct op_event *e);
/* The table, in the arena; frees the rest. */
struct ops *ops_rows_take(struct ops_rows *r);

#endif
