/* SPDX-License-Identifier: MIT
 * See trace_budget.h. */
#include "collect/trace_budget.h"

#include <string.h>

#include "base/buf.h"
#include "base/banned.h"

void trace_budget_each(const struct buf *area, trace_budget_fn *on_entry, void *ctx)
{
	for (size_t at = 0; area->n - at >= TRACE_GRANULE_BYTES; at += TRACE_GRANULE_BYTES) {
		struct trace_granule g;
		struct budget_entry e;

		memcpy(&g, area->data + at, sizeof g);
		if (g.magic != TRACE_GRANULE_MAGIC || g.kind != TRACE_GRANULE_BUDGET)
			continue;
		for (size_t i = 0; i < g.n && i < BUDGET_ENTRIES; i++) {
			memcpy(&e, area->data + at + sizeof g + i * sizeof e, sizeof e);
			on_entry(ctx, &e);
		}
	}
}
