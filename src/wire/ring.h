/* SPDX-License-Identifier: MIT
 *
 * Byte ring in shared memory: one producer (a thread of the target), one consumer (the tool), no
 * locks. Records are an 8-byte head (`struct ring_record`) and a payload, together padded to a
 * multiple of 8. A record never wraps: a padding record fills the end of the ring.
 *
 *	producer				consumer
 *	p = ring_reserve(&w, kind, flags, n);	while (ring_peek(&r, &head, &p) == RING_RECORD) {
 *	if (p) {					copy n bytes of p;
 *		fill n bytes of p;			ring_consume(&r);
 *		ring_commit(&w);		}
 *	}					ring_publish(&r);
 *
 * Positions count bytes since the ring was made and never go back; the place in the ring is the
 * position modulo its size. A record is visible to the consumer from ring_commit on, as a whole: a
 * producer killed before it leaves nothing.
 *
 * Trust. The producer's memory may be scribbled over by a broken or hostile program. The consumer
 * believes only its own copy of the position; a tail or a head of a record that cannot be right is
 * RING_GARBAGE, for good: no crash, no endless loop, no byte read outside the ring. Payload bytes
 * may change while they are looked at: copy first, then check. The producer never writes outside
 * its ring either, whatever the shared words say.
 *
 * Full ring: ring_reserve returns NULL and the caller counts it (ring_drop) or waits (ring_wait).
 * No malloc, no logging. System calls: futex, in ring_wait and, when a producer waits, in
 * ring_publish. Nothing here is exported from an agent. */
#ifndef WIRE_RING_H
#define WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	RING_BYTES_MIN = 4 << 10,
	RING_BYTES_MAX = 64 << 20,
	RING_RECORD_BYTES_MAX = 64 << 10, /* head included; in a small ring half its size */
	RING_KIND_PAD = 0xffff,           /* the only kind the ring itself knows */
};

struct ring_record {
	uint32_t n_bytes; /* of payload, without head and padding */
	uint16_t kind;    /* what the payload is, agreed by agent and collector; or RING_KIND_PAD */
	uint16_t flags;   /* the kind's own */
};

/* The shared words; all zero is an empty ring. Each side writes its own cache line only. */
struct ring_shared {
	_Alignas(64) _Atomic uint64_t tail; /* producer: committed up to here */
	_Atomic uint64_t n_dropped;         /* records that found no room */
	_Atomic uint64_t n_waits;           /* calls of ring_wait */
	_Atomic uint64_t n_timeouts;        /* … that ended without room */
	_Atomic uint64_t wait_ns;           /* spent in ring_wait */
	_Atomic uint32_t is_waiting;        /* asks the consumer for a wake-up */
	_Alignas(64) _Atomic uint64_t head; /* consumer: free up to here */
	_Atomic uint32_t room_seq;          /* futex word: changes when room was made */
};

/* Producer's private side. */
struct ring_writer {
	struct ring_shared *shared; /* borrowed */
	unsigned char *data;        /* borrowed */
	uint64_t size;              /* power of two */
	uint64_t tail;              /* committed */
	uint64_t next_tail;         /* tail after ring_commit */
	uint64_t head;              /* the consumer's, as last seen */
};

/* Consumer's private side. */
struct ring_reader {
	struct ring_shared *shared; /* borrowed */
	const unsigned char *data;  /* borrowed */
	uint64_t size;              /* power of two */
	uint64_t head;              /* read up to here; the only position that is believed */
	uint64_t tail;              /* checked; records up to here are complete */
	uint64_t published;         /* head as the producer knows it */
	uint64_t record_bytes;      /* of the record ring_peek showed, 0 when none */
	bool is_frozen;             /* the tail is not asked for again */
	const char *garbage;        /* why the ring was abandoned; NULL while it is good */
};

enum ring_next {
	RING_EMPTY,
	RING_RECORD,
	RING_GARBAGE, /* r->garbage says why; stays so */
};

enum ring_wait {
	RING_WAIT_ROOM,
	RING_WAIT_TIMEOUT,
	RING_WAIT_OVER, /* is_over() said so */
};

#pragma GCC visibility push(hidden)

static inline uint64_t ring_record_bytes(uint64_t n_payload)
{
	return (sizeof(struct ring_record) + n_payload + 7) & ~(uint64_t)7;
}

static inline uint64_t ring_record_bytes_max(uint64_t ring_size)
{
	return ring_size / 2 < RING_RECORD_BYTES_MAX ? ring_size / 2 : RING_RECORD_BYTES_MAX;
}

