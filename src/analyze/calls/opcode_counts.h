/* SPDX-License-Identifier: MIT
 *
 * How often instructions ran, counted one by one or by basic blocks (rec_instruction_count), over the threads that
 * count.
 *
 *	const struct opcode_counts *c = opcode_counts_build(&a, tables, frames, NULL, 0);
 *	uint64_t n = opcode_counts_at(c, code_row, offset); */
#ifndef ANALYZE_CALLS_OPCODE_COUNTS_H
#define ANALYZE_CALLS_OPCODE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

/* Of one code object. */
struct opcode_code {
	uint32_t code; /* row */
	bool is_derived;
	const uint64_t *hits; /* by code unit of 2 bytes; those of caches mean nothing */
	size_t n;
};

struct opcode_function {
	uint32_t function; /* number (frames.h) */
	const char *name, *file;
	uint32_t first_line;
	uint64_t executed; /* instructions */
};

struct opcode_counts {
	const struct opcode_code *codes; /* by row */
	size_t n_codes;
	const struct opcode_function *functions; /* by executed falling */
	size_t n_functions;
	uint64_t executed;
	bool has_derived, has_each; /* which ways they were counted */
};

/* Threads that count, rows; NULL: all. NULL when the recording has no such counts. */
const struct opcode_counts *opcode_counts_build(struct arena *a, struct tables *t, struct frames *f,
	const uint32_t *threads, size_t n_threads);

/* NULL: that code was not counted. c may be NULL. */
const struct opcode_code *opcode_counts_find(const struct opcode_counts *c, uint32_t code);
uint64_t opcode_code_at(const struct opcode_code *c, uint32_t offset);

#endif
