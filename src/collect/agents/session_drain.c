/* SPDX-License-Identifier: MIT
 * See session.h: reading the rings and the sparse areas. Every byte of them may be a lie; ring.c
 * checks the frame of a record, the collectors its contents. */
#include <stdlib.h>
#include <string.h>

#define LOG_TOPIC "session"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/agents/session_state.h"
#include "base/banned.h"

enum { BYTES_PER_POLL = 1 << 20 }; /* drained before the door is looked at again */

struct drain {
	struct session *s;
	session_event_fn *on_event;
	void *ctx;
	struct err *e;
	int64_t n_records;
	uint64_t n_since_poll; /* bytes */
	int result;            /* negative: stop */
};

static bool tell(struct drain *d, const struct session_event *ev)
{
	if (d->result == 0 && d->on_event(d->ctx, ev, d->e) < 0)
		d->result = -(int)(d->e->code ? d->e->code : ERR_SYSTEM);
	return d->result == 0;
}

static bool tell_thread(
	struct drain *d, struct process *p, struct thread *t, enum session_event_kind what)
{
	return tell(d,
		&(struct session_event){ .what = what,
			.process = &p->pub,
			.thread = &t->pub,
			.text = t->ring.garbage ? t->ring.garbage : "" });
}

/* How much a counter in shared memory has grown; one that went back is not believed. */
static uint64_t growth(const _Atomic uint64_t *counter, uint64_t *seen)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
	uint64_t more = now > *seen ? now - *seen : 0;

	*seen += more;
	return more;
}

static void add_counts(struct session_counts *to, const struct session_counts *more)
{
	to->n_records += more->n_records;
	to->n_bytes += more->n_bytes;
	to->n_dropped += more->n_dropped;
	to->n_waits += more->n_waits;
	to->n_timeouts += more->n_timeouts;
	to->wait_ns += more->wait_ns;
}

static void count(
	struct drain *d, struct process *p, struct thread *t, const struct session_counts *more)
{
	add_counts(&t->pub.counts, more);
	add_counts(&p->pub.counts, more);
	add_counts(&d->s->stats.counts, more);
}

static void count_losses(struct drain *d, struct process *p, struct thread *t)
{
	struct ring_shared *r = t->ring.shared;
	struct session_counts more = { .n_dropped = growth(&r->n_dropped, &t->seen.n_dropped),
		.n_waits = growth(&r->n_waits, &t->seen.n_waits),
		.n_timeouts = growth(&r->n_timeouts, &t->seen.n_timeouts),
		.wait_ns = growth(&r->wait_ns, &t->seen.wait_ns) };

	count(d, p, t, &more);
}

static void hand_on(
	struct drain *d, struct process *p, struct thread *t, const struct ring_record *head)
{
	struct session_counts one = { .n_records = 1, .n_bytes = head->n_bytes };
	struct session_event ev = { .what = SESSION_RECORD,
		.process = &p->pub,
		.thread = &t->pub,
		.kind = head->kind,
		.flags = head->flags,
		.n_bytes = head->n_bytes,
		.data = d->s->record };

	count(d, p, t, &one);
	d->n_records++;
	d->n_since_poll += head->n_bytes + sizeof *head;
	tell(d, &ev);
}

/* Hands on what the ring holds, at most a ringful. True when it is empty. */
static bool drain_ring(struct drain *d, struct process *p, struct thread *t)
{
	enum ring_next next = RING_RECORD;
	struct ring_record head;
	const void *payload;

	for (uint64_t n = 0; d->result == 0 && n < t->ring.size;) {
		next = ring_peek(&t->ring, &head, &payload);
		if (next != RING_RECORD)
			break;
		memcpy(d->s->record, payload, head.n_bytes);
		n += t->ring.record_bytes;
		ring_consume(&t->ring);
		hand_on(d, p, t, &head);
	}
	ring_publish(&t->ring);
	if (next == RING_GARBAGE) {
		log_debug(1, "process %u, tid %d: %s", p->pub.id, (int)t->pub.tid, t->ring.garbage);
		t->is_abandoned = true;
		d->s->stats.n_abandoned++;
		tell_thread(d, p, t, SESSION_THREAD_ABANDONED);
		return true;
	}
	return next == RING_EMPTY || t->ring.head == t->ring.tail;
}

static void thread_begin(
	struct drain *d, struct process *p, struct thread *t, struct session_slot *slot)
{
	t->is_open = true;
	t->pub = (struct session_thread){
		.id = ++d->s->n_threads,
		.tid = atomic_load_explicit(&slot->tid, memory_order_relaxed),
		.start = atomic_load_explicit(&slot->start, memory_order_relaxed),
	};
	d->s->stats.n_threads++;
	tell_thread(d, p, t, SESSION_THREAD_BEGAN);
}

