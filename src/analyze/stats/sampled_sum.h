/* SPDX-License-Identifier: MIT
 *
 * Sums of which only a sample was seen: each block of Z bytes was taken by itself with a chance p that follows from its size.
 *
 *	struct sampled_sum s = { 0 };
 *	sampled_sum_add(&s, 4096, 1 / 0.01);              a block of 4096 bytes that stands for 100 such
 *	s.value                                           what all of them were, seen or not (Horvitz and Thompson)
 *	struct interval i = sampled_sum_interval(&s);     holds the true sum 95 times of 100
 *
 * The interval. The bytes of the blocks that were seen are certain. For each of them a number of others was missed that is
 * geometric with mean (1 − p) / p; their sum is told as a gamma distribution of the same mean and variance, Σ (1 − p) (Z / p)². Half a
 * block more than was seen is reckoned with (Jeffreys), so that it holds for few samples, too: for blocks much smaller than the
 * distance of samples, that is the usual interval of a count. Blocks that are always seen (p near 1) make it a point.
 *
 * Sums add up: of a function from its lines, of all processes from each. */
#ifndef ANALYZE_STATS_SAMPLED_SUM_H
#define ANALYZE_STATS_SAMPLED_SUM_H

#include <stdint.h>

#include "analyze/stats/interval.h"

struct sampled_sum {
	uint64_t n;      /* blocks seen */
	double count;    /* estimated number of all: Σ 1/p */
	double value;    /* estimated sum: Σ Z/p */
	double seen;     /* of those seen: Σ Z */
	double variance; /* of the value */
	double surprise; /* Σ −ln p: e to the minus that is the chance that all were seen */
};

/* weight: 1/p; below 1 or not a number counts as 1, the block for itself alone. */
void sampled_sum_add(struct sampled_sum *s, double size, double weight);
/* Adds `part` of another one, 0 … 1. */
void sampled_sum_merge(struct sampled_sum *s, const struct sampled_sum *other, double part);
/* 95 %. Of no block at all: [0, 0]. */
struct interval sampled_sum_interval(const struct sampled_sum *s);

/* The value below which a gamma distribution (scale 1) has the share p, 0 < p < 1. */
double gamma_quantile(double p, double shape);

#endif
