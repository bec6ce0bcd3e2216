/* SPDX-License-Identifier: MIT
 *
 * `bench --count` and `compare --count`: what is done instead of how long it takes. Calls, lines and bytecodes are counted by the agent (`run
 * --count`), instructions of the CPU by its own counter where there is one, else on demand by callgrind.
 *
 * A statement is counted in two processes that differ only in the number of loops; what one has more than the other belongs to the loops. A
 * command is counted as a whole. Hash seed and size of the environment are always the same. */
#ifndef CMD_BENCH_COUNTS_H
#define CMD_BENCH_COUNTS_H

#include "cmd/subject.h"
#include "analyze/bench/counts.h"

struct arena;
struct err;

/* What --count may be given: NULL or "instructions", which is to take callgrind where the CPU has no counter. */
int bench_counts_check(const char *what, struct err *e);

/* Everything in ret lives in the arena. */
int bench_counts_measure(struct arena *a, const struct subject *s, bool with_callgrind,
	struct bench_counts *ret, struct err *e);

#endif
