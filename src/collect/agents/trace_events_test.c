/* SPDX-License-Identifier: MIT
 * Blocks of events as a target may send them, and as it may leave them behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collect/agents/trace_events.h"

struct granule {
	struct trace_granule head;
	struct event_block block;
	unsigned char bytes[EVENT_BLOCK_BYTES];
};

_Static_assert(sizeof(struct granule) == TRACE_GRANULE_BYTES, "a block fills its granule");

struct taken {
	unsigned n;
	uint64_t last; /* sequence */
};

static void on_block(void *ctx, const struct event_block *block, const void *bytes)
{
	struct taken *t = ctx;

	assert_ptr_equal(bytes, block + 1);
	t->n++;
	t->last = block->sequence;
}

static struct granule granule(uint32_t thread, uint64_t sequence, uint64_t n_events, uint32_t n)
{
	return (struct granule){ .head = { .magic = TRACE_GRANULE_MAGIC,
					 .kind = TRACE_GRANULE_EVENTS },
		.block = { .sequence = sequence, .thread = thread, .filled = n_events << 32 | n } };
}

static bool send(struct trace_events *v, const struct granule *g, size_t n, struct taken *t)
{
	return trace_events_add(v, &g->block, sizeof g->block + n, on_block, t);
}

static void test_sent(void **state)
{
	struct trace_events v = { 0 };
	struct taken t = { 0 };
	struct granule g = granule(1, 1, 5, 12);

	(void)state;
	assert_true(send(&v, &g, 12, &t));
	g.block.sequence = 3;
	g.block.n_lost = 7;
	assert_true(send(&v, &g, 12, &t));
	g.block.sequence = 5; /* 2 more were lost meanwhile */
	g.block.n_lost = 2;
	assert_true(send(&v, &g, 12, &t));
	assert_int_equal(t.n, 3);
	assert_int_equal(v.n_events, 15);
	assert_int_equal(v.n_lost, 9);
	assert_int_equal(v.n_bytes, 3 * (12 + sizeof g.block));
	trace_events_done(&v);
}

static void test_nonsense(void **state)
{
	struct trace_events v = { 0 };
	struct taken t = { 0 };
	struct granule g = granule(1, 1, 5, 12);

	(void)state;
	assert_false(trace_events_add(&v, &g.block, sizeof g.block - 1, on_block, &t));
	assert_false(send(&v, &g, 11, &t));
	g = granule(1, 1, 13, 12); /* more events than bytes */
	assert_false(send(&v, &g, 12, &t));
	g = granule(1, 1, 5, EVENT_BLOCK_BYTES + 1);
	assert_false(send(&v, &g, EVENT_BLOCK_BYTES, &t));
	assert_int_equal(t.n, 0);
	trace_events_done(&v);
}

/* Of a process that has ended: only what was not sent, however its memory looks. */
static void test_rest(void **state)
{
	struct granule area[5] = { granule(1, 2, 5, 12), granule(2, 1, 3, 3), granule(3, 1, 0, 0),
		granule(4, 1, 1, UINT32_MAX), granule(5, 1, 1, 1) };
	struct granule sent = granule(1, 2, 5, 12);
	struct buf copy = BUF_INIT;
	struct trace_events v = { 0 };
	struct taken t = { 0 };

	(void)state;
	area[4].head.kind = TRACE_GRANULE_NODES;
	buf_add(&copy, area, sizeof area);
	buf_add(&copy, area, 100);
	assert_true(send(&v, &sent, 12, &t));
	trace_events_rest(&v, &copy, on_block, &t);
	assert_int_equal(t.n, 2); /* the one sent, and the second thread's */
	assert_int_equal(v.n_events, 8);
	buf_done(&copy);
	trace_events_done(&v);
}

/* Threads come and go, a million of them: what is known of those before is forgotten, not what was sent last. */
static void test_many_threads(void **state)
{
	struct granule area[2] = { granule(1000000, 1, 5, 12), granule(1000001, 1, 5, 12) };
	struct granule g = granule(1, 1, 5, 12);
	struct buf copy = BUF_INIT;
	struct trace_events v = { 0 };
	struct taken t = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 1000000; i++) {
		g.block.thread = i;
		g.block.n_lost = i % 2;
		assert_true(send(&v, &g, 12, &t));
	}
	buf_add(&copy, area, sizeof area);
	trace_events_rest(&v, &copy, on_block, &t);
	assert_int_equal(t.n, 1000000 + 1);
	assert_int_equal(v.n_lost, 500000);
	buf_done(&copy);
	trace_events_done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
