/* SPDX-License-Identifier: MIT
 *
 * What the tool asks of the agents. It lies in the header of each process's memory (session_layout.h), written by the tool before
 * the agent sees it. All zero asks for nothing.
 *
 * Both sides check it with agent_options_problem, the tool before it opens a session, the agent on a copy of its own
 * (leadline_link_options): from then on neither looks at the shared one. Flags are bytes of 0 or 1, since any other value in a
 * bool is undefined. A collector that is new takes its fields from the end of `reserved`, adds their bounds to
 * agent_options_problem and raises SESSION_VERSION. */
#ifndef WIRE_AGENT_OPTIONS_H
#define WIRE_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agent_calls {
	AGENT_CALLS_NONE,
	AGENT_CALLS_COUNTED, /* without a clock */
	AGENT_CALLS_TIMED,
};

enum { AGENT_OPTIONS_BYTES = 64, AGENT_BUDGET_PCT_MAX = 100 };
#define AGENT_MEMORY_PERIOD_MAX ((uint64_t)1 << 40)

struct agent_options {
	/* Calls of Python and C functions (trace.h). */
	uint8_t calls;          /* enum agent_calls */
	uint8_t wants_timeline; /* timed calls: each in the order of time, too (events.h) */
	uint8_t wants_args;     /* what functions are called with (args_area.h) */
	uint8_t budget_pct; /* timed calls: within this share of the program's time (budget_area.h); 0: all of them */
	uint32_t timeline_min_ns; /* calls shorter than this are no part of the timeline */

	/* Lines and instructions (line_area.h): of selected functions with wants_line_times, else of all. */
	uint8_t wants_line_times; /* lines of selected functions, with a clock */
	uint8_t wants_line_hits;  /* how often lines ran, without one */
	uint8_t wants_opcodes;    /* how often instructions ran */

	/* Operators of PyTorch (op_area.h). */
	uint8_t wants_torch;

	uint8_t reserved[44]; /* 0 */

	/* Allocations (memory_area.h): the mean distance of samples; 0: none are wanted. */
	uint64_t memory_period_bytes;
};

_Static_assert(sizeof(struct agent_options) == AGENT_OPTIONS_BYTES, "options: one cache line");
_Static_assert(offsetof(struct agent_options, reserved) + 44 ==
		offsetof(struct agent_options, memory_period_bytes),
	"no padding");

/* The first field whose value cannot be meant; NULL: all are good. */
static inline const char *agent_options_problem(const struct agent_options *o)
{
	bool is_timed = o->calls == AGENT_CALLS_TIMED;

	if (o->calls > AGENT_CALLS_TIMED)
		return "calls";
	if (o->wants_timeline > is_timed)
		return "wants_timeline";
	if (o->wants_args > (o->calls != AGENT_CALLS_NONE))
		return "wants_args";
	if (o->budget_pct > (is_timed ? AGENT_BUDGET_PCT_MAX : 0))
		return "budget_pct";
	if (o->timeline_min_ns && !o->wants_timeline)
		return "timeline_min_ns";
	if (o->wants_line_times > 1)
		return "wants_line_times";
	if (o->wants_line_hits > 1)
		return "wants_line_hits";
	if (o->wants_opcodes > 1)
		return "wants_opcodes";
	if (o->wants_torch > 1)
		return "wants_torch";
	if (o->memory_period_bytes > AGENT_MEMORY_PERIOD_MAX)
		return "memory_period_bytes";
	for (size_t i = 0; i < sizeof o->reserved; i++)
		if (o->reserved[i])
			return "reserved";
	return NULL;
}

#endif
