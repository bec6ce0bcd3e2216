/* SPDX-License-Identifier: MIT
 * See trace_budget.h. */
#include "collect/agents/trace_budget.h"

#include <string.h>

#include "base/buf.h"
#include "base/banned.h"

/* An entry of a process that ran on after the last window. */
static void reach(struct budget_entry *e, uint64_t alive, uint64_t clock)
{
	if (!e->is_over && e->last < alive)
		e->last = alive;
	if (!e->is_over)
		e->off_clock = clock > e->off_clock ? clock - e->off_clock : 0;
	if (e->blind_since && e->last > e->blind_since)
		e->blind += e->last - e->blind_since;
}

void trace_budget_each(const struct buf *area, trace_budget_fn *on_entry, void *ctx)
{
	/* Of the first granule; those are in the order in which they were taken. */
	uint64_t alive = 0, clock = 0;

	for (size_t at = 0; area->n - at >= TRACE_GRANULE_BYTES; at += TRACE_GRANULE_BYTES) {
		struct trace_granule g;
		struct budget_entry e;

		memcpy(&g, area->data + at, sizeof g);
		if (g.magic != TRACE_GRANULE_MAGIC || g.kind != TRACE_GRANULE_BUDGET)
			continue;
		clock = alive ? clock : g.paces;
		alive = alive ? alive : g.start;
		for (size_t i = 0; i < g.n && i < BUDGET_ENTRIES; i++) {
			memcpy(&e, area->data + at + sizeof g + i * sizeof e, sizeof e);
			reach(&e, alive, clock);
			on_entry(ctx, &e);
		}
	}
}
