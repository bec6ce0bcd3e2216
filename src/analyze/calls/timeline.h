/* SPDX-License-Identifier: MIT
 *
 * Timeline: the calls of each thread in the order of time (`call_events` records), for views that draw them.
 *
 *	const struct timeline *l = timeline_build(&a, tables, frames);	NULL: the recording has none
 *	for (size_t i = 0; i < l->n_threads; i++)
 *		timeline_visit(l, l->threads[i].row, &(struct timeline_window){ 0 }, &visitor);
 *
 * A visitor is told when calls begin and end, properly nested, times never running backwards. Runs of a generator or
 * coroutine are spans of their own. What had not ended when the recording did ends with its thread's last event. A
 * window is read from the thread's first event on, so that what began before it has its true begin; events are
 * decoded at some 10 ns each, one chunk of the recording is in memory at a time. */
#ifndef ANALYZE_CALLS_TIMELINE_H
#define ANALYZE_CALLS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

struct timeline_thread {
	uint32_t row;            /* of the thread table */
	uint64_t t_ns, end_ns;   /* CLOCK_MONOTONIC: first and last event */
	uint64_t n_calls;        /* begins, by a call */
	uint64_t n_resumes;      /* … by a resumption */
	uint64_t n_seen;         /* … that happened before tracing did */
	uint64_t n_ends;         /* of any of them */
	uint64_t n_gaps;         /* blocks that are missing */
	uint32_t first, deepest; /* chunk its first block is in; most calls open at once */
};

struct timeline {
	const struct timeline_thread *threads; /* in the order of their first events */
	size_t n_threads;
	uint64_t n_events, n_bytes; /* bytes of events, without heads of blocks */
	uint64_t min_duration_ns;   /* shorter calls were left out */
	struct timeline_source *source;
};

struct timeline_window {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; to_ns 0: to the end */
};

/* function: its number (frames.h). Calls without a node (the tool's own) are not told. */
struct timeline_visitor {
	void *ctx;
	void (*begin)(void *ctx, uint32_t function, uint64_t t_ns);
	/* Instead of it: place of the context (rec_node) and how it began (wire/events.h). */
	void (*begin_at)(void *ctx, uint64_t place, unsigned how, uint64_t t_ns);
	void (*end)(void *ctx, uint32_t function, uint64_t t_ns);
};

const struct timeline *timeline_build(struct arena *a, struct tables *t, struct frames *f);

/* What goes on behind the window ends at its end. */
void timeline_visit(const struct timeline *l, uint32_t thread_row,
	const struct timeline_window *window, const struct timeline_visitor *v);

#endif
