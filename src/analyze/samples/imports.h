/* SPDX-License-Identifier: MIT
 *
 * Imports are a phase of their own: what a program does while a library is being imported stands in one row, "[imports]",
 * below whoever imports, unless it is asked for.
 *
 * An import begins at a frame of importlib and ends at code of the user's own: a module of his does what he wrote when it is imported,
 * so that is no part of it, but what that module imports is. The frames in between are left out, as tracebacks do it.
 *
 *	struct import_step x = { 0 };
 *	for (each frame, from the root on)
 *		if (imports_step(IMPORTS_FOLDED, &x, &frame)) …      it stays
 *	if (x.is_import) …                                           the stack ends in frames_imports()
 *
 * Only our own samples are treated so: traced calls are sums, and another tool's figures stay what they were. */
#ifndef ANALYZE_SAMPLES_IMPORTS_H
#define ANALYZE_SAMPLES_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct frames;
struct stack_frame;
struct stacks;

enum imports_mode {
	IMPORTS_WHOLE,  /* frame by frame, as any other code */
	IMPORTS_FOLDED, /* one row */
	IMPORTS_ALONE,  /* only them, as modules that import one another */
};

struct import_step { /* a stack up to a frame */
	bool is_import;
	/* 1 + the function of its first frame that is not importlib's; 0: none yet */
	uint32_t module;
};

enum import_frame {
	IMPORT_STAYS,
	IMPORT_GOES,
	IMPORT_ENDS, /* in IMPORTS_ALONE: no import after all; what is below begins anew */
};

enum import_frame imports_step(
	enum imports_mode mode, struct import_step *x, const struct stack_frame *f);
/* The same of a whole stack, leaf first, in place; returns how many frames it then has, one more at most. */
size_t imports_apply(
	struct frames *f, enum imports_mode mode, struct stack_frame *frames, size_t n);

struct import_package {
	const char *name; /* "torch" */
	double value;
};

struct imports { /* that were folded */
	double value;
	uint64_t n_samples;
	/* that the program imported itself, by value, falling */
	const struct import_package *packages;
	size_t n_packages;
};

struct imports_of { /* one of its modules, while paths are built */
	uint32_t function;
	double value;
	uint64_t n_samples;
};

/* In the arena. */
struct imports imports_build(
	struct arena *a, const struct frames *f, const struct imports_of *of, size_t n);
/* "torch, numpy …"; at most so many names. */
void imports_describe(const struct imports *x, size_t most, struct buf *to);

#endif
