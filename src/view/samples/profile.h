/* SPDX-License-Identifier: MIT
 *
 * Terminal and JSON pages of sampled time: functions, lines, source with heat, call tree, callers and
 * callees, threads, last stacks. Each page is a title and its rows; shares are of the profile's time. */
#ifndef VIEW_SAMPLES_PROFILE_H
#define VIEW_SAMPLES_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct calltree_node;
struct crash_stacks;
struct fidelity;
struct imports;
struct neighbours;
struct probes;
struct profile;
struct stacks;
struct source_texts;

struct profile_view {
	size_t width;
	bool colour, legend;
	bool ci;            /* 95 % intervals of self and total as columns of their own */
	size_t limit;       /* rows of a table; 0: all */
	const char *folder; /* of the program: paths below it are shown without it; NULL: none */
	const struct probes *probes;   /* what lines worked with; NULL: not known */
	const char *what;              /* which samples: "on a CPU, only mine"; "" for all */
	const struct imports *imports; /* that are one row; NULL: none */
};

void profile_print_functions(
	const struct profile *p, const struct profile_view *v, struct buf *out);
/* A table; with texts (may be NULL) the line itself stands where else the function does. */
void profile_print_lines(const struct profile *p, const struct source_texts *t,
	const struct profile_view *v, struct buf *out);
/* The hottest lines where they stand, with their neighbours and a heat bar. False, and nothing is printed,
 * when the recording holds the text of none of them. */
bool profile_print_source(const struct profile *p, const struct source_texts *t,
	const struct profile_view *v, struct buf *out);
void profile_print_tree(const struct calltree_node *root, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out);
void profile_print_callers(const struct neighbours *n, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out);
void profile_print_callees(const struct neighbours *n, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out);
/* Idle ones are one row unless with_idle. */
void profile_print_threads(
	const struct stacks *s, const struct profile_view *v, bool with_idle, struct buf *out);
/* Modules that import one another, of stacks with IMPORTS_ALONE; nothing where there were no imports. */
void profile_print_imports(const struct calltree_node *root, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out);
/* How to open the row of imports; nothing where there is none. */
void profile_print_import_note(
	const struct profile *p, const struct profile_view *v, struct buf *out);
/* What fold_idle left out, in one line; nothing when that was nothing. */
void profile_print_idle(const struct stacks *s, const struct profile_view *v, struct buf *out);

/* Processes that a signal killed, with the last stack of each thread. */
void profile_print_crashes(const struct crash_stacks *e, size_t n, const struct stacks *s,
	const struct profile_view *v, struct buf *out);

#endif
