/* SPDX-License-Identifier: MIT
 *
 * What was allocated, in a few lines above the tables of it. The tables themselves are those of samples (view/samples/profile.h). */
#ifndef VIEW_MEMORY_MEMORY_H
#define VIEW_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct memory;
struct memory_part;
struct usage;

struct memory_page {
	size_t width;
	size_t limit; /* rows; 0: all */
	bool colour, legend;
};

/* The peak, what was left at the end, all that was allocated, and the resident memory beside it. */
void memory_print_head(const struct memory *m, const struct usage *u, const struct memory_page *v,
	struct buf *out);
/* What a table is of: which moment or time, how much in all, and what is not part of it. */
void memory_print_part(const struct memory_part *p, const struct memory_page *v, struct buf *out);
/* How figures came about. */
void memory_print_legend(const struct memory *m, const struct memory_page *v, struct buf *out);

#endif
