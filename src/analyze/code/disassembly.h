/* SPDX-License-Identifier: MIT
 *
 * Disassembly: a function's instructions with the sampled time of each, what specialised forms they had, and what lies
 * on the value stack before them. */
#ifndef ANALYZE_CODE_DISASSEMBLY_H
#define ANALYZE_CODE_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct exact_lines;
struct opcode_counts;
struct stacks;
struct source_texts;

struct disassembly_row {
	uint32_t offset;
	const char *name;
	bool has_arg;
	uint32_t arg;
	const char *text; /* of the argument, "" none */
	int line;         /* −1: none */
	bool starts_line;
	bool is_counted; /* it starts a line, and that line's hits and time were counted one by one */
	uint64_t hits;
	double line_s;     /* own time of the line */
	bool has_executed; /* how often it ran was counted */
	uint64_t executed;
	bool is_target;
	int32_t target, depth;  /* −1: none, not known */
	double self_s, total_s; /* samples that ended here, or stood here in a call */
	const char *form;       /* the specialised one seen last, "" none */
	/* the expression of the source that the compiler made this constant of, "" none */
	const char *folded;
	const char *const *stack; /* before it, from the bottom on; NULL: not known */
	size_t n_stack;
};

struct disassembly_handler {
	uint32_t start, end, target, depth; /* end: the last instruction's offset, as dis has it */
	bool has_lasti;
};

struct disassembly {
	const char *name, *file, *interpreter;
	uint32_t first_line;
	double self_s, total_s;
	const struct disassembly_row *v;
	size_t n;
	const struct disassembly_handler *handlers;
	size_t n_handlers;
	bool has_executed;
	bool is_derived;  /* from the counts of basic blocks */
	uint64_t n_forms; /* times that other forms were seen than before */
};

struct disassembly_options {
	double lost_share;                   /* as in the profile */
	const struct source_texts *texts;    /* may be NULL, as may … */
	const struct exact_lines *lines;     /* … what was counted: lines … */
	const struct opcode_counts *opcodes; /* … and instructions */
};

/* All code of a function (its number in frames.h) that the recording holds instructions of, by time falling. */
const struct disassembly *disassembly_build(struct arena *a, const struct stacks *s,
	uint32_t function, const struct disassembly_options *o, size_t *ret_n);

#endif