/* Gives the slot back to the target, unless it is broken or nobody is left to take it. */
static void thread_end(struct drain *d, struct process *p, struct thread *t, bool is_last)
{
	struct session_slot *slot = session_slot_at(p->layout, p->map, (uint32_t)(t - p->threads));

	if (!tell_thread(d, p, t, SESSION_THREAD_ENDED))
		return;
	t->is_open = false;
	if (is_last || t->is_abandoned)
		return;
	atomic_store_explicit(&slot->state, SESSION_SLOT_FREE, memory_order_release);
	atomic_fetch_add(&session_header_of(p)->n_released, 1);
}

static void drain_slot(struct drain *d, struct process *p, uint32_t i, bool is_last)
{
	struct session_slot *slot = session_slot_at(p->layout, p->map, i);
	struct thread *t = &p->threads[i];
	/* Read before the ring: what an ended thread wrote is all there. */
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	bool is_empty = true;

	if (!t->is_open) {
		if (t->is_abandoned || (state != SESSION_SLOT_LIVE && state != SESSION_SLOT_ENDED))
			return;
		thread_begin(d, p, t, slot);
	}
	if (is_last)
		ring_freeze(&t->ring);
	if (!t->is_abandoned)
		is_empty = drain_ring(d, p, t);
	count_losses(d, p, t);
	if (d->result == 0 && is_empty && (is_last || state == SESSION_SLOT_ENDED))
		thread_end(d, p, t, is_last);
	if (d->n_since_poll >= BYTES_PER_POLL) {
		d->n_since_poll = 0;
		if (session_poll(d->s, d->e) < 0 && d->result == 0)
			d->result = -(int)d->e->code;
	}
}

static void drain_process(struct drain *d, struct process *p)
{
	struct session_header *h = session_header_of(p);
	bool is_last = p->has_ended; /* as of now: nothing can be written any more */
	uint32_t n = atomic_load_explicit(&h->n_claimed, memory_order_acquire);
	uint64_t homeless, sparse_failed;

	if (!p->has_begun)
		p->has_begun = tell(d,
			&(struct session_event){
				.what = SESSION_PROCESS_BEGAN, .process = &p->pub });
	n = n < p->layout->n_slots ? n : p->layout->n_slots;
	p->n_seen = n > p->n_seen ? n : p->n_seen;
	for (uint32_t i = 0; d->result == 0 && i < p->n_seen; i++)
		drain_slot(d, p, i, is_last);
	homeless = growth(&h->n_homeless, &p->homeless_seen);
	sparse_failed = growth(&h->n_sparse_failed, &p->sparse_failed_seen);
	p->pub.n_homeless += homeless;
	p->pub.n_sparse_failed += sparse_failed;
	p->pub.n_threads_missed += growth(&h->n_threads_missed, &p->threads_missed_seen);
	p->pub.n_events_missed += growth(&h->n_events_missed, &p->events_missed_seen);
	d->s->stats.n_homeless += homeless;
	d->s->stats.n_sparse_failed += sparse_failed;
	if (is_last && d->result == 0)
		p->is_done = tell(d,
			&(struct session_event){
				.what = SESSION_PROCESS_ENDED, .process = &p->pub });
}

int64_t session_drain(struct session *s, session_event_fn *on_event, void *ctx, struct err *e)
{
	struct drain d = { .s = s, .on_event = on_event, .ctx = ctx, .e = e };

	/* By index: the door, answered in between, adds processes at the end. */
	for (size_t i = 0, n = s->processes.n; d.result == 0 && i < n; i++)
		drain_process(&d, s->processes.v[i]);
	for (size_t i = s->processes.n; i-- > 0;)
		if (s->processes.v[i]->is_done) {
			session_process_free(s->processes.v[i]);
			vec_remove_swap(&s->processes, i);
		}
	session_beat(s);
	return d.result < 0 ? d.result : d.n_records;
}

void session_snapshot(const struct session_process *pub, struct buf *out)
{
	const struct process *p = (const struct process *)pub;
	uint64_t used =
		atomic_load_explicit(&session_header_of(p)->sparse_used, memory_order_acquire);
	const uint64_t *from = (const uint64_t *)(const void *)(p->map + p->layout->sparse_offset);
	uint64_t *to;

	used = used < p->layout->sparse_bytes ? used & ~(uint64_t)7 : p->layout->sparse_bytes;
	buf_clear(out);
	to = buf_reserve(out, used);
	for (uint64_t i = 0; i < used / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	buf_advance(out, used);
}

bool session_read(const struct session_process *pub, uint64_t offset, void *to, uint64_t n_bytes)
{
	const struct process *p = (const struct process *)pub;
	uint64_t used =
		atomic_load_explicit(&session_header_of(p)->sparse_used, memory_order_acquire);
	const unsigned char *from = p->map + p->layout->sparse_offset + offset;
	uint64_t i = 0;

	used = used < p->layout->sparse_bytes ? used : p->layout->sparse_bytes;
	if (offset % 8 || offset > used || n_bytes > used - offset)
		return false;
	for (; i + 8 <= n_bytes; i += 8) {
		uint64_t word = __atomic_load_n(
			(const uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED);

		memcpy((unsigned char *)to + i, &word, sizeof word);
	}
	memcpy((unsigned char *)to + i, from + i, n_bytes - i);
	return true;
}
