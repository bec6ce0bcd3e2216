/* SPDX-License-Identifier: MIT
 *
 * What `--count` prints: totals and functions of one thing, or what B does more than A. Unknown is NAN. */
#ifndef VIEW_COUNTING_H
#define VIEW_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

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

struct counting_view {
	const struct counting *a, *b; /* b: NULL where there is one side */
	bool colour;
	size_t width;
};

void counting_print(const struct counting_view *v, struct buf *out);
void counting_json(const struct counting_view *v, struct buf *out);

#endif
