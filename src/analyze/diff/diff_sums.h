/* SPDX-License-Identifier: MIT
 *
 * What the rows of one table of a diff add up to on both sides, and how far each sum might have differed had
 * other instants been sampled: a part of diff.c.
 *
 *	for each pair of neighbouring blocks:
 *		for each piece of the first (half 0) and the second (half 1):
 *			diff_sums_piece(s);
 *			for each frame, leaf first: diff_sums_add(s, row, half, is_leaf, seconds);
 *		diff_sums_flush(s, side, difference between all pieces of the halves);
 */
#ifndef ANALYZE_DIFF_DIFF_SUMS_H
#define ANALYZE_DIFF_DIFF_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct diff_sum {
	double x;     /* in the sides' unit */
	double var;   /* of x */
	double cross; /* covariance of x with the sum over all rows */
};

struct diff_cell {
	struct diff_sum self[2], total[2]; /* by side */
};

struct diff_tally { /* of a row, in the pair of blocks at hand */
	double self[2], total[2];
	uint64_t piece; /* the last that counted in total */
	bool is_touched;
};

struct diff_sums {
	VEC(struct diff_cell) cells; /* by row */
	VEC(struct diff_tally) tallies;
	VEC(uint32_t) touched;
	uint64_t piece;
};

/* A further row; returns its number. */
uint32_t diff_sums_row(struct diff_sums *s);
void diff_sums_piece(struct diff_sums *s);
void diff_sums_add(struct diff_sums *s, uint32_t row, int half, bool is_leaf, double value);
/* The next flush takes that row, too: its tally may be changed. */
void diff_sums_touch(struct diff_sums *s, uint32_t row);
void diff_sums_flush(struct diff_sums *s, int side, double difference);
void diff_sums_done(struct diff_sums *s);

#endif
