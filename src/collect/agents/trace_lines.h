/* SPDX-License-Identifier: MIT
 *
 * The line counters of one traced process as the tool sees them: blocks of counters that its agent
 * announced (wire/line_area.h), in copies of a memory that may hold anything, summed up per thread,
 * function and line.
 *
 *	trace_lines_add(&l, &block, sizeof block)	an announcement
 *	trace_lines_take(&l, &area)			reads a copy of the memory
 *	trace_lines_each(&l, on_line, ctx)		what has changed since the call before
 *	trace_lines_done(&l) */
#ifndef COLLECT_AGENTS_TRACE_LINES_H
#define COLLECT_AGENTS_TRACE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "wire/line_area.h"

struct buf;

enum { TRACE_LINES_MOST = 8 << 20 }; /* counters of one process; more are not believed */

/* In the session's clock. */
struct trace_line {
	uint64_t hits, total, own, max;
};

/* The lines of one function in one thread. */
struct trace_counted {
	int32_t tid;
	uint32_t function; /* the agent's number */
	uint32_t first_line, n_cells;
	struct trace_line *now, *told; /* by cell: 0 is the function; owned */
	uint32_t next; /* index + 1 of another of this thread and function; 0: none */
};

struct trace_block {
	struct line_block block;
	uint32_t counted; /* index */
};

struct trace_lines {
	VEC(struct trace_block) blocks;
	VEC(struct trace_counted) counted;
	struct map index; /* tid and function → index + 1 in counted */
	uint64_t n_cells;
};

/* line 0: the function as a whole. */
typedef void trace_line_fn(
	void *ctx, const struct trace_counted *of, uint32_t line, const struct trace_line *counts);

/* False when it makes no sense. */
bool trace_lines_add(struct trace_lines *l, const void *data, uint32_t n_bytes);
void trace_lines_take(struct trace_lines *l, const struct buf *area);
void trace_lines_each(struct trace_lines *l, trace_line_fn *on_line, void *ctx);
void trace_lines_done(struct trace_lines *l);

#endif
