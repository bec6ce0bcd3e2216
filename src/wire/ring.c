/* SPDX-License-Identifier: MIT
 * See ring.h: the consumer's checks and the producer's bounded wait. Reserving and committing are
 * inline there. */
#include "wire/ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wire/clock.h"

enum { WAIT_SLICE_NS = 5000000 }; /* how late is_over may be noticed */

/* ---- producer: the wait ---- */

static void futex_sleep(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u) };

	/* Woken, changed, timed out or interrupted: the caller looks again in every case. */
	syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* is_waiting and head are both sequentially consistent on both sides: either the consumer sees the
 * flag and wakes us, or we see its head here and do not sleep. */
static bool sleep_until_room(struct ring_writer *w, uint64_t need, uint64_t ns)
{
	struct ring_shared *s = w->shared;
	uint32_t seen = atomic_load_explicit(&s->room_seq, memory_order_acquire);

	atomic_store(&s->is_waiting, 1);
	w->head = atomic_load(&s->head);
	if (ring_has_room(w, need))
		return true;
	futex_sleep(&s->room_seq, seen, ns);
	return ring_has_room(w, need);
}

enum ring_wait ring_wait(struct ring_writer *w, uint32_t n_bytes, uint64_t limit_ns,
	bool (*is_over)(const void *ctx), const void *ctx)
{
	uint64_t record = ring_record_bytes(n_bytes), need = record + ring_pad_bytes(w, record);
	uint64_t start_ns = clock_monotonic_ns(), spent_ns = 0;
	enum ring_wait result = RING_WAIT_TIMEOUT;
	int saved = errno;

	atomic_fetch_add_explicit(&w->shared->n_waits, 1, memory_order_relaxed);
	while (ring_can_hold(w, n_bytes) && spent_ns < limit_ns) {
		uint64_t left_ns = limit_ns - spent_ns;

		if (is_over(ctx)) {
			result = RING_WAIT_OVER;
			break;
		}
		if (sleep_until_room(w, need, left_ns < WAIT_SLICE_NS ? left_ns : WAIT_SLICE_NS)) {
			result = RING_WAIT_ROOM;
			break;
		}
		spent_ns = clock_monotonic_ns() - start_ns;
	}
	atomic_store(&w->shared->is_waiting, 0);
	atomic_fetch_add_explicit(
		&w->shared->wait_ns, clock_monotonic_ns() - start_ns, memory_order_relaxed);
	if (result == RING_WAIT_TIMEOUT)
		atomic_fetch_add_explicit(&w->shared->n_timeouts, 1, memory_order_relaxed);
	errno = saved;
	return result;
}

/* ---- consumer ---- */

void ring_reader_init(
	struct ring_reader *r, struct ring_shared *shared, const void *data, uint64_t size)
{
	*r = (struct ring_reader){ .shared = shared, .data = data, .size = size };
}

static enum ring_next abandon(struct ring_reader *r, const char *why)
{
	r->garbage = why;
	r->record_bytes = 0;
	return RING_GARBAGE;
}

static bool load_tail(struct ring_reader *r)
{
	uint64_t tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);

	if (tail & 7)
		abandon(r, "the end of the ring is not aligned");
	else if (tail - r->head > r->size)
		abandon(r, "the end of the ring lies before its beginning or more than a ring on");
	else
		r->tail = tail;
	return !r->garbage;
}

void ring_freeze(struct ring_reader *r)
{
	if (!r->garbage && !r->is_frozen)
		load_tail(r);
	r->is_frozen = true;
}

enum ring_next ring_peek(
	struct ring_reader *r, struct ring_record *ret_head, const void **ret_payload)
{
	r->record_bytes = 0;
	if (r->garbage)
		return RING_GARBAGE;
	/* Twice at most: padding, then what follows it at the beginning of the ring. */
	for (;;) {
		uint64_t at = r->head & (r->size - 1), to_end = r->size - at, n, word;
		struct ring_record head;

		if (r->head == r->tail && (r->is_frozen || !load_tail(r) || r->head == r->tail))
			return r->garbage ? RING_GARBAGE : RING_EMPTY;
		/* One load, so that what is checked is what is used. */
		word = __atomic_load_n((const uint64_t *)(r->data + at), __ATOMIC_RELAXED);
		memcpy(&head, &word, sizeof head);
		n = ring_record_bytes(head.n_bytes);
		if (n > r->tail - r->head)
			return abandon(r, "a record is longer than what was written");
		if (n > to_end)
			return abandon(r, "a record runs over the end of the ring");
		if (head.kind != RING_KIND_PAD) {
			if (n > ring_record_bytes_max(r->size))
				return abandon(r, "a record is longer than any may be");
			r->record_bytes = n;
			*ret_head = head;
			*ret_payload = r->data + at + sizeof head;
			return RING_RECORD;
		}
		if (n != to_end || at == 0)
			return abandon(r, "padding where none can be");
		r->head += n;
	}
}

void ring_consume(struct ring_reader *r)
{
	r->head += r->record_bytes;
	r->record_bytes = 0;
	if (r->head - r->published >= r->size / 8)
		ring_publish(r);
}

void ring_publish(struct ring_reader *r)
{
	if (r->garbage || r->head == r->published)
		return;
	r->published = r->head;
	atomic_exchange(&r->shared->head, r->head);
	if (!atomic_load(&r->shared->is_waiting))
		return;
	atomic_fetch_add(&r->shared->room_seq, 1);
	syscall(SYS_futex, &r->shared->room_seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
