/* SPDX-License-Identifier: MIT
 *
 * Is B faster than A? Decided from blocks: each holds one time of A, one of B and one of A again (the control), taken
 * right after each other in random order, so that what disturbs the machine disturbs all three. Pure: who runs the
 * blocks asks after each whether to go on.
 *
 * The ratio B/A is Hodges and Lehmann's estimate over the blocks' log ratios, its interval the signed-rank one. Looking
 * after every block and stopping at the first good one would be wrong in every fourth comparison of A with itself; so
 * there are few looks (verdict_next_look), and the interval of each is so wide that all of them together are right
 * with 95 %. It is valid whenever one stops.
 *
 *	for (n = 0; !v.is_final && time is left; ) {
 *		run blocks until n = verdict_next_look(n);
 *		v = verdict_of(&blocks, &options);
 *	} */
#ifndef ANALYZE_STATS_VERDICT_H
#define ANALYZE_STATS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"

enum verdict_word {
	VERDICT_FASTER, /* B needs less time */
	VERDICT_SLOWER,
	VERDICT_EQUIVALENT, /* the interval lies inside 1 ± equivalence */
	VERDICT_UNDECIDED,
};

extern const char *const verdict_words[]; /* "faster" … as in JSON */

enum { VERDICT_FIRST_LOOK = 10, VERDICT_MOST_BLOCKS = 1000 };

struct verdict_block {
	double a, b;  /* seconds, above 0 */
	double again; /* A once more; NAN where no control was run */
	bool b_first; /* B ran before A */
};

struct verdict_options {
	double equivalence; /* 0.01: ± 1 % */
	/* 0.03: whether B takes more than 3 % longer than A is what matters, and when to stop; NAN: the words matter */
	double gate;
};

enum verdict_reason { /* why it is undecided */
	VERDICT_NO_REASON,
	VERDICT_TOO_FEW,        /* below VERDICT_FIRST_LOOK blocks */
	VERDICT_TOO_WIDE,       /* the interval holds both 1 and a difference that matters */
	VERDICT_CONTROL_FAILED, /* A differs from itself */
};

enum verdict_gate { VERDICT_NO_GATE, VERDICT_PASSED, VERDICT_FAILED, VERDICT_GATE_UNDECIDED };

struct verdict {
	enum verdict_word word;
	enum verdict_gate gate;
	enum verdict_reason reason;
	bool is_final; /* more blocks are not needed */
	size_t n_blocks, n_b_won;
	double ratio; /* B's time / A's; NAN without blocks */
	struct interval interval;
	bool has_control;
	double control_ratio; /* A again / A */
	struct interval control;
	double sd; /* of the log ratios */
	double detectable; /* the smallest change these blocks would have found in 9 of 10 cases, as a share */
	/* How many more blocks would probably decide it; 0 where decided, SIZE_MAX where none would. */
	size_t n_more;
	/* What is odd about the blocks; none of them changes the word, autocorrelation widens the interval. */
	bool has_trend;        /* A became slower or faster while it was compared */
	bool has_order_effect; /* who runs first has it easier */
	bool is_bimodal;       /* A has two speeds */
	double autocorrelation;
};

/* Blocks beyond VERDICT_MOST_BLOCKS are not looked at. */
struct verdict verdict_of(
	const struct verdict_block *blocks, size_t n, const struct verdict_options *o);

/* After how many blocks to look next, when n have been run. */
size_t verdict_next_look(size_t n);

/* Why it is undecided, in words that follow "undecided: ". */
const char *verdict_reason_text(enum verdict_reason r);

/* A function that the difference is in. */
struct verdict_cause {
	const char *name, *file;
	uint32_t line;
	double change;     /* of its own time, as a share of A's time */
	double plus_minus; /* half the 95 % interval */
};

/* All that a comparison has to tell. */
struct verdict_result {
	const struct verdict *verdict;
	const struct verdict_block *blocks;
	const char *a, *b;                  /* names */
	double elapsed_s;                   /* NAN: unknown */
	unsigned rounds;                    /* of a block; 0: unknown */
	const struct verdict_cause *causes; /* the largest first */
	size_t n_causes;
	bool is_explained; /* they were looked for */
};

/* Of the times of one side, in seconds. */
double verdict_median(const struct verdict_result *v, bool of_b);

#endif
