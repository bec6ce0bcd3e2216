/* SPDX-License-Identifier: MIT
 *
 * What `leadline diff` and the page compare: the analyses of one recording as a side of a diff, and how many units of work it
 * did. */
#ifndef ANALYZE_DIFF_DIFF_SOURCE_H
#define ANALYZE_DIFF_DIFF_SOURCE_H

#include "analyze/diff/diff.h"

struct buf;
struct err;
struct exact;
struct origin;
struct regions;
struct selection;

struct diff_source {      /* all borrowed */
	const char *name; /* of the file */
	const struct stacks *stacks;
	const struct profile *profile; /* NULL: nothing was sampled or counted */
	const struct exact *exact;     /* NULL: not counted call by call */
	const struct exact_lines *exact_lines;
	const struct source_texts *texts;
	const struct regions *regions;
	const struct origin *origin;
	struct time_blocks *blocks;
};

/* Of a selection that is by_time. */
struct diff_source diff_source_of(struct selection *s, const char *name);

/* The two as sides, with units of work where `o` normalises by them: `unit` is a region's name, a counted function, or how many
 * there were, "500" or "500:1000"; NULL: the only region. ERR_USAGE: the two cannot be compared so. */
int diff_sides(struct arena *a, const struct diff_source sources[2], const struct diff_options *o,
	const char *unit, struct diff_side ret[2], struct err *e);

/* "2249 samples", "traced, calls counted": how it came about. */
void diff_source_made(const struct diff_source *s, struct buf *out);

/* How far two runs of one program are taken to differ, unless a user says otherwise. */
#define DIFF_NOISE 0.03

#endif
