/* SPDX-License-Identifier: MIT
 * See tick_map.h. */
#include "collect/agents/tick_map.h"

#include "base/banned.h"

void tick_map_add(struct tick_map *m, const struct clock_triple *now)
{
	const struct tick_knot *last = m->knots.n ? &m->knots.v[m->knots.n - 1] : NULL;

	if (!last || (now->ticks > last->ticks && now->monotonic_ns > last->ns))
		vec_push(&m->knots,
			(struct tick_knot){ .ticks = now->ticks, .ns = now->monotonic_ns });
}

/* The line a stamp lies on begins at this knot. */
static size_t find(const struct tick_map *m, uint64_t stamp)
{
	size_t low = 0, high = m->knots.n - 2;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (m->knots.v[middle].ticks <= stamp)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint64_t tick_map_ns(const struct tick_map *m, uint64_t stamp)
{
	const struct tick_knot *k;

	if (m->mode == CLOCK_MODE_MONOTONIC || m->knots.n < 2)
		return stamp;
	k = &m->knots.v[find(m, stamp)];
	return clock_line(stamp, k[0].ticks, k[0].ns, k[1].ticks, k[1].ns);
}

void tick_map_done(struct tick_map *m)
{
	vec_done(&m->knots);
}
