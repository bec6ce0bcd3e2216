/* SPDX-License-Identifier: MIT
 *
 * The instruction counters of one traced process as the tool sees them: blocks that its agent announced (struct
 * opcode_block in wire/line_area.h), in copies of a memory that may hold anything, made into a count for each code unit,
 * and summed up per thread and function. Used as trace_lines.h is. */
#ifndef COLLECT_AGENTS_TRACE_OPCODES_H
#define COLLECT_AGENTS_TRACE_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "wire/line_area.h"

struct buf;

enum { TRACE_OPCODES_MOST = 32 << 20 }; /* units of one process; more are not believed */

/* The instructions of one function in one thread. */
struct trace_units {
	int32_t tid;
	uint32_t function; /* the agent's number */
	uint32_t n;
	bool is_derived;
	uint64_t *now, *told; /* by code unit; owned */
	uint32_t next;        /* index + 1 of another of this thread and function; 0: none */
};

struct trace_unit_block {
	struct opcode_block block;
	uint32_t units; /* index */
};

struct trace_opcodes {
	VEC(struct trace_unit_block) blocks;
	VEC(struct trace_units) units;
	struct map index; /* tid and function → index + 1 in units */
	uint64_t n_units;
};

typedef void trace_units_fn(void *ctx, const struct trace_units *of);

/* False when it makes no sense. */
bool trace_opcodes_add(struct trace_opcodes *o, const void *data, uint32_t n_bytes);
void trace_opcodes_take(struct trace_opcodes *o, const struct buf *area);
/* Those that have changed since the call before. */
void trace_opcodes_each(struct trace_opcodes *o, trace_units_fn *on_units, void *ctx);
void trace_opcodes_done(struct trace_opcodes *o);

#endif
