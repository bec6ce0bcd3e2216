/* SPDX-License-Identifier: MIT
 *
 * The spans of a PyTorch trace over time: a lane for each thread and each stream, in it rows, one for each depth in which spans lie in
 * each other. A slice of a row is what a picture of some width needs: spans too narrow to be seen become one with their neighbours, so
 * that it is as small for a million of them as for a thousand. */
#ifndef ANALYZE_TORCH_TIMELINE_H
#define ANALYZE_TORCH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct op_events;

struct op_row {
	const uint32_t *events; /* in the order of time, none over another */
	size_t n;
};

struct op_lane {
	/* as the trace names them; of a device: its number, and the stream's */
	const char *process, *thread;
	bool is_device;
	size_t n_events;
	size_t track;             /* of the events */
	size_t first_row, n_rows; /* in rows */
};

struct op_timeline {
	const struct op_lane *lanes; /* threads, those with most events first; then streams */
	size_t n_lanes;
	const struct op_row *rows;
	size_t n_rows;
	const uint32_t *row_of;   /* by event; UINT32_MAX: it is not shown */
	int64_t begin_ns, end_ns; /* of all events */
	size_t n_too_deep;        /* events below the deepest row there may be */
};

enum { OP_ROWS_MOST = 96 }; /* of a lane */

/* with_python: Python functions are spans, too. */
const struct op_timeline *op_timeline_build(struct arena *a, struct op_events *x, bool with_python);

struct op_span {
	int64_t start_ns, end_ns;
	uint32_t event; /* the only one, or the first of several */
	uint32_t n;
};

typedef VEC(struct op_span) op_spans;

/* Of a row what lies in from … to, appended. Spans shorter than least_ns become one with those that follow within that time; such a span is
 * at most 16 times as long. */
void op_timeline_slice(const struct op_timeline *t, const struct op_events *x, size_t row,
	int64_t from_ns, int64_t to_ns, int64_t least_ns, op_spans *to);

#endif
