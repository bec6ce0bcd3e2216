/* SPDX-License-Identifier: MIT
 * See counts.h. */
#include "analyze/bench/counts.h"

#include <math.h>

#include "base/banned.h"

static const double rounding = 1e-9; /* 3 % more of 1000 is 1030, whatever the last bit says */

const char *const bench_counts_gate_words[] = { "passed", "failed", "undecided", NULL };

struct bench_counts_gate bench_counts_gate_of(const struct bench_counts *a,
	const struct bench_counts *b, bool by_instructions, double limit)
{
	double before = by_instructions ? a->instructions : a->all.bytecodes;
	double after = by_instructions ? b->instructions : b->all.bytecodes;
	struct bench_counts_gate g = { .what = by_instructions ? "CPU instructions" : "bytecodes",
		.change = after / before - 1,
		.limit = limit };

	if (isnan(g.change)) /* one is unknown, or nothing was counted on either side */
		g.outcome = BENCH_COUNTS_UNDECIDED;
	else if (after - before > (limit + rounding) * before)
		g.outcome = BENCH_COUNTS_FAILED;
	return g;
}
