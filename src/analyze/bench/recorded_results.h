/* SPDX-License-Identifier: MIT
 *
 * Benchmark results out of a recording (`bench -o x.lead`): the same series that were measured, and what is known of the machine. The
 * recording is hostile: what makes no sense is left out, series without a value too. */
#ifndef ANALYZE_BENCH_RECORDED_RESULTS_H
#define ANALYZE_BENCH_RECORDED_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/series.h"

struct arena;
struct reader;
struct tables;

struct recorded_results {
	struct series *v; /* in the order measured */
	size_t n;
	/* "" where not told */
	const char *host, *cpu, *cpus, *governor, *turbo, *clock, *kernel, *aslr, *python, *commit,
		*date;
};

/* Whether a recording holds any. */
bool recorded_results_are_in(const struct reader *r);

/* Everything lives in the arena. */
const struct recorded_results *recorded_results_build(struct arena *a, struct tables *t);

#endif
