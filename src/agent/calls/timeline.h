/* SPDX-License-Identifier: MIT
 *
 * The calls of one thread in the order of time (wire/events.h), beside its tree. The hooks tell of each event
 * after the tree knows it:
 *
 *	tree_enter(t, …); timeline_begin(t, EVENT_CALL);
 *	depth = timeline_depth(t); tree_leave(t, …); timeline_end(t, depth);
 *
 * No lock, no system call but when a block is full and goes to the tool: then a thread may have to wait for
 * room (agent/core/link.h), and what nobody takes is counted. */
#ifndef AGENT_CALLS_TIMELINE_H
#define AGENT_CALLS_TIMELINE_H

#include "agent/calls/tree.h"
#include "wire/events.h"

#pragma GCC visibility push(hidden)

struct timeline {
	struct event_block *block; /* in the session's memory */
	unsigned char *at, *limit; /* next byte; past limit there is not room for one more event */
	uint64_t last;             /* stamp of the last event written */
	uint64_t n_events;         /* in the block */
	uint64_t min_ticks;        /* shorter calls are left out */
	uint32_t last_ref;
	uint32_t n_written;   /* calls of the stack, from the bottom on, whose begin is written */
	unsigned char *marks; /* enum event_how of each call of the stack; 0 above its top */
	size_t n_marks;
};

/* NULL: no memory. number: of the thread, among all that have one. min_ns: shorter calls are left out. */
struct timeline *timeline_new(const struct tracer *t, uint32_t number, uint64_t min_ns);
void timeline_free(struct timeline *l);
/* The thread ends: what it has not sent yet goes to the tool. Another goes on with its memory. */
void timeline_leave(struct tracer *t);
void timeline_take_over(struct tracer *t, uint32_t number);
/* The stack is about to be found anew: what is open ends. */
void timeline_reset(struct tracer *t);

/* ---- slow paths ------------------------------------------------------------------------------ */
bool timeline_grow(struct timeline *l, size_t depth);
/* The call at `depth` ends: writes it and what of its callers has not been written. */
void timeline_write(struct tracer *t, size_t depth);

/* ---- the hot path ---------------------------------------------------------------------------- */

static inline size_t timeline_depth(const struct tracer *t)
{
	return (size_t)(t->top - t->bottom);
}

/* The call on top has begun just now. */
static inline void timeline_begin(struct tracer *t, enum event_how how)
{
	struct timeline *l = t->timeline;
	size_t depth = timeline_depth(t);

	if (likely(l && (depth < l->n_marks || timeline_grow(l, depth))))
		l->marks[depth] = (unsigned char)how;
}

/* What was on the stack above its top now, up to `depth`, has ended just now. */
static inline void timeline_end(struct tracer *t, size_t depth)
{
	struct timeline *l = t->timeline;

	if (unlikely(!l))
		return;
	for (; depth > timeline_depth(t); depth--) {
		if (depth <= l->n_written || t->last - t->bottom[depth].entered >= l->min_ticks)
			timeline_write(t, depth);
		if (likely(depth < l->n_marks))
			l->marks[depth] = 0;
	}
}

#pragma GCC visibility pop

#endif
