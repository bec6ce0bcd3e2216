/* SPDX-License-Identifier: MIT
 *
 * 95 % confidence intervals of sampled shares. */
#ifndef ANALYZE_STATS_INTERVAL_H
#define ANALYZE_STATS_INTERVAL_H

#include <stdint.h>

struct interval {
	double low, high;
};

/* Of a share of samples (Wilson's score interval: right also near 0 and 1). With n = 0
 * it is [0, 1]: nothing is known. Where samples were weighed, n is the number of samples of equal weight that tell as much,
 * (Σw)² / Σw². Samples of several threads or processes that one look took are not independent: ranks in lockstep are in one function
 * at once. So w is what the samples of a look weigh together (looks.h), and n is never more than there were looks; threads that have
 * nothing to do with one another get intervals that are wider than they need. The share lies inside. The true value meant is that of the run that was recorded. A program
 * in phases longer than the time between two samples is covered too, and more often than 95 %: samples
 * spread over the whole run know the lengths of long phases better than as many independent ones. */
struct interval interval_weighted(double share, double n);

#endif
