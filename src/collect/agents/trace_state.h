/* SPDX-License-Identifier: MIT
 *
 * What the collector of exact calls holds while a program runs, for the files that are parts of it: py_trace.c (the
 * session, the environment, the schedule) and trace_rows.c (the records of the recording). */
#ifndef COLLECT_AGENTS_TRACE_STATE_H
#define COLLECT_AGENTS_TRACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "collect/agents/line_patterns.h"
#include "collect/agents/session.h"
#include "collect/agents/tick_map.h"
#include "collect/agents/trace_events.h"
#include "collect/agents/trace_functions.h"
#include "collect/agents/trace_lines.h"
#include "collect/agents/trace_opcodes.h"
#include "collect/agents/trace_tree.h"
#include "collect/agents/untraced.h"
#include "collect/collector.h"
#include "collect/samples/regions_file.h"
#include "collect/torch/operators.h"
#include "sys/clocksource.h"
#include "wire/trace.h"

/* One process that has said hello. */
struct traced {
	struct session_process *process; /* borrowed from the session */
	struct trace_tree tree;
	struct trace_functions functions;
	struct trace_lines lines;
	struct trace_events events;
	struct trace_opcodes opcodes;
	struct trace_ops ops;
	/* node of the package's own → its parent, or the nearest above that is shown */
	struct map hidden;
	struct map hidden_events; /* the same → its calls and resumptions */
	char *interpreter;        /* owned */
	uint32_t row, segment;
	uint64_t n_nonsense; /* records that were not believed */
};

/* What became of PyTorch in all processes that have ended. */
struct trace_torch {
	uint64_t n_ops, n_lost, n_processes, n_gaps, gap_ns;
	uint32_t n_threads_unseen;
	uint32_t cost_ns; /* of the process with most operators, as the next two */
	double slowdown;  /* UNITS_UNKNOWN */
	uint64_t n_ops_there;
	struct buf compiled; /* of the first process that compiled something */
	char version[40], cannot[304];
};

struct trace {
	struct collect_context c;
	struct session *session;
	struct session_options options; /* it was opened with */
	enum clock_mode clock_mode;
	struct clock_triple first, now;
	VEC(struct traced *) processes;
	uint32_t next_id;
	uint64_t next_snapshot_ns;
	struct line_patterns wishes;
	struct untraced untraced;
	/* of the timeline, of processes that have ended */
	uint64_t n_events, n_event_bytes, n_events_lost;
	struct regions_file regions;
	struct buf notes; /* lines */
	unsigned n_notes;
	bool has_cost;
	struct trace_cost cost;  /* of an event, as the first process measured it */
	uint64_t n_paces, paces; /* the CPU's pace, of processes that have ended */
	uint64_t n_counted;      /* calls and resumptions that their agents counted */
	struct tick_map ticks;   /* with wants_torch */
	struct trace_torch torch;
	bool is_over; /* what is to be recorded is */
};

static inline bool trace_has_timeline(const struct trace *t)
{
	return t->c.agent_options.wants_timeline;
}

static inline bool trace_has_torch(const struct trace *t)
{
	return t->c.agent_options.wants_torch;
}

/* A duration in the session's clock. */
uint64_t trace_to_ns(const struct trace *t, uint64_t ticks);

#endif
