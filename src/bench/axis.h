/* SPDX-License-Identifier: MIT
 *
 * The sizes along which something is measured again and again: `n=1k..1M` (spread evenly over the decades, three for each) or
 * `n=10,100,1000`. */
#ifndef BENCH_AXIS_H
#define BENCH_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

enum { AXIS_MOST = 64 };

struct axis {
	const char *name;      /* a Python name; NULL: there is none */
	uint64_t v[AXIS_MOST]; /* rising, above 0 */
	size_t n;
	bool is_range; /* the sizes were chosen here, not by the user */
};

/* option: for messages. The name lives in the arena. */
int axis_parse(
	struct axis *ret, struct arena *a, const char *text, const char *option, struct err *e);

#endif
