/* SPDX-License-Identifier: MIT
 *
 * What a traced process brings, as records of the recording: its calling contexts, lines, opcodes, the calls in order of
 * time, what was estimated under a budget, arguments, operators of PyTorch, and what was lost. */
#ifndef COLLECT_AGENTS_TRACE_ROWS_H
#define COLLECT_AGENTS_TRACE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct event_block;
struct trace;
struct traced;

/* Where the writers below write: one process of a collector. */
struct trace_writing {
	struct trace *t;
	struct traced *p;
};

/* What has changed in the tree, the lines and the opcodes since the last time. */
void trace_rows_tree(struct trace *t, struct traced *p);

/* A block of the timeline; ctx: struct trace_writing. */
void trace_rows_events(void *ctx, const struct event_block *b, const void *bytes);

/* Of a process that has ended: estimates under a budget, and arguments. */
void trace_rows_end(struct trace *t, struct traced *p);

/* Operators, after a drain of all rings. is_last: of this process. */
void trace_rows_ops(struct trace *t, struct traced *p, bool is_last);

/* Nothing is written when nothing was lost. */
void trace_rows_loss(struct trace *t, struct traced *p, const char *what, uint64_t count);

#endif
