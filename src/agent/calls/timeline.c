/* SPDX-License-Identifier: MIT
 * See timeline.h. */
#include "agent/calls/timeline.h"

#include <string.h>

#include "agent/core/link.h"
#include "agent/core/memory.h"

enum { MARKS_FIRST = 4096 };

static unsigned char *bytes_of(struct event_block *b)
{
	return (unsigned char *)(b + 1);
}

static void block_begin(struct timeline *l)
{
	struct event_block *b = l->block;

	__atomic_store_n(&b->filled, 0, __ATOMIC_RELEASE);
	b->sequence++;
	b->base = l->last;
	b->ref = l->last_ref;
	b->depth = l->n_written;
	l->n_events = 0;
	l->at = bytes_of(b);
	l->limit = l->at + EVENT_BLOCK_BYTES - EVENT_BYTES_MOST;
}

/* The block is full. One that was sent when its process is killed is known by its sequence. */
static void block_send(struct timeline *l)
{
	uint32_t n_bytes = (uint32_t)(l->at - bytes_of(l->block));

	if (tree_is_rehearsing() ||
		leadline_link_emit(
			TRACE_RECORD_EVENTS, l->block, (uint32_t)sizeof *l->block + n_bytes))
		l->block->n_lost = 0;
	else
		l->block->n_lost += l->n_events;
	block_begin(l);
}

struct timeline *timeline_new(const struct tracer *t, uint32_t number, uint64_t min_ns)
{
	struct trace_granule *g = tree_area(TRACE_GRANULE_BYTES);
	struct timeline *l = g ? memory_map(sizeof *l) : NULL;

	if (!l)
		return NULL;
	l->marks = memory_map(MARKS_FIRST);
	l->n_marks = l->marks ? MARKS_FIRST : 0;
	l->min_ticks = tree_ns_per_tick
		? (uint64_t)(((unsigned __int128)min_ns << 32) / tree_ns_per_tick)
		: min_ns;
	l->block = (struct event_block *)(void *)(g + 1);
	l->block->thread = number;
	l->block->tid = t->tid;
	l->last = t->last;
	block_begin(l);
	g->kind = TRACE_GRANULE_EVENTS;
	g->thread = t->number;
	g->tid = t->tid;
	g->start = t->start;
	__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
	return l;
}

void timeline_free(struct timeline *l)
{
	if (!l)
		return;
	memory_unmap(l->marks, l->n_marks);
	memory_unmap(l, sizeof *l);
}

void timeline_leave(struct tracer *t)
{
	if (!t->timeline)
		return;
	timeline_reset(t);
	if (t->timeline->n_events)
		block_send(t->timeline);
}

/* Blocks are counted by thread, and what of one was lost and not told is told by the next. */
void timeline_take_over(struct tracer *t, uint32_t number)
{
	struct timeline *l = t->timeline;
	struct event_block *b = l->block;

	b->thread = number;
	b->tid = t->tid;
	b->sequence = 0;
	l->last = t->last;
	l->last_ref = 0;
	block_begin(l);
}

bool timeline_grow(struct timeline *l, size_t depth)
{
	size_t n = l->n_marks;
	void *p;

	while (n && n <= depth)
		n *= 2;
	p = n ? mremap(l->marks, l->n_marks, n, MREMAP_MAYMOVE) : MAP_FAILED;
	if (p == MAP_FAILED)
		return false;
	l->marks = p;
	l->n_marks = n;
	return true;
}

/* The lowest bit of a difference is not kept; it is part of the next one. */
static void put_time(struct timeline *l, uint64_t now, unsigned is_end)
{
	uint64_t ticks = now > l->last ? (now - l->last) & ~(uint64_t)1 : 0;

	if (unlikely(l->at > l->limit))
		block_send(l);
	l->at = event_put_varint(l->at, ticks | is_end);
	l->last += ticks;
}

static void publish(struct timeline *l)
{
	uint64_t n_bytes = (uint64_t)(l->at - bytes_of(l->block));

	l->n_events++;
	__atomic_store_n(&l->block->filled, l->n_events << 32 | n_bytes, __ATOMIC_RELEASE);
}

static void put_begin(struct tracer *t, size_t depth)
{
	struct timeline *l = t->timeline;
	uint32_t ref = tree_ref(t->bottom[depth].node);
	uint64_t how = depth < l->n_marks ? l->marks[depth] : EVENT_SEEN;

	put_time(l, t->bottom[depth].entered, 0);
	l->at = event_put_varint(l->at,
		(uint64_t)event_zigzag((int32_t)(ref - l->last_ref)) << EVENT_HOW_BITS | how);
	l->last_ref = ref;
	l->n_written++;
	publish(l);
}

void timeline_write(struct tracer *t, size_t depth)
{
	struct timeline *l = t->timeline;

	while (l->n_written < depth)
		put_begin(t, l->n_written + 1);
	put_time(l, t->last, 1);
	l->n_written--;
	publish(l);
}

void timeline_reset(struct tracer *t)
{
	struct timeline *l = t->timeline;

	if (!l)
		return;
	while (l->n_written)
		timeline_write(t, l->n_written);
	memset(l->marks, 0, l->n_marks);
}
