/* SPDX-License-Identifier: MIT
 * trace_opcodes: counters in memories made by hand, right ones and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collect/agents/trace_opcodes.h"

enum { N = 5 };

struct area {
	uint64_t hits[N], left[N];
	unsigned char begins[8];
};

static void keep(void *ctx, const struct trace_units *of)
{
	uint64_t *to = ctx;

	assert_int_equal(of->tid, 7);
	assert_int_equal(of->function, 3);
	memcpy(to, of->now, N * sizeof *to);
}

static void blocks_become_instructions(void **state)
{
	/* Two blocks, of three and two units; the second unit raised once. */
	struct area a = { .hits = { 10, 99, 99, 4, 99 }, .left = { 0, 1 }, .begins = { 0x09 } };
	struct opcode_block b = { .tid = 7, .code = 3, .n_units = N, .is_derived = 1 };
	struct buf area = BUF_INIT;
	struct trace_opcodes o = { 0 };
	uint64_t got[N] = { 0 }, want[N] = { 10, 10, 9, 4, 4 }, nothing[N] = { 0 };

	(void)state;
	buf_add(&area, &a, sizeof a);
	assert_true(trace_opcodes_add(&o, &b, sizeof b));
	trace_opcodes_take(&o, &area);
	trace_opcodes_each(&o, keep, got);
	assert_memory_equal(got, want, sizeof got);
	/* The same again is no news. */
	memset(got, 0, sizeof got);
	trace_opcodes_take(&o, &area);
	trace_opcodes_each(&o, keep, got);
	assert_memory_equal(got, nothing, sizeof got);
	buf_done(&area);
	trace_opcodes_done(&o);
}

static void each_is_counted_where_none_is_derived(void **state)
{
	struct area a = { .hits = { 1, 2, 3, 4, 5 } };
	struct opcode_block b = { .tid = 7, .code = 3, .n_units = N };
	struct buf area = BUF_INIT;
	struct trace_opcodes o = { 0 };
	uint64_t got[N] = { 0 };

	(void)state;
	buf_add(&area, &a, sizeof a);
	assert_true(trace_opcodes_add(&o, &b, sizeof b));
	trace_opcodes_take(&o, &area);
	trace_opcodes_each(&o, keep, got);
	assert_memory_equal(got, a.hits, sizeof got);
	buf_done(&area);
	trace_opcodes_done(&o);
}

static void nonsense_is_not_believed(void **state)
{
	const struct opcode_block bad[] = { { .n_units = 1 }, { .code = 1 },
		{ .code = 1, .n_units = OPCODE_UNITS_MAX + 1 },
		{ .code = 1, .n_units = 1, .offset = 4 } };
	struct opcode_block far = { .tid = 7, .code = 3, .n_units = N, .offset = UINT64_MAX - 7 };
	struct buf area = BUF_INIT;
	struct trace_opcodes o = { 0 };
	uint64_t got[N] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(trace_opcodes_add(&o, &bad[i], sizeof bad[i]));
	assert_false(trace_opcodes_add(&o, &far, sizeof far - 1));
	assert_true(trace_opcodes_add(&o, &far, sizeof far));
	buf_add(&area, &far, sizeof far);
	trace_opcodes_take(&o, &area);
	trace_opcodes_each(&o, keep, got);
	assert_int_equal(got[0], 0);
	buf_done(&area);
	trace_opcodes_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_become_instructions),
		cmocka_unit_test(each_is_counted_where_none_is_derived),
		cmocka_unit_test(nonsense_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
