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
#ifndef ANALYZE_TORCH_COMPILE_LOG_H
#define ANALYZE_TORCH_COMPILE_LOG_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;

struct op_compile_log_frame { /* texts: "" where they are not known */
	const char *id, *function, *file;
	const char *reason; /* why it was compiled again; or why it could not be */
	uint64_t line;
};

struct op_compile_log_break {
	const char *reason, *function, *file;
	uint64_t line, n_times; /* compiled up to there */
};

struct op_compile_log {
	const struct op_compile_log_frame *frames;
	size_t n_frames;
	const struct op_compile_log_break *breaks;
	size_t n_breaks;
	/* what could not be compiled, in torch's words: reason and n_times */
	const struct op_compile_log_break *explained;
	size_t n_explained;
};

/* json may be empty. Never NULL. */
const struct op_compile_log *op_compile_log_read(struct arena *a, const struct buf *json);

#endif
