/* SPDX-License-Identifier: MIT
 *
 * Pages of what was counted without a clock: lines by hits, and functions by the instructions they ran. */
#ifndef VIEW_CALLS_EXACT_COUNTS_H
#define VIEW_CALLS_EXACT_COUNTS_H

struct buf;
struct exact_lines;
struct opcode_counts;
struct profile_view;
struct source_texts;

/* texts may be NULL. */
void exact_counts_print_lines(const struct exact_lines *l, const struct source_texts *t,
	const struct profile_view *v, struct buf *out);
/* With the way they were counted. */
void exact_counts_print_opcodes(
	const struct opcode_counts *c, const struct profile_view *v, struct buf *out);

#endif
