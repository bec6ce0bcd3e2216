/* SPDX-License-Identifier: MIT
 *
 * Stamps of a session's clock as CLOCK_MONOTONIC, the same at whatever time they are asked for: straight lines between
 * instants at which both clocks were read. So what lay within something else does so afterwards, to the nanosecond,
 * which two conversions by one growing line would not promise.
 *
 *	struct tick_map m = { .mode = mode };
 *	tick_map_add(&m, &triple);		before and after the stamps, in the order of time
 *	tick_map_ns(&m, stamp); */
#ifndef COLLECT_AGENTS_TICK_MAP_H
#define COLLECT_AGENTS_TICK_MAP_H

#include <stdint.h>

#include "base/vec.h"
#include "wire/clock.h"

struct tick_knot {
	uint64_t ticks, ns;
};

struct tick_map {
	enum clock_mode mode;
	VEC(struct tick_knot) knots; /* both grow */
};

void tick_map_add(struct tick_map *m, const struct clock_triple *now);
/* Before the first instant and after the last, the nearest line goes on. */
uint64_t tick_map_ns(const struct tick_map *m, uint64_t stamp);
void tick_map_done(struct tick_map *m);

#endif
