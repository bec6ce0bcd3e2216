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

struct stored_view {
	struct stored_result r;
	double equivalence;
	bool colour;
	size_t width;
};

void stored_print(const struct stored_view *v, struct buf *out);
void stored_print_markdown(const struct stored_view *v, struct buf *out);

#endif
