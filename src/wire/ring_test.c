/* SPDX-License-Identifier: MIT
 * ring: two threads and millions of records (TSan runs this too), exact counting of drops, the
 * bounded wait, and a producer that lies. Rings lie between guard pages, so a byte outside is a
 * crash in every build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "wire/clock.h"
#include "wire/ring.h"

#if defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#define SLOW __has_feature(thread_sanitizer)
#else
#define SLOW 0
#endif

enum { PAGE = 4096 };

struct rig {
	struct ring_shared *shared;
	unsigned char *data;
	uint64_t size;
	struct ring_writer w;
	struct ring_reader r;
};

static void rig_init(struct rig *g, uint64_t size)
{
	unsigned char *p =
		mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, size, PROT_READ | PROT_WRITE), 0);
	g->shared = aligned_alloc(64, sizeof *g->shared);
	memset(g->shared, 0, sizeof *g->shared);
	g->data = p + PAGE;
	g->size = size;
	ring_writer_init(&g->w, g->shared, g->data, size);
	ring_reader_init(&g->r, g->shared, g->data, size);
}

static void rig_done(struct rig *g)
{
	munmap(g->data - PAGE, g->size + 2 * PAGE);
	free(g->shared);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

/* Record i: its length, kind, flags and every byte follow from i. */
static uint32_t length_of(uint64_t i)
{
	uint64_t seed = i + 1, r = next_random(&seed);

	if (r % 97 == 0)
		return 0;
	return r % 1009 == 0 ? (uint32_t)(r >> 16) % 2000 : (uint32_t)(r >> 16) % 90;
}

static bool put(struct ring_writer *w, uint64_t i)
{
	uint32_t n = length_of(i);
	unsigned char *p = ring_reserve(w, (uint16_t)(i % 1000), (uint16_t)(i % 77), n);

	if (!p)
		return false;
	for (uint32_t k = 0; k < n; k++)
		p[k] = (unsigned char)(i * 31 + k);
	ring_commit(w);
	return true;
}

/* Whether the next record is record i; consumes it. */
static bool get(struct ring_reader *r, uint64_t i, enum ring_next *ret_next)
{
	struct ring_record head;
	const void *payload;
	const unsigned char *p;
	bool is_same;

	*ret_next = ring_peek(r, &head, &payload);
	if (*ret_next != RING_RECORD)
		return false;
	p = payload;
	is_same = head.n_bytes == length_of(i) && head.kind == i % 1000 && head.flags == i % 77 &&
		(uintptr_t)p % 8 == 0;
	for (uint32_t k = 0; is_same && k < head.n_bytes; k++)
		is_same = p[k] == (unsigned char)(i * 31 + k);
	ring_consume(r);
	return is_same;
}

static void records_come_back_in_order_and_whole(void **state)
{
	struct rig g;
	enum ring_next next;
	uint64_t in = 0, out = 0;

	(void)state;
	rig_init(&g, 8192);
	while (out < 200000) {
		while (in - out < 300 && put(&g.w, in))
			in++;
		for (int n = (int)(in % 7) + 1; n > 0 && out < in; n--, out++)
			assert_true(get(&g.r, out, &next));
		ring_publish(&g.r);
	}
	while (out < in)
		assert_true(get(&g.r, out++, &next));
	assert_false(get(&g.r, out, &next));
	assert_int_equal(next, RING_EMPTY);
	rig_done(&g);
}

static void nothing_is_visible_before_commit(void **state)
{
	struct ring_record head;
	const void *p;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	assert_non_null(ring_reserve(&g.w, 1, 0, 100));
	assert_int_equal(ring_peek(&g.r, &head, &p), RING_EMPTY);
	memcpy(ring_reserve(&g.w, 2, 3, 4), "abcd", 4); /* forgets the first */
	ring_commit(&g.w);
	assert_int_equal(ring_peek(&g.r, &head, &p), RING_RECORD);
	assert_int_equal(head.kind, 2);
	assert_int_equal(head.n_bytes, 4);
	assert_memory_equal(p, "abcd", 4);
	ring_consume(&g.r);
	assert_int_equal(ring_peek(&g.r, &head, &p), RING_EMPTY);
	rig_done(&g);
}

