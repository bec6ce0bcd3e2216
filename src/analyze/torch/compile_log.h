/* SPDX-License-Identifier: MIT
 *
 * What torch.compile says of itself: which functions it compiled, why again, and why graphs broke. The agent reads it inside
 * the program when that ends (agent/bootstrap/torch_compile.py), as JSON:
 *
 *	{"compilations": [{"id": "0/1", "function", "file", "line", "reason", "failed"}],
 *	 "breaks": [{"reason", "file", "line", "function", "times"}],
 *	 "explained": [{"reason", "times"}]}
 *
 * Untrusted: what is not as it should be is left out. */
#ifndef ANALYZE_OP_COMPILE_TOLD_H
#define ANALYZE_OP_COMPILE_TOLD_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;

struct op_told_frame { /* texts: "" where they are not known */
	const char *id, *function, *file;
	const char *reason; /* why it was compiled again; or why it could not be */
	uint64_t line;
};

struct op_told_break {
	const char *reason, *function, *file;
	uint64_t line, n_times; /* compiled up to there */
};

struct op_told {
	const struct op_told_frame *frames;
	size_t n_frames;
	const struct op_told_break *breaks;
	size_t n_breaks;
	const struct op_told_break
		*explained; /* what could not be compiled, in torch's words: reason and n_times */
	size_t n_explained;
};

/* json may be empty. Never NULL. */
const struct op_told *op_told_read(struct arena *a, const struct buf *json);

#endif
