/* SPDX-License-Identifier: MIT
 * See stretch.h. */
#include "analyze/stretch.h"

#include "base/bisect.h"
#include "base/banned.h"

bool stretches_hold(const struct stretch *v, size_t n, int64_t t_ns)
{
	size_t low = bisect(i, n, v[i].start_ns <= t_ns);

	return low && t_ns < v[low - 1].end_ns;
}
