/* SPDX-License-Identifier: MIT
 *
 * What a benchmark did, counted: calls, lines, bytecodes and instructions of a run or of one loop. */
#ifndef ANALYZE_COUNTING_H
#define ANALYZE_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counted {
	double calls, lines, bytecodes;
};

struct counting_function {
	const char *name, *file;
	uint32_t first_line;
	struct counted n;
};

struct counting {
	const char *name;
	bool is_command; /* of a whole run, else of one loop */
	struct counted all;
	double instructions;
	const char *instructions_by;               /* "perf", "callgrind"; "" unknown */
	const struct counting_function *functions; /* only those with a count */
	size_t n;
};

#endif
