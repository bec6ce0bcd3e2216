/* SPDX-License-Identifier: MIT
 * What agents count and tell, as the tool reads it: sums, changes, and memory that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/agents/trace_functions.h"
#include "collect/agents/trace_tree.h"
#include "store/writer.h"
#include "base/banned.h"

struct seen {
	size_t n;
	struct trace_tree_node nodes[64];
};

static void on_node(void *ctx, const struct trace_tree_node *node)
{
	struct seen *s = ctx;

	if (s->n < 64)
		s->nodes[s->n] = *node;
	s->n++;
}

/* An area of one granule with a thread, a function it called three times and one below that. */
static struct buf area_of_three(uint64_t n_calls)
{
	static _Alignas(8) unsigned char bytes[TRACE_GRANULE_BYTES];
	struct trace_granule *g = (struct trace_granule *)(void *)bytes;
	struct trace_node *nodes = (struct trace_node *)(void *)(g + 1);
	struct buf area = BUF_INIT;

	memset(bytes, 0, sizeof bytes);
	*g = (struct trace_granule){ .magic = TRACE_GRANULE_MAGIC,
		.kind = TRACE_GRANULE_NODES,
		.thread = 1,
		.tid = 7,
		.n = 3 };
	nodes[0] = (struct trace_node){ .self = 5 };
	nodes[1] = (struct trace_node){ .function = 1, .parent = 1, .calls = n_calls, .self = 20 };
	nodes[2] = (struct trace_node){ .function = 2, .parent = 2, .calls = 9, .self = 300 };
	buf_add(&area, bytes, sizeof bytes);
	return area;
}

static void inclusive_times_are_sums_and_only_changes_are_told(void **state)
{
	uint32_t next_id = 10;
	struct trace_tree t = { .next_id = &next_id };
	struct seen first = { 0 }, second = { 0 };
	struct buf area = area_of_three(3);

	(void)state;
	trace_tree_take(&t, &area);
	trace_tree_each(&t, on_node, &first);
	assert_int_equal(first.n, 3);
	assert_int_equal(first.nodes[0].inclusive, 325);
	assert_int_equal(first.nodes[1].inclusive, 320);
	assert_int_equal(first.nodes[2].inclusive, 300);
	assert_int_equal(first.nodes[0].parent, 0);
	assert_int_equal(first.nodes[2].parent, first.nodes[1].id);
	assert_int_equal(first.nodes[0].id, 10);
	area = area_of_three(4);
	trace_tree_take(&t, &area);
	trace_tree_each(&t, on_node, &second);
	assert_int_equal(second.n, 1);
	assert_int_equal(second.nodes[0].id, first.nodes[1].id);
	trace_tree_done(&t);
}

/* What threads counted is in the heads of granules of nodes; others have other things there. */
static void counters_are_sums_over_granules_of_nodes(void **state)
{
	static const enum trace_granule_kind kinds[] = { TRACE_GRANULE_NODES, TRACE_GRANULE_EVENTS,
		TRACE_GRANULE_NODES };
	uint32_t next_id = 1;
	struct trace_tree t = { .next_id = &next_id };
	struct trace_tree_counters c;
	struct buf area = BUF_INIT;
	struct seen seen = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct buf one = area_of_three(3);
		struct trace_granule *g = (struct trace_granule *)(void *)one.data;

		g->kind = kinds[i];
		g->thread = (uint32_t)i + 1;
		g->n_resynced = 1;
		g->n_folded = 20;
		g->n_paces = 300;
		g->paces = 4000;
		buf_add(&area, one.data, one.n);
		buf_done(&one);
	}
	trace_tree_take(&t, &area);
	trace_tree_each(&t, on_node, &seen);
	c = t.counters;
	assert_int_equal(c.n_resynced, 2);
	assert_int_equal(c.n_folded, 40);
	assert_int_equal(c.n_paces, 600);
	assert_int_equal(c.paces, 8000);
	trace_tree_done(&t);
}

/* Parents that are the node itself, behind it, in a hole, of another thread or nowhere; counts beyond the
 * granule; a granule cut off: each becomes a root, and nothing is read outside. */
