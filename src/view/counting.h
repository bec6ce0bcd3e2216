/* SPDX-License-Identifier: MIT
 *
 * What `--count` prints: totals and functions of one thing, or what B does more than A. Unknown is NAN. */
#ifndef VIEW_COUNTING_H
#define VIEW_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct counting;

struct counting_view {
	const struct counting *a, *b; /* b: NULL where there is one side */
	bool colour;
	size_t width;
};

void counting_print(const struct counting_view *v, struct buf *out);

#endif
