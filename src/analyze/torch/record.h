/* SPDX-License-Identifier: MIT
 *
 * Operators of a PyTorch program as records of a recording, in both directions: a trace becomes one (`op`, `op_memory`,
 * `op_mark`, `op_property`, `op_trace`; docs/FORMAT.md), and whatever `op` records there are, of a trace or of a program
 * that was recorded, become events for the analyses.
 *
 * A collector needs nothing of this. It writes spans as they end, in any order, next to its samples, with a name and the
 * thread's row; the rest as far as it is known, 0 otherwise:
 *
 *	writer_add(w, RECORD_op, &(struct rec_op){ .t_ns = begun, .duration_ns = now - begun, .thread = thread,
 *		.name = writer_string(w, "aten::mm"), .category = OP_CPU, .code = code, .offset = offset });
 *
 * code and offset: the Python function that called it, and where. Times are the recording's, as of samples. Categories are
 * in wire/ops.h: a named region is OP_ANNOTATION; "ProfilerStep#7" makes steps. */
#ifndef ANALYZE_TORCH_RECORD_H
#define ANALYZE_TORCH_RECORD_H

#include <stdbool.h>

struct err;
struct op_events;
struct reader;
struct tables;
struct writer;

/* All of x; what was kept of its file (keeps_all), too. No segment may end meanwhile. */
void op_record_write(const struct op_events *x, struct writer *w);
/* A later part of the same process's trace: without what is known from the first. */
void op_record_write_more(const struct op_events *x, struct writer *w);

bool op_record_is_in(const struct reader *r);

/* Fills *to, which is zeroed but for keeps_all; op_events_done also after a failure. A recording without operators is
 * ERR_NOT_PREPARED. */
int op_record_read(struct tables *t, struct op_events *to, struct err *e);

#endif
