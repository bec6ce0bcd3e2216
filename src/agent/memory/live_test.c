/* SPDX-License-Identifier: MIT */
#include "agent/memory/live.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct live *live_new(void)
{
	struct live *l = aligned_alloc(64, sizeof *l);

	assert_non_null(l);
	for (size_t i = 0; i < sizeof *l; i++)
		((unsigned char *)l)[i] = 0;
	return l;
}

static void test_what_was_added_is_found_once(void **state)
{
	struct live *l = live_new();

	(void)state;
	assert_false(live_may_have(l, 0x7f0000001000));
	assert_false(live_remove(l, 0x7f0000001000));
	assert_true(live_add(l, 0x7f0000001000));
	assert_true(live_may_have(l, 0x7f0000001000));
	assert_true(live_remove(l, 0x7f0000001000));
	assert_false(live_may_have(l, 0x7f0000001000));
	assert_false(live_remove(l, 0x7f0000001000));
	free(l);
}

/* Up to a quarter of its places nearly all find room; each that did is found again, and nothing else. */
static void test_many(void **state)
{
	enum { N = 1 << (LIVE_BUCKETS_LOG2 + 1) };
	bool *is_there = calloc(N, sizeof *is_there);
	struct live *l = live_new();
	unsigned n_refused = 0;

	(void)state;
	assert_non_null(is_there);
	for (uint64_t i = 0; i < N; i++) {
		is_there[i] = live_add(l, 0x55d000000000 + i * 48);
		n_refused += !is_there[i];
	}
	assert_true(n_refused < N / 100);
	for (uint64_t i = 0; i < N; i++) {
		assert_false(live_remove(l, 0x66d000000000 + i * 48));
		assert_int_equal(live_remove(l, 0x55d000000000 + i * 48), is_there[i]);
	}
	free(is_there);
	free(l);
}

static void test_a_full_bucket_refuses(void **state)
{
	struct live *l = live_new();
	unsigned n = 0;
	uint64_t first = 0;

	(void)state;
	for (uint64_t a = 16; n <= LIVE_BUCKET; a += 16) {
		if (live_hash(a) >> (64 - LIVE_BUCKETS_LOG2) != 7)
			continue;
		first = first ? first : a;
		assert_int_equal(live_add(l, a), n < LIVE_BUCKET);
		n++;
	}
	assert_true(live_remove(l, first));
	assert_true(live_add(l, first));
	free(l);
}

struct worker {
	struct live *l;
	uint64_t from;
	bool is_wrong;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int round = 0; round < 50; round++) {
		for (uint64_t i = 0; i < 500; i++)
			w->is_wrong |= !live_add(w->l, w->from + i * 64);
		for (uint64_t i = 0; i < 500; i++)
			w->is_wrong |= !live_remove(w->l, w->from + i * 64);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct live *l = live_new();
	struct worker w[4];
	pthread_t threads[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		w[i] = (struct worker){ .l = l, .from = (i + 1) * (uint64_t)0x10000000 };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_false(w[i].is_wrong);
	}
	for (size_t i = 0; i < sizeof l->filter; i++)
		assert_int_equal(l->filter[i], 0);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_added_is_found_once),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_a_full_bucket_refuses),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
