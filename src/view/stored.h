/* SPDX-License-Identifier: MIT
 *
 * What `compare` prints of results that were stored: a verdict for each benchmark that both sides have, and what differs between
 * the machines they were measured on. */
#ifndef VIEW_STORED_H
#define VIEW_STORED_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/unpaired.h"

struct buf;

struct stored_row {
	const char *name;
	struct unpaired u;
};

struct stored_difference {
	const char *what, *a, *b; /* "CPU", "x", "y" */
};

struct stored_view {
	const char *a, *b;               /* files */
	const char *damage_a, *damage_b; /* what is missing of them, "" nothing */
	const struct stored_row *rows;
	size_t n;
	const struct stored_difference *differences;
	size_t n_differences;
	size_t n_only_a, n_only_b; /* benchmarks that the other side does not have */
	double equivalence;
	bool colour;
	size_t width;
};

void stored_print(const struct stored_view *v, struct buf *out);
void stored_print_markdown(const struct stored_view *v, struct buf *out);
void stored_json(const struct stored_view *v, struct buf *out);

#endif
