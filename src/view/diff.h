/* SPDX-License-Identifier: MIT
 *
 * Two recordings compared, as pages and as JSON. */
#ifndef VIEW_DIFF_H
#define VIEW_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/diff/diff.h"
#include "base/units.h"

struct buf;
struct profile_view;

struct diff_view {
	const struct profile_view *page;
	struct diff_name a, b;
	const char *normalized; /* what the figures are of, in words; "" as recorded */
	double noise;
	bool functions, lines, paths;
	bool all; /* rows within the noise, too */
};

/* "+12.3 ms", "−1.5 %": a change. */
const char *diff_change_text(char out[UNITS_TEXT], enum unit unit, double change);
/* "+30.1 %", "new", "gone", "×12": what a change is of what was. */
const char *diff_ratio_text(char out[UNITS_TEXT], double a, double b);

void diff_print(const struct diff *d, const struct diff_view *v, struct buf *out);

#endif
