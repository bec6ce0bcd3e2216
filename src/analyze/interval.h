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

#endif
