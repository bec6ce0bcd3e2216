/* SPDX-License-Identifier: MIT
 *
 * Tracing within a budget (3.12 on): functions that are called so often that watching them would cost too much are
 * switched off, and seen only in windows: short spans of time, at random moments, in which everything is watched. Everything
 * else stays exact. Outside windows the time of functions that are off is that of the nearest caller that is on; what
 * the windows saw (wire/budget_area.h) says how much of it is theirs.
 *
 * A function is off when it has used up its share of the budget within one tick. Its sites are switched off one by
 * one, as they are met (DISABLE). A window switches all sites of the process on again: sys.monitoring has no finer means
 * for events that are watched everywhere. Call sites are of all callables: when a window sees a C function called
 * at a site that was off, that function is off as well, since the site was. */
#ifndef AGENT_CALLS_BUDGET_H
#define AGENT_CALLS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/calls/monitor.h"
#include "agent/core/compat.h"

struct trace_cost;

#pragma GCC visibility push(hidden)

/* A share of the program's time in percent; 0: no budget. Before calls_start. */
void budget_set(unsigned percent, const struct trace_cost *cost);
bool budget_is_set(void);

/* The hooks: events, by names of sys.monitoring, ended by NULL. `missing` is sys.monitoring.MISSING. */
struct budget_event {
	const char *event;
	monitor_fn *callback;
};
extern const struct budget_event budget_events[];
void budget_start(const struct monitor *m, PyObject *missing);
/* A code object dies: another one at its address is not the one that was switched off. */
void budget_died(const void *code);
/* In a forked child: nothing is off yet. */
void budget_forget(void);

#pragma GCC visibility pop

#endif
