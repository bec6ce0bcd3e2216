/* SPDX-License-Identifier: MIT
 *
 * Stacks of the spans of a trace: what lies in each other in time, thread by thread, as a recording in memory with `weight`
 * records, so that pictures, tables and exports of stacks come from what was read once. Torch's own spans of all categories
 * and those of other tools (op_events.others) are taken; those that begin and end ("B", "E") are paired. Where two overlap,
 * the inner one is cut at the outer one's end, and a note in the recording says how many were. Instants, counters, flows and
 * asynchronous spans have no place on a stack.
 *
 *	if (op_stacks_open(&r, x, path, e) == 0) …
 *	reader_close(r); */
#ifndef ANALYZE_TORCH_STACKS_H
#define ANALYZE_TORCH_STACKS_H

struct err;
struct foreign;
struct op_events;
struct reader;

/* name: for messages. Memory and steps are taken from what reading has left of the file's budget. */
int op_stacks_open(struct reader **ret, const struct op_events *x, const char *name, struct err *e);

/* The same into a recording that was begun. Without a single span it is ERR_BAD_FILE. */
int op_stacks_write(const struct op_events *x, struct foreign *to, struct err *e);

#endif
