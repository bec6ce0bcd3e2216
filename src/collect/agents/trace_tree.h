/* SPDX-License-Identifier: MIT
 *
 * The calling-context trees of one process as the tool sees them: a copy of its sparse area (wire/trace.h), which
 * may hold anything, turned into `node` records.
 *
 *	struct trace_tree t = { 0 };
 *	trace_tree_take(&t, &copy);		takes a copy of the memory over
 *	trace_tree_each(&t, on_node, ctx);	what has changed since the call before
 *	trace_tree_done(&t); */
#ifndef COLLECT_TRACE_TREE_H
#define COLLECT_TRACE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "wire/trace.h"

struct trace_tree {
	struct buf area, before;                /* copies, now and at the last trace_tree_each */
	uint64_t *inclusive, *inclusive_before; /* by place: granule × TRACE_NODES + index; owned */
	size_t n_places, n_places_before;
	VEC(uint32_t) first_id; /* of each granule of nodes; 0: none yet */
	uint32_t *next_id;      /* borrowed: ids are unique in a recording */
};

/* A node that has changed. Times are in the session's clock. */
struct trace_tree_node {
	const struct trace_granule *granule; /* of its thread; checked */
	const struct trace_node *node;
	uint32_t id, parent; /* in the recording */
	uint32_t ref;        /* in the process */
	uint64_t inclusive;
};

typedef void trace_tree_fn(void *ctx, const struct trace_tree_node *node);

/* `area` (moved into the tree) is what session_snapshot gave. */
void trace_tree_take(struct trace_tree *t, struct buf *area);
void trace_tree_each(struct trace_tree *t, trace_tree_fn *on_node, void *ctx);
/* Counters of all threads, as of the last trace_tree_each. */
struct trace_tree_counters {
	uint64_t n_resynced, n_folded;
	uint64_t n_paces, paces; /* the CPU's pace: measurements and their sum, in ticks */
};

struct trace_tree_counters trace_tree_counters(const struct trace_tree *t);
void trace_tree_done(struct trace_tree *t);

#endif
