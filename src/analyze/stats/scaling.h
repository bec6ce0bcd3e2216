/* SPDX-License-Identifier: MIT
 *
 * How much faster n threads do the same work: rates against the rate of one thread, and the two numbers that describe them,
 *
 *	speed-up(n) = n / (1 + serial·(n − 1) + contention·n·(n − 1))
 *
 * (Gunther's universal scalability law). serial is Amdahl's share that only one thread at a time can do; contention is what
 * each pair of threads costs, and makes more threads slower in the end. Contention wants rates at two numbers of threads
 * above one; with one such number it is 0 and is_contended says nothing. Rates with more threads than CPUs say how the
 * scheduler shares, not how the code scales: they take no part. */
#ifndef ANALYZE_STATS_SCALING_H
#define ANALYZE_STATS_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"

struct scaling_point {
	unsigned threads;
	const double *seconds; /* of one loop, all threads together: one value per process */
	size_t n;
};

struct scaling {
	bool is_known; /* one thread and another number up to n_cpus were measured */
	double serial; /* 0 … 1 */
	struct interval serial_interval; /* 95 % */
	bool has_contention;             /* two numbers of threads above one took part */
	double contention;
	struct interval contention_interval;
	double most_threads; /* more make it slower; INFINITY: never */
	double most_speedup; /* at that many, or with ever more */
};

/* Points by rising number of threads; the first is of one thread. */
struct scaling scaling_of(const struct scaling_point *p, size_t n, unsigned n_cpus);

/* The speed-up of a point against the first, over medians of processes. */
double scaling_speedup(const struct scaling_point *p, size_t i);

#endif