static inline bool ring_is_size(uint64_t size)
{
	return size >= RING_BYTES_MIN && size <= RING_BYTES_MAX && (size & (size - 1)) == 0;
}

/* ---- producer ---- */

/* Takes over where the ring's last producer stopped. `size` must satisfy ring_is_size. */
static inline void ring_writer_init(
	struct ring_writer *w, struct ring_shared *shared, void *data, uint64_t size)
{
	*w = (struct ring_writer){
		.shared = shared,
		.data = data,
		.size = size,
		.tail = atomic_load_explicit(&shared->tail, memory_order_relaxed) & ~(uint64_t)7,
		.head = atomic_load_explicit(&shared->head, memory_order_acquire),
	};
}

/* Whether n_bytes of payload could ever fit. */
static inline bool ring_can_hold(const struct ring_writer *w, uint32_t n_bytes)
{
	return ring_record_bytes(n_bytes) <= ring_record_bytes_max(w->size);
}

/* Bytes of padding before a record of `record` bytes. */
static inline uint64_t ring_pad_bytes(const struct ring_writer *w, uint64_t record)
{
	uint64_t to_end = w->size - (w->tail & (w->size - 1));

	return record > to_end ? to_end : 0;
}

static inline bool ring_has_room(struct ring_writer *w, uint64_t need)
{
	uint64_t used = w->tail - w->head;

	if (used <= w->size && w->size - used >= need)
		return true;
	w->head = atomic_load_explicit(&w->shared->head, memory_order_acquire);
	used = w->tail - w->head;
	return used <= w->size && w->size - used >= need;
}

/* Room for n_bytes of payload, 8-aligned, or NULL when the ring is full or the record too large.
 * Nothing is visible before ring_commit; reserving again forgets the reservation. */
static inline void *ring_reserve(
	struct ring_writer *w, uint16_t kind, uint16_t flags, uint32_t n_bytes)
{
	uint64_t record = ring_record_bytes(n_bytes), pad = ring_pad_bytes(w, record);
	uint64_t at = w->tail & (w->size - 1);
	struct ring_record head = { .n_bytes = n_bytes, .kind = kind, .flags = flags };

	if (record > ring_record_bytes_max(w->size) || !ring_has_room(w, record + pad))
		return NULL;
	if (pad) {
		struct ring_record fill = { .n_bytes = (uint32_t)(pad - sizeof fill),
			.kind = RING_KIND_PAD };

		memcpy(w->data + at, &fill, sizeof fill);
		at = 0;
	}
	memcpy(w->data + at, &head, sizeof head);
	w->next_tail = w->tail + pad + record;
	return w->data + at + sizeof head;
}

static inline void ring_commit(struct ring_writer *w)
{
	w->tail = w->next_tail;
	atomic_store_explicit(&w->shared->tail, w->tail, memory_order_release);
}

/* Counts a record that was not written. Safe from a signal handler that interrupted the producer.
 */
static inline void ring_drop(struct ring_writer *w)
{
	atomic_fetch_add_explicit(&w->shared->n_dropped, 1, memory_order_relaxed);
}

/* Waits until n_bytes of payload fit, at most limit_ns. is_over(ctx) is asked before sleeping and
 * every few ms: true ends the wait. Counted in the shared words. A signal handler of the program
 * runs meanwhile; the wait goes on after it. */
enum ring_wait ring_wait(struct ring_writer *w, uint32_t n_bytes, uint64_t limit_ns,
	bool (*is_over)(const void *ctx), const void *ctx);

/* ---- consumer ---- */

/* Starts at position 0: a ring is read from its beginning, by one reader for all its life. */
void ring_reader_init(
	struct ring_reader *r, struct ring_shared *shared, const void *data, uint64_t size);

/* Shows the next record without consuming it. ret_payload points into shared memory. */
enum ring_next ring_peek(
	struct ring_reader *r, struct ring_record *ret_head, const void **ret_payload);
/* Consumes what the last ring_peek showed. Its bytes may be overwritten from now on. */
void ring_consume(struct ring_reader *r);
/* Tells the producer how much was read and wakes it when it waits. ring_consume does so by itself
 * after every eighth of the ring; call this at the end of a batch. */
void ring_publish(struct ring_reader *r);
/* The producer has ended: reads up to what is committed now and never looks further. */
void ring_freeze(struct ring_reader *r);

#pragma GCC visibility pop

#endif
