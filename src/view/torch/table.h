/* SPDX-License-Identifier: MIT
 * Operator tables: ours, the same as JSON, and the one torch.profiler prints. */
#ifndef VIEW_TORCH_TABLE_H
#define VIEW_TORCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct op_events;
struct ops;
struct ops_torch;

struct ops_view {
	size_t limit;      /* rows; SIZE_MAX: all */
	size_t tree_limit; /* likewise, of a tree */
	bool top_level;
	bool places;     /* operators: their places below them */
	bool by_launch;  /* kernels: rows are op_kernels_by_launch's */
	bool is_partial; /* op_events_missing */
	bool is_light;   /* recorded by run --torch, which has neither shapes nor memory */
	bool colour;
	size_t width;
};

/* What a page says that has nothing to show: the reason, unless part of the file is lost. */
const char *ops_absent(const struct ops_view *v, const char *reason);

/* Rows of ops_count. `what`: of which file; NULL: that is clear. */
void ops_print(const struct ops *ops, const struct ops_view *v, const char *what, struct buf *out);
/* What reading had to leave out or repair, a line each; nothing where all was well. */
void ops_print_losses(const struct op_events *x, struct buf *out);

/* Rows of ops_as_torch, as key_averages().table() prints them. */
void ops_print_torch(const struct ops *ops, const struct ops_torch *torch, const struct ops_view *v,
	struct buf *out);

#endif
