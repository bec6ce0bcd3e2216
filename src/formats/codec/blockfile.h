/* SPDX-License-Identifier: MIT
 *
 * The blocks of a comparison as JSON: what `compare --json` writes, as far as a verdict needs it, so that blocks which another
 * program has timed are judged by the same rules.
 *
 *	{"a": "f", "b": "g", "elapsed_s": 3.1, "rounds": 5, "times": [[A, B, A again or null], …], "b_first": [true, …]}
 *
 * Only `times` must be there; other keys are skipped. The file is hostile: errors are ERR_BAD_FILE with the byte, there are at
 * most VERDICT_MOST_BLOCKS blocks, and every time is above 0. */
#ifndef FORMATS_CODEC_BLOCKFILE_H
#define FORMATS_CODEC_BLOCKFILE_H

#include <stddef.h>

#include "analyze/stats/verdict.h"

struct arena;
struct err;

struct blockfile {
	const char *a, *b; /* names; "A" and "B" where it has none */
	double elapsed_s;  /* NAN: not said */
	unsigned rounds;   /* of a block; 0: not said */
	struct verdict_block *v;
	size_t n; /* at least 1 */
};

/* "-": standard input. Everything lives in the arena. */
int blockfile_load(struct arena *a, const char *path, struct blockfile *ret, struct err *e);
/* Takes the descriptor; for blockfile_load, tests and fuzzers. */
int blockfile_read_fd(
	struct arena *a, int fd, const char *name, struct blockfile *ret, struct err *e);

#endif
