/* SPDX-License-Identifier: MIT
 *
 * What a benchmark did, counted: calls, lines, bytecodes and instructions of a run or of one loop. */
#ifndef ANALYZE_BENCH_COUNTS_H
#define ANALYZE_BENCH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counted {
	double calls, lines, bytecodes;
};

struct bench_counts_function {
	const char *name, *file;
	uint32_t first_line;
	struct counted n;
};

struct bench_counts {
	const char *name;
	bool is_command; /* of a whole run, else of one loop */
	struct counted all;
	double instructions;
	const char *instructions_by;                   /* "perf", "callgrind"; "" unknown */
	const struct bench_counts_function *functions; /* only those with a count */
	size_t n;
};

enum bench_counts_outcome { BENCH_COUNTS_PASSED, BENCH_COUNTS_FAILED, BENCH_COUNTS_UNDECIDED };
extern const char *const bench_counts_gate_words[]; /* "passed" … as in JSON */

/* Whether B does more than A by more than a limit. Counts do not vary as times do: there is nothing to be undecided about,
 * unless nothing was counted. */
struct bench_counts_gate {
	const char *what; /* that decides: bytecodes, or instructions where they were asked for */
	double change;    /* as a share of A's; INFINITY where A has none */
	double limit;
	enum bench_counts_outcome outcome;
};

struct bench_counts_gate bench_counts_gate_of(const struct bench_counts *a,
	const struct bench_counts *b, bool by_instructions, double limit);

#endif