static void references_that_lead_nowhere_are_roots(void **state)
{
	static const uint32_t lies[] = { 3, 4, 64, 65, 66, UINT32_MAX, TRACE_REF_STRIDE * 9 + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		uint32_t next_id = 1;
		struct trace_tree t = { .next_id = &next_id };
		struct seen seen = { 0 };
		struct buf area = area_of_three(1);
		struct trace_granule *g = (struct trace_granule *)(void *)area.data;
		struct trace_node *nodes = (struct trace_node *)(void *)(g + 1);

		nodes[2].parent = lies[i];
		g->n = UINT32_MAX - (uint32_t)i;
		trace_tree_take(&t, &area);
		trace_tree_each(&t, on_node, &seen);
		assert_int_equal(seen.n, TRACE_NODES);
		assert_int_equal(seen.nodes[2].parent, 0);
		trace_tree_done(&t);
	}
}

static void garbage_is_survived(void **state)
{
	uint32_t next_id = 1;
	struct trace_tree t = { .next_id = &next_id };
	uint64_t random = 42;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct buf area = BUF_INIT;
		struct seen seen = { 0 };
		size_t n = (size_t)round * 999 / 8;
		uint64_t *words = buf_reserve(&area, n * 8);

		for (size_t i = 0; i < n; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			words[i] = random >> (random >> 60);
			if (i % (TRACE_GRANULE_BYTES / 8) == 0)
				words[i] =
					TRACE_GRANULE_MAGIC | (uint64_t)TRACE_GRANULE_NODES << 32;
		}
		buf_advance(&area, n * 8);
		trace_tree_take(&t, &area);
		trace_tree_each(&t, on_node, &seen);
	}
	trace_tree_done(&t);
}

static void functions_that_make_no_sense_are_refused(void **state)
{
	struct trace_functions f = { .interpreter = "cpython" };
	struct trace_code code = { .function = 1, .n_file = 4, .n_qualname = 1, .n_code = 2 };
	struct trace_code huge = { .function = 2, .n_file = UINT32_MAX, .n_code = UINT32_MAX };
	struct {
		struct trace_part head;
		char bytes[8];
	} part = { { 1, 0 }, "a.pyfxy" };
	struct err e = ERR_INIT;
	struct writer *w;

	(void)state;
	assert_int_equal(writer_open(&w, NULL, NULL, &e), 0);
	assert_false(trace_functions_add(&f, TRACE_RECORD_CODE, &code, sizeof code - 1));
	assert_false(trace_functions_add(&f, TRACE_RECORD_CODE, &huge, sizeof huge));
	assert_false(trace_functions_add(&f, TRACE_RECORD_CODE_BYTES, &part, sizeof part));
	assert_true(trace_functions_add(&f, TRACE_RECORD_CODE, &code, sizeof code));
	assert_false(trace_functions_add(&f, TRACE_RECORD_CODE, &code, sizeof code)); /* twice */
	assert_false(trace_functions_add(&f, TRACE_RECORD_CODE_BYTES, &part, 16));    /* too many */
	assert_int_equal(trace_functions_row(&f, 1, w).code, 0); /* incomplete */
	assert_true(trace_functions_add(&f, TRACE_RECORD_CODE_BYTES, &part, 8 + 7));
	assert_int_not_equal(trace_functions_row(&f, 1, w).code, 0);
	part.head.function = UINT32_MAX;
	assert_false(trace_functions_add(&f, TRACE_RECORD_BUILTIN, &part, sizeof part));
	part.head.function = 3;
	assert_true(trace_functions_add(&f, TRACE_RECORD_BUILTIN, &part, sizeof part));
	assert_int_not_equal(trace_functions_row(&f, 3, w).builtin, 0);
	assert_int_equal(trace_functions_row(&f, 4000000000u, w).code, 0);
	trace_functions_done(&f);
	assert_int_equal(writer_close(w, &e), 0);
}

/* Each copy may write all that is counted again. */
static void a_day_is_some_hundred_copies(void **state)
{
	const uint64_t second = 1000000000, start = 5 * second, day = 24 * 3600 * second;
	uint64_t now = start;
	size_t n = 0;

	(void)state;
	for (; now < start + day; now = trace_tree_next(start, now, second / 1000))
		n++;
	assert_in_range(n, 60, 120);
	assert_int_equal(trace_tree_next(start, start, 0), start + second);
	assert_int_equal(trace_tree_next(start, start + second, second), start + 21 * second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inclusive_times_are_sums_and_only_changes_are_told),
		cmocka_unit_test(a_day_is_some_hundred_copies),
		cmocka_unit_test(counters_are_sums_over_granules_of_nodes),
		cmocka_unit_test(references_that_lead_nowhere_are_roots),
		cmocka_unit_test(garbage_is_survived),
		cmocka_unit_test(functions_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
