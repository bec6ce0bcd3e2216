/* SPDX-License-Identifier: MIT
 *
 * What `compare` prints of results that were stored: a verdict for each benchmark that both sides have, and what differs between
 * the machines they were measured on. */
#ifndef VIEW_BENCH_RESULTS_COMPARISON_H
#define VIEW_BENCH_RESULTS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/unpaired.h"

struct buf;

struct results_comparison_view {
	struct results_comparison r;
	double equivalence;
	bool colour;
	size_t width;
};

void results_comparison_print(const struct results_comparison_view *v, struct buf *out);
void results_comparison_print_markdown(const struct results_comparison_view *v, struct buf *out);

#endif
