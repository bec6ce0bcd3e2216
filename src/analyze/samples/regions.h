/* SPDX-License-Identifier: MIT
 *
 * Regions: the spans a program has named itself, by leadline.region or, where operators were recorded, by
 * torch.profiler.record_function (those that torch names itself, such as Optimizer.step, among them; its profiler's steps are
 * none, and what an annotation spans on a device is no second one). Summed up by name. */
#ifndef ANALYZE_SAMPLES_REGIONS_H
#define ANALYZE_SAMPLES_REGIONS_H

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

struct region_span {
	uint64_t t_ns, duration_ns;
	uint32_t thread, name; /* rows; thread 0: a track of a trace, or not known */
	uint32_t track;        /* row of a string; 0: none */
};

/* Each of them, in the order of their records. */
void regions_each(
	struct tables *t, void (*call)(void *ctx, const struct region_span *span), void *ctx);

/* Never NULL. */
const struct regions *regions_build(struct arena *a, struct tables *t);

#endif
