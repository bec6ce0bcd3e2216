/* SPDX-License-Identifier: MIT
 *
 * How many items of a sorted array come before a place. The condition holds for all of those and for none behind them; `i` is the
 * name under which it knows the number of an item.
 *
 *	size_t n = bisect(i, steps->n, steps->v[i].start_ns <= t_ns);   // the steps that have begun
 *
 * n is evaluated once. */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

#include <stddef.h>

#define bisect(i, n, is_before)                                        \
	({                                                             \
		size_t i##_low = 0, i##_high = (n);                    \
		while (i##_low < i##_high) {                           \
			size_t i = i##_low + (i##_high - i##_low) / 2; \
			if (is_before)                                 \
				i##_low = i + 1;                       \
			else                                           \
				i##_high = i;                          \
		}                                                      \
		i##_low;                                               \
	})

#endif