static void the_largest_record_fits_from_any_place(void **state)
{
	struct ring_record head;
	struct rig g;
	const void *p;

	(void)state;
	rig_init(&g, 4096);
	assert_null(ring_reserve(&g.w, 1, 0, 2048 - 7));
	assert_false(ring_can_hold(&g.w, 2048 - 7));
	assert_null(ring_reserve(&g.w, 1, 0, UINT32_MAX));
	for (int i = 0; i < 1000; i++) {
		assert_non_null(ring_reserve(&g.w, 1, 0, i % 5 ? 8 : 2048 - 8));
		ring_commit(&g.w);
		assert_int_equal(ring_peek(&g.r, &head, &p), RING_RECORD);
		ring_consume(&g.r);
		ring_publish(&g.r);
	}
	rig_done(&g);
}

static void a_full_ring_drops_and_counts_exactly(void **state)
{
	uint64_t sent = 0, received = 0, i = 0;
	struct ring_record head;
	const void *payload;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	for (int round = 0; round < 2000; round++) {
		for (int k = 0; k < 60; k++, i++, sent++)
			if (!put(&g.w, i))
				ring_drop(&g.w);
		for (int k = 0; k < 20 && ring_peek(&g.r, &head, &payload) == RING_RECORD; k++) {
			ring_consume(&g.r);
			received++;
		}
		ring_publish(&g.r);
	}
	while (ring_peek(&g.r, &head, &payload) == RING_RECORD) {
		ring_consume(&g.r);
		received++;
	}
	assert_true(received > 20000 && g.shared->n_dropped > 20000);
	assert_int_equal(sent, received + g.shared->n_dropped);
	rig_done(&g);
}

struct exchange {
	struct rig g;
	uint64_t n;
};

static bool never(const void *ctx)
{
	(void)ctx;
	return false;
}

static void *produce(void *arg)
{
	struct exchange *x = arg;

	for (uint64_t i = 0; i < x->n; i++)
		while (!put(&x->g.w, i))
			if (ring_wait(&x->g.w, length_of(i), 20000000000u, never, NULL) !=
				RING_WAIT_ROOM)
				return (void *)1;
	return NULL;
}

static void two_threads_exchange_millions(void **state)
{
	struct exchange x = { .n = SLOW ? 1000000 : 4000000 };
	enum ring_next next;
	pthread_t producer;
	void *failed;

	(void)state;
	rig_init(&x.g, 64 << 10);
	assert_int_equal(pthread_create(&producer, NULL, produce, &x), 0);
	for (uint64_t i = 0; i < x.n;) {
		if (get(&x.g.r, i, &next)) {
			i++;
			continue;
		}
		assert_int_equal(next, RING_EMPTY);
		ring_publish(&x.g.r);
		sched_yield();
	}
	pthread_join(producer, &failed);
	assert_null(failed);
	rig_done(&x.g);
}

static uint64_t fill(struct ring_writer *w)
{
	uint64_t n = 0;

	while (ring_reserve(w, 1, 0, 56)) {
		ring_commit(w);
		n++;
	}
	return n;
}

static void the_wait_is_bounded_and_counted(void **state)
{
	uint64_t start_ns, took_ns;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	assert_int_equal(fill(&g.w), 64);
	start_ns = clock_monotonic_ns();
	assert_int_equal(ring_wait(&g.w, 56, 30000000, never, NULL), RING_WAIT_TIMEOUT);
	took_ns = clock_monotonic_ns() - start_ns;
	assert_true(took_ns >= 30000000 && took_ns < 2000000000);
	assert_int_equal(g.shared->n_waits, 1);
	assert_int_equal(g.shared->n_timeouts, 1);
	assert_true(g.shared->wait_ns >= 30000000);
	assert_int_equal(g.shared->is_waiting, 0);
	/* What can never fit is not waited for. */
	start_ns = clock_monotonic_ns();
	assert_int_equal(ring_wait(&g.w, 1 << 20, 5000000000u, never, NULL), RING_WAIT_TIMEOUT);
	assert_true(clock_monotonic_ns() - start_ns < 1000000000);
	rig_done(&g);
}

