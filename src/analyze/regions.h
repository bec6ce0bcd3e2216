/* SPDX-License-Identifier: MIT
 *
 * Regions: the spans a program has named itself (leadline.region), summed up by name. */
#ifndef ANALYZE_REGIONS_H
#define ANALYZE_REGIONS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;

struct region {
	const char *name;
	uint64_t n_times, n_threads;
	double seconds; /* all together; regions in regions count in both */
	double min_s, max_s;
};

struct regions {
	const struct region *v; /* most time first */
	size_t n;
};

/* Never NULL. */
const struct regions *regions_build(struct arena *a, struct tables *t);

#endif
