/* SPDX-License-Identifier: MIT
 *
 * 95 % confidence intervals of sampled shares. */
#ifndef ANALYZE_INTERVAL_H
#define ANALYZE_INTERVAL_H

#include <stdint.h>

struct interval {
	double low, high;
};

/* Of a share: `hits` out of `n` samples (Wilson's score interval: right also near 0 and 1). With n = 0
 * it is [0, 1]: nothing is known. */
struct interval interval_share(uint64_t hits, uint64_t n);

/* The same for a share that was weighed: n is the number of samples of equal weight that tell as much,
 * (Σw)² / Σw². The share lies inside. The true value meant is that of the run that was recorded. A program
 * in phases longer than the time between two samples is covered too, and more often than 95 %: samples
 * spread over the whole run know the lengths of long phases better than as many independent ones. */
struct interval interval_weighted(double share, double n);

#endif
