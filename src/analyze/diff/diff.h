/* SPDX-License-Identifier: MIT
 *
 * Diff: two recordings compared, function by function, line by line, path by path, in self and total time.
 *
 *	const struct diff *d = diff_build(&a, &before, &after, &(struct diff_options){ .noise = 0.02 });
 *
 * What is the same in both. A function: its file and qualified name, of several such in a file the first with
 * the first; where the file is elsewhere (another checkout), the file's bare name and the function's, if
 * that is clear. A line: its text and function, where both recordings have the source; else how far it is
 * from the function's begin. A path: the functions from the root on, direct recursion counted once.
 *
 * How sure a change is. Three things make figures of one program differ from run to run: which instants were
 * sampled; how the machine was (its speed, its other work); the program itself, if chance has a part in it. The first is
 * estimated from the samples: by pairs of neighbouring blocks of time (blocks.h), of which one tells how far
 * the other might have differed; so long phases of a program do not count as chance. Without times of samples, their number tells.
 * The second cannot be seen in one run: `noise` is its standard deviation, assumed, as a share of a row's time.
 * The third is not covered. An interval is 95 %; a change is named when it stands out among all rows: where
 * nothing changed, a table names anything in one of a hundred comparisons (Benjamini and Hochberg's rule). What is below
 * 1 % of the total on both sides is never named.
 *
 * Self times of all functions add up to the total, "[lost]" included, and so do their changes. */
#ifndef ANALYZE_DIFF_DIFF_H
#define ANALYZE_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

struct arena;
struct buf;
struct time_blocks;
struct exact_lines;
struct profile;
struct stacks;
struct source_texts;

enum diff_normalize {
	DIFF_ABSOLUTE, /* as recorded */
	DIFF_RUN,      /* shares of each recording's own total */
	DIFF_UNIT,     /* per unit of work */
};

struct diff_side { /* all borrowed */
	const struct stacks *stacks;
	const struct profile *profile; /* its functions, and their costs where calls were counted */
	bool has_calls;                /* they were */
	const struct exact_lines *exact_lines; /* lines that were counted, or NULL */
	const struct source_texts *texts;      /* or NULL */
	struct time_blocks *blocks;            /* the stacks' */
	double units;                          /* of work; with DIFF_UNIT */
};

struct diff_options {
	enum diff_normalize normalize;
	double noise;
	bool by_total; /* order and name rows by change of total, else of self */
};

struct diff_value {
	double a, b;       /* in `unit`, or shares */
	double change;     /* b − a */
	double plus_minus; /* half the 95 % interval of the change */
	bool is_named;
};

struct diff_row {
	const char *name, *file;     /* of the function; of B where both have it */
	uint32_t line;               /* of a function's begin, or the line itself; 0: none */
	const char *text;            /* of a line, without blanks around it; "" unknown */
	const struct diff_row *path; /* of a path: that of the caller, NULL: a root */
	double calls_a, calls_b;     /* UNITS_UNKNOWN unless counted */
	struct diff_value self, total;
	bool is_named; /* the one that rows are ordered by is */
};

struct diff_table {
	const struct diff_row *const *v; /* largest change first */
	size_t n, n_named;
};

struct diff {
	enum unit unit; /* UNIT_SHARE with DIFF_RUN */
	struct diff_value total;
	struct diff_table functions, lines, paths;
	bool by_total; /* as asked */
	bool is_timed; /* intervals are from the samples' times, on both sides */
};

/* The two must have one unit (stacks.h); the blocks get sorted. */
const struct diff *diff_build(struct arena *a, const struct diff_side *before,
	const struct diff_side *after, const struct diff_options *o);

struct diff_name {                  /* of one of the two recordings */
	const char *file, *command; /* command: "" unknown */
	const char *made;           /* "2249 samples", "traced": how it came about */
	const char *damage;         /* what is missing of it; "" nothing */
	double wall_s;              /* unknown in other tools' files */
};

/* "main › load › parse": from the root on; of long ones the last steps. */
void diff_add_path(struct buf *to, const struct diff_row *r);

#endif
