/* SPDX-License-Identifier: MIT
 *
 * Line counters in the sparse area of a session's memory (docs/SESSION.md). The agent counts, the
 * tool reads them by snapshots and makes `line_count` records of them.
 *
 * A block belongs to one thread and one code object. Cell 0 is the function as a whole, cell i the
 * line first_line + i - 1. The agent announces a block by a record in the thread's ring, whose
 * payload is struct line_block; from then on the cells lie at `cells_offset`, a multiple of their size. Each thread has one
 * further word, the stamp of its latest event, at `last_offset`.
 *
 *	total   counted while the cell is open in at least one activation: with recursion the time
 *	        of a line is not counted twice. A suspended generator or coroutine has no open line.
 *	own     the part of it in which no other counted function ran below it; no function at all where calls are traced, too
 *	max     longest stretch from opening to closing, suspension or exit
 *
 * Stamps and durations are in the session's clock. A cell whose depth is not 0 was open when the
 * memory was last written (a program killed, a thread still running): its total lacks
 * last - opened. */
#ifndef WIRE_LINE_AREA_H
#define WIRE_LINE_AREA_H

#include <stdint.h>

struct line_cell {
	/* First, because a number this low never looks like the head of a granule (wire/trace.h). */
	uint64_t depth;  /* activations in which it is open */
	uint64_t opened; /* stamp of when depth became 1 */
	uint64_t hits;   /* line: how often it was begun; function: calls, without resumptions */
	uint64_t own;
	uint64_t total;
	uint64_t max;
	uint64_t reserved[2];
};

enum { LINE_CELL_BYTES = 64 };
_Static_assert(sizeof(struct line_cell) == LINE_CELL_BYTES, "cell");

/* The most lines one code object may span: more is no program but damage. */
enum { LINE_CELLS_MAX = 1 << 20 };

struct line_block {
	uint64_t cells_offset, last_offset; /* in the sparse area */
	/* which of the user's chose it, a bit each from the first on; none: the program itself */
	uint64_t patterns;
	uint32_t code; /* the agent's number of the code object */
	uint32_t first_line, n_cells;
	int32_t tid; /* of its thread, or of the first of those that counted here one after the other */
};

/* Instructions, counted by code unit (2 bytes): `hits` times they were begun, then as many words of how often they were
 * left by an exception, then (when the block is derived) bits of the units at which hits are counted. A unit without its bit ran as
 * often as the one before it, less the times that was left by an exception. Not derived: all are counted. Announced by
 * TRACE_RECORD_OPCODES. */
struct opcode_block {
	uint64_t offset; /* in the sparse area, a multiple of 8 */
	uint32_t code;   /* the agent's number of the code object */
	uint32_t n_units;
	uint32_t is_derived;
	int32_t tid;
};

enum { OPCODE_UNITS_MAX = 1 << 20 };

static inline uint64_t opcode_block_bytes(uint32_t n_units)
{
	return (uint64_t)n_units * 16 + (n_units + 7) / 8;
}

#endif
