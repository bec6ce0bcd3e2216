/* SPDX-License-Identifier: MIT
 *
 * What processes do right now (analyze/samples/snapshots.h), for terminals and as JSON. Stacks stand leaf first:
 * the line that runs is the one that is looked for. */
#ifndef VIEW_SAMPLES_DUMP_H
#define VIEW_SAMPLES_DUMP_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct snapshots;

struct dump_view {
	size_t width;
	bool colour;
};

void dump_print(const struct snapshots *s, const struct dump_view *v, struct buf *out);

#endif
