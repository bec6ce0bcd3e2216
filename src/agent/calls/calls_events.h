/* SPDX-License-Identifier: MIT
 *
 * What the hooks of calls do with an event, by the kind of tracing, which is a constant where they are compiled. */
#ifndef AGENT_CALLS_CALLS_EVENTS_H
#define AGENT_CALLS_CALLS_EVENTS_H

#include "agent/calls/timeline.h"
#include "agent/calls/tree.h"

enum calls_mode {
	CALLS_TIMED,
	CALLS_COUNTED,  /* without a clock */
	CALLS_TIMELINE, /* timed, and kept in the order of time */
	CALLS_MODES_
};

static inline enum calls_mode calls_mode(bool with_clock)
{
	return !with_clock ? CALLS_COUNTED : tree_has_timeline ? CALLS_TIMELINE : CALLS_TIMED;
}

static inline void calls_enter(
	struct tracer *t, const void *key, void *callable, enum calls_mode mode)
{
	tree_enter(t, key, callable, mode != CALLS_COUNTED);
	if (mode == CALLS_TIMELINE)
		timeline_begin(t, EVENT_CALL);
}

static inline void calls_leave(struct tracer *t, const void *key, enum calls_mode mode)
{
	size_t depth = timeline_depth(t);

	tree_leave(t, key, mode != CALLS_COUNTED);
	if (mode == CALLS_TIMELINE)
		timeline_end(t, depth);
}

static inline void calls_resume(
	struct tracer *t, const void *key, const void *activation, enum calls_mode mode)
{
	tree_resume(t, key, activation, mode != CALLS_COUNTED);
	if (mode == CALLS_TIMELINE)
		timeline_begin(t, EVENT_RESUME);
}

static inline void calls_suspend(
	struct tracer *t, const void *key, const void *activation, enum calls_mode mode)
{
	size_t depth = timeline_depth(t);

	tree_suspend(t, key, activation, mode != CALLS_COUNTED);
	if (mode == CALLS_TIMELINE)
		timeline_end(t, depth);
}

#endif
