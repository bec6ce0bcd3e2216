/* SPDX-License-Identifier: MIT
 *
 * What sampled instructions worked with, beside the lines they stand in, and as JSON. */
#ifndef VIEW_SAMPLES_PROBES_H
#define VIEW_SAMPLES_PROBES_H

#include <stdbool.h>

struct buf;
struct probes;

/* "in sum() 98 %": what a line spends most of its own time in, and how much of that. false, and nothing is appended,
 * where that is not known or does not say much. */
bool probes_add_line(
	const struct probes *p, const char *file, int line, double line_self_s, struct buf *out);

#endif
