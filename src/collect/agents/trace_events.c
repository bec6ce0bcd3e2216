/* SPDX-License-Identifier: MIT
 * See trace_events.h. */
#include "collect/agents/trace_events.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/saturate.h"
#include "base/xalloc.h"
#include "base/banned.h"

static uint32_t bytes_in(const struct event_block *b)
{
	return (uint32_t)b->filled;
}

static void take(
	struct trace_events *v, const struct event_block *b, trace_events_fn *on_block, void *ctx)
{
	saturated_add(&v->n_lost, b->n_lost);
	if (!bytes_in(b))
		return;
	v->n_events += b->filled >> 32;
	v->n_bytes += sizeof *b + bytes_in(b);
	on_block(ctx, b, b + 1);
}

/* An event is a byte at least. */
static bool is_possible(const struct event_block *b, size_t room)
{
	return bytes_in(b) <= room && b->filled >> 32 <= bytes_in(b);
}

bool trace_events_add(struct trace_events *v, const void *data, size_t n_bytes,
	trace_events_fn *on_block, void *ctx)
{
	const struct event_block *b = data;

	if (n_bytes < sizeof *b || bytes_in(b) != n_bytes - sizeof *b ||
		!is_possible(b, EVENT_BLOCK_BYTES))
		return false;
	if (!v->sent)
		v->sent = xcalloc(TRACE_EVENTS_SENT, sizeof *v->sent);
	v->sent[b->thread % TRACE_EVENTS_SENT] =
		(struct trace_events_sent){ b->thread, b->sequence };
	take(v, b, on_block, ctx);
	return true;
}

static bool was_sent(const struct trace_events *v, const struct event_block *b)
{
	const struct trace_events_sent *last =
		v->sent ? &v->sent[b->thread % TRACE_EVENTS_SENT] : NULL;

	return last && last->thread == b->thread && b->sequence <= last->sequence;
}

void trace_events_rest(
	struct trace_events *v, const struct buf *area, trace_events_fn *on_block, void *ctx)
{
	for (size_t at = 0; at + TRACE_GRANULE_BYTES <= area->n; at += TRACE_GRANULE_BYTES) {
		const struct trace_granule *g =
			(const struct trace_granule *)(const void *)(area->data + at);
		const struct event_block *b = (const struct event_block *)(const void *)(g + 1);

		if (g->magic != TRACE_GRANULE_MAGIC || g->kind != TRACE_GRANULE_EVENTS ||
			!is_possible(b, EVENT_BLOCK_BYTES))
			continue;
		if (!was_sent(v, b))
			take(v, b, on_block, ctx);
	}
}

void trace_events_done(struct trace_events *v)
{
	free(v->sent);
	v->sent = NULL;
}
