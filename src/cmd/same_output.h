/* SPDX-License-Identifier: MIT
 *
 * `compare --same-output`: whether A and B do the same work, as far as can be seen from what comes out: standard output of commands, results
 * of expressions and functions. Both run once for it, with the same hash seed, before anything is timed. */
#ifndef CMD_SAME_OUTPUT_H
#define CMD_SAME_OUTPUT_H

struct arena;
struct err;
struct subject;

/* ERR_MEASURED where they differ, with the first difference; ERR_USAGE where nothing can be compared. */
int same_output_check(
	const struct subject *a, const struct subject *b, struct arena *arena, struct err *e);

#endif
