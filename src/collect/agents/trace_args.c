/* SPDX-License-Identifier: MIT
 * See trace_args.h. */
#include "collect/agents/trace_args.h"

#include <string.h>

#include "base/buf.h"
#include "base/banned.h"

void trace_args_each(const struct buf *area, trace_args_fn *on_sketch, void *ctx)
{
	for (size_t at = 0; area->n - at >= TRACE_GRANULE_BYTES; at += TRACE_GRANULE_BYTES) {
		struct trace_granule g;
		struct args_sketch s;

		memcpy(&g, area->data + at, sizeof g);
		if (g.magic != TRACE_GRANULE_MAGIC || g.kind != TRACE_GRANULE_ARGS)
			continue;
		memcpy(&s, area->data + at + sizeof g, sizeof s);
		if (s.level > ARGS_LEVEL_MAX)
			continue;
		for (int i = 0; i < ARGS_FREQUENT; i++)
			s.frequent[i].text[ARGS_TEXT - 1] = '\0';
		on_sketch(ctx, g.tid, &s);
	}
}
