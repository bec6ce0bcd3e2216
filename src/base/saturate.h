/* SPDX-License-Identifier: MIT
 * Sums of counts that a file may have made up: they stop at the most there is instead of beginning anew. */
#ifndef BASE_SATURATE_H
#define BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t saturated_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline void saturated_add(uint64_t *to, uint64_t more)
{
	*to = saturated_sum(*to, more);
}

#endif
