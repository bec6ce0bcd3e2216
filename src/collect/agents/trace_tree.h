/* SPDX-License-Identifier: MIT
 *
 * The calling-context trees of one process as the tool sees them: a copy of its sparse area (wire/trace.h), which
 * may hold anything, turned into `node` records.
 *
 *	struct trace_tree t = { 0 };
 *	trace_tree_take(&t, &copy);		takes a copy of the memory over
 *	trace_tree_each(&t, on_node, ctx);	what has changed since the call before
 *	trace_tree_done(&t); */
#ifndef COLLECT_AGENTS_TRACE_TREE_H
#define COLLECT_AGENTS_TRACE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "wire/trace.h"

/* Counters of all threads. */
struct trace_tree_counters {
	uint64_t n_resynced, n_folded;
	uint64_t n_paces, paces; /* the CPU's pace: measurements and their sum, in ticks */
	uint64_t n_events;       /* calls and resumptions */
	uint64_t n_trees; /* of threads; several have one when they ran one after the other */
	uint64_t n_threads;
};

/* Between two copies there is a hash of each node. */
struct trace_tree {
	struct buf area;     /* the copy, up to trace_tree_each */
	uint64_t *inclusive; /* by place: granule × TRACE_NODES + index; owned */
	size_t n_places;
	VEC(uint64_t) told;     /* by place: hash of what was handed on; 0: nothing yet */
	VEC(uint32_t) first_id; /* of each granule of nodes; 0: none yet */
	uint32_t *next_id;      /* borrowed: ids are unique in a recording */
	struct trace_tree_counters counters; /* as of the last trace_tree_take */
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

/* When to take the next copy of a program that has run since start_ns, the last of which took so long: about every second at first,
 * then ever less often, so that a day of tracing is some hundred copies of what has changed. */
uint64_t trace_tree_next(uint64_t start_ns, uint64_t now_ns, uint64_t took_ns);
/* `area` (moved into the tree) is what session_snapshot gave. */
void trace_tree_take(struct trace_tree *t, struct buf *area);
void trace_tree_each(struct trace_tree *t, trace_tree_fn *on_node, void *ctx);
void trace_tree_done(struct trace_tree *t);

#endif