static void *set_flag_when_waiting(void *arg)
{
	struct rig *g = arg;

	while (!atomic_load(&g->shared->is_waiting))
		sched_yield();
	atomic_store(&g->shared->room_seq, 77); /* any word of ours: "the tool has died" */
	return NULL;
}

static bool is_flagged(const void *ctx)
{
	const struct rig *g = ctx;

	return atomic_load(&g->shared->room_seq) == 77;
}

static void the_wait_ends_when_the_other_side_is_over(void **state)
{
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t other;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	fill(&g.w);
	assert_int_equal(pthread_create(&other, NULL, set_flag_when_waiting, &g), 0);
	assert_int_equal(ring_wait(&g.w, 56, 20000000000u, is_flagged, &g), RING_WAIT_OVER);
	assert_true(clock_monotonic_ns() - start_ns < 5000000000u);
	assert_int_equal(g.shared->n_timeouts, 0);
	pthread_join(other, NULL);
	rig_done(&g);
}

enum { WAKE_ROUNDS = 400 };

/* Frees one record whenever the producer has said that it waits. */
static void *free_when_waiting(void *arg)
{
	struct rig *g = arg;
	struct ring_record head;
	const void *p;

	for (int i = 0; i < WAKE_ROUNDS; i++) {
		while (atomic_load(&g->shared->n_waits) != (uint64_t)i + 1 ||
			!atomic_load(&g->shared->is_waiting))
			sched_yield();
		if (ring_peek(&g->r, &head, &p) != RING_RECORD)
			return (void *)1;
		ring_consume(&g->r);
		ring_publish(&g->r);
	}
	return NULL;
}

/* Without the wake-up each round would last until the 5 ms slice is over: 2 s. */
static void the_wait_is_woken_by_room(void **state)
{
	uint64_t start_ns = clock_monotonic_ns();
	pthread_t consumer;
	struct rig g;
	void *failed;

	(void)state;
	rig_init(&g, 4096);
	fill(&g.w);
	assert_int_equal(pthread_create(&consumer, NULL, free_when_waiting, &g), 0);
	for (int i = 0; i < WAKE_ROUNDS; i++) {
		assert_int_equal(ring_wait(&g.w, 56, 20000000000u, never, NULL), RING_WAIT_ROOM);
		assert_non_null(ring_reserve(&g.w, 1, 0, 56));
		ring_commit(&g.w);
	}
	pthread_join(consumer, &failed);
	assert_null(failed);
	assert_true(clock_monotonic_ns() - start_ns < WAKE_ROUNDS * (uint64_t)5000000 / 2);
	rig_done(&g);
}

static void a_frozen_ring_ends_where_it_was(void **state)
{
	enum ring_next next;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	put(&g.w, 0);
	put(&g.w, 1);
	ring_freeze(&g.r);
	put(&g.w, 2);
	assert_true(get(&g.r, 0, &next));
	ring_freeze(&g.r);
	assert_true(get(&g.r, 1, &next));
	assert_false(get(&g.r, 2, &next));
	assert_int_equal(next, RING_EMPTY);
	rig_done(&g);
}

static void set_head(struct rig *g, uint64_t at, uint32_t n_bytes, uint16_t kind)
{
	struct ring_record head = { .n_bytes = n_bytes, .kind = kind };

	memcpy(g->data + at, &head, sizeof head);
}

