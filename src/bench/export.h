/* SPDX-License-Identifier: MIT
 *
 * Results in the files of other benchmark tools. All raw values are in them, in seconds. */
#ifndef BENCH_EXPORT_H
#define BENCH_EXPORT_H

#include <stddef.h>

#include "analyze/stats/series.h"

struct arena;
struct buf;
struct environment;

struct export_results {
	const struct series *series;
	size_t n;
	const struct environment *environment;
	const char *python; /* "cpython 3.11.2", "" for commands */
};

/* pyperf: show, stats and compare_to read it. This is what --json prints. */
void export_pyperf(struct arena *a, const struct export_results *r, struct buf *out);
void export_hyperfine(struct arena *a, const struct export_results *r, struct buf *out);
void export_pytest_benchmark(struct arena *a, const struct export_results *r, struct buf *out);
/* hyperfine's columns. */
void export_csv(struct arena *a, const struct export_results *r, struct buf *out);
void export_markdown(struct arena *a, const struct export_results *r, struct buf *out);

/* By the name a user gives to --export; NULL when there is none such. */
typedef void (*export_writer)(struct arena *a, const struct export_results *r, struct buf *out);
export_writer export_find(const char *name);
/* "pyperf, hyperfine, …" */
const char *export_names(void);

#endif
