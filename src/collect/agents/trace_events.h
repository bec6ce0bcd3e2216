/* SPDX-License-Identifier: MIT
 *
 * Blocks of calls in the order of time (wire/events.h), from the ring or from a copy of a process's memory,
 * into `call_events` records. The bytes are handed on as they are; readers check them.
 *
 *	struct trace_events v = { 0 };
 *	trace_events_add(&v, data, n_bytes, on_block, ctx);	a record of the ring; false: nonsense
 *	trace_events_rest(&v, &area, on_block, ctx);		of an ended process: what it had not sent
 *	trace_events_done(&v); */
#ifndef COLLECT_AGENTS_TRACE_EVENTS_H
#define COLLECT_AGENTS_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/events.h"

struct buf;

/* A block may lie in the memory of a killed process that was sent just before: those sent last are known. */
enum { TRACE_EVENTS_SENT = 1024 };

struct trace_events_sent {
	uint32_t thread;
	uint64_t sequence; /* 0: none */
};

struct trace_events {
	struct trace_events_sent *sent; /* owned, TRACE_EVENTS_SENT by thread; NULL: none yet */
	uint64_t n_events;              /* handed on */
	uint64_t n_bytes;               /* they took, heads of blocks included */
	uint64_t n_lost;                /* that found no room for too long */
};

/* `block` is believed as far as `filled` fits the bytes, which follow it. */
typedef void trace_events_fn(void *ctx, const struct event_block *block, const void *bytes);

bool trace_events_add(struct trace_events *v, const void *data, size_t n_bytes,
	trace_events_fn *on_block, void *ctx);
void trace_events_rest(
	struct trace_events *v, const struct buf *area, trace_events_fn *on_block, void *ctx);
void trace_events_done(struct trace_events *v);

#endif
