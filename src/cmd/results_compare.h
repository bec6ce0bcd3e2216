/* SPDX-License-Identifier: MIT
 *
 * `compare` of two files: stored results (pyperf's, hyperfine's, pytest-benchmark's, `bench -o`), or with a unit two recordings of
 * long runs, step by step. */
#ifndef CMD_RESULTS_COMPARE_H
#define CMD_RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/verdict.h"
#include "view/bench/results_comparison.h"

struct arena;
struct err;

/* Whether a word of `compare` names such a file: it ends in .json or .lead, and is there. */
bool results_is_file(const char *word);

/* Everything in ret is borrowed from the arena and the arguments. unit: name of the regions that are steps; NULL: results. is_forced:
 * judge in spite of differences. */
int results_compare(struct arena *a, const char *file_a, const char *file_b, const char *unit,
	const struct verdict_options *o, bool is_forced, struct results_comparison_view *ret,
	struct err *e);

/* The worst of all rows. */
enum verdict_gate results_comparison_gate(const struct results_comparison_view *v);

#endif
