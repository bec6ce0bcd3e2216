/* SPDX-License-Identifier: MIT
 *
 * Lines that were counted one by one (rec_line_count), by function and line, over the threads that count.
 *
 *	const struct exact_lines *l = exact_lines_build(&a, tables, frames, NULL, 0);
 *
 * A line's time is from its begin to the begin of the next, callees included; own is without what they
 * took, as far as they were watched: all of them where calls were traced, too, else those whose lines were counted. Time
 * suspended at an await or a yield is in neither. */
#ifndef ANALYZE_CALLS_EXACT_LINES_H
#define ANALYZE_CALLS_EXACT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct profile;
struct tables;

struct exact_line {
	uint32_t line;
	uint64_t hits;
	double total_s;          /* unknown where lines were counted without a clock, as are … */
	double own_s, callees_s; /* unknown in other tools' files */
	double max_s;            /* of one hit; unknown likewise */
};

struct exact_lines_function {
	const char *name, *file; /* as in frames.h */
	uint32_t function;       /* number */
	uint32_t first_line;
	uint32_t last_line; /* of those that can be reached, as far as the line table says */
	uint64_t calls;     /* 0: not told */
	double total_s;     /* of its activations, each once however it recurs; else of its lines */
	const struct exact_line *lines; /* by number */
	size_t n_lines;
};

struct exact_lines {
	const struct exact_lines_function *functions; /* by file, then first line */
	size_t n_functions;
	bool is_timed;
	bool has_own;         /* own time, that of callees and the longest hit are known */
	bool has_all_callees; /* calls were traced, too */
	bool is_incomplete; /* some counters found no room, or were lost on the way: hits are missing */
};

/* Threads that count, rows; NULL: all. NULL when the recording has no such lines. */
const struct exact_lines *exact_lines_build(struct arena *a, struct tables *t, struct frames *f,
	const uint32_t *threads, size_t n_threads);

/* Whether a line was counted; instructions can be without. */
bool exact_lines_has_any(const struct exact_lines *l);

/* What own time holds that is not the line's own, and what to do about it: a sentence; "" where it holds nothing else. */
const char *exact_lines_note(const struct exact_lines *l);

/* Their functions as a profile, for what works on both: self is the time of their lines without callees, where
 * that is known. */
const struct profile *exact_lines_profile(struct arena *a, const struct exact_lines *l);

#endif