/* Each row: where the reader stands, what the tail says, and the head of the record there. */
static void garbage_is_named_and_final(void **state)
{
	static const struct {
		uint64_t at, tail;
		uint32_t n_bytes;
		uint16_t kind;
		const char *why;
	} rows[] = {
		{ 0, 4, 0, 1, "not aligned" },
		{ 64, 56, 0, 1, "before its beginning" },
		{ 0, 4096 + 8, 0, 1, "more than a ring on" },
		{ 0, UINT64_MAX & ~(uint64_t)7, 0, 1, "more than a ring on" },
		{ 0, 64, 57, 1, "longer than what was written" },
		{ 0, 64, UINT32_MAX, 1, "longer than what was written" },
		{ 0, 64, UINT32_MAX - 7, 1, "longer than what was written" },
		{ 4000, 4000 + 4096, 200, 1, "over the end" },
		{ 0, 4096, 2048, 1, "longer than any" },
		{ 0, 4096, 4096 - 8, RING_KIND_PAD, "padding where none" },
		{ 0, 64, 0, RING_KIND_PAD, "padding where none" },
		{ 4000, 4096 + 64, 8, RING_KIND_PAD, "padding where none" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ring_record head;
		const void *p;
		struct rig g;

		rig_init(&g, 4096);
		g.r.head = g.r.tail = g.r.published = rows[i].at;
		atomic_store(&g.shared->tail, rows[i].tail);
		set_head(&g, rows[i].at, rows[i].n_bytes, rows[i].kind);
		assert_int_equal(ring_peek(&g.r, &head, &p), RING_GARBAGE);
		assert_non_null(strstr(g.r.garbage, rows[i].why));
		atomic_store(&g.shared->tail, rows[i].at + 8); /* looks good again */
		set_head(&g, rows[i].at, 0, 1);
		assert_int_equal(ring_peek(&g.r, &head, &p), RING_GARBAGE);
		ring_consume(&g.r);
		ring_publish(&g.r);
		assert_int_equal(g.shared->head, 0);
		rig_done(&g);
	}
}

/* Random bytes for records and positions, some of them plausible. The guard pages and the bound on
 * the loop are the test. */
static void a_lying_producer_is_survived(void **state)
{
	uint64_t seed = 42, n_records = 0, n_garbage = 0;
	struct ring_record head;
	const void *payload;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	for (int round = 0; round < 20000; round++) {
		unsigned char copy[4096];
		uint64_t n = 0;

		ring_reader_init(&g.r, g.shared, g.data, g.size);
		g.r.head = g.r.tail = g.r.published = next_random(&seed) << 3;
		for (uint64_t at = 0; at < g.size; at += 8)
			set_head(&g, at,
				(uint32_t)next_random(&seed) >> (next_random(&seed) % 33 & 31),
				next_random(&seed) % 4 ? 5 : RING_KIND_PAD);
		atomic_store(&g.shared->tail,
			g.r.head +
				(round % 2 ? next_random(&seed) % 4097 & ~7u : next_random(&seed)));
		while (ring_peek(&g.r, &head, &payload) == RING_RECORD) {
			memcpy(copy, payload, head.n_bytes);
			ring_consume(&g.r);
			assert_true(++n <= g.size / 8);
		}
		n_records += n;
		n_garbage += g.r.garbage != NULL;
	}
	assert_true(n_records > 1000 && n_garbage > 1000);
	rig_done(&g);
}

/* The target's own words scribbled over: the producer stays inside its ring. */
static void a_scribbled_producer_stays_inside(void **state)
{
	uint64_t seed = 7;
	struct rig g;

	(void)state;
	rig_init(&g, 4096);
	for (int round = 0; round < 200000; round++) {
		uint32_t n = (uint32_t)next_random(&seed) % 2100;
		void *p;

		if (round % 3 == 0)
			atomic_store(&g.shared->head, next_random(&seed));
		if (round % 100 == 0) {
			atomic_store(&g.shared->tail, next_random(&seed));
			ring_writer_init(&g.w, g.shared, g.data, g.size);
		}
		if (round % 3 == 1)
			atomic_store(&g.shared->head, g.w.tail);
		p = ring_reserve(&g.w, 1, 0, n);
		if (p) {
			memset(p, 0xff, n);
			ring_commit(&g.w);
		}
	}
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_in_order_and_whole),
		cmocka_unit_test(nothing_is_visible_before_commit),
		cmocka_unit_test(the_largest_record_fits_from_any_place),
		cmocka_unit_test(a_full_ring_drops_and_counts_exactly),
		cmocka_unit_test(two_threads_exchange_millions),
		cmocka_unit_test(the_wait_is_bounded_and_counted),
		cmocka_unit_test(the_wait_ends_when_the_other_side_is_over),
		cmocka_unit_test(the_wait_is_woken_by_room),
		cmocka_unit_test(a_frozen_ring_ends_where_it_was),
		cmocka_unit_test(garbage_is_named_and_final),
		cmocka_unit_test(a_lying_producer_is_survived),
		cmocka_unit_test(a_scribbled_producer_stays_inside),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
