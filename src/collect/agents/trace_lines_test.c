/* SPDX-License-Identifier: MIT
 * trace_lines: counters in memories made by hand, right ones and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collect/agents/trace_lines.h"

struct seen {
	uint32_t n;
	uint32_t lines[8];
	int32_t tids[8];
	struct trace_line counts[8];
};

static void see(
	void *ctx, const struct trace_counted *of, uint32_t line, const struct trace_line *c)
{
	struct seen *s = ctx;

	assert_true(s->n < 8);
	s->lines[s->n] = line;
	s->tids[s->n] = of->tid;
	s->counts[s->n++] = *c;
}

static const struct line_block f = {
	.cells_offset = 64, .last_offset = 0, .code = 7, .first_line = 10, .n_cells = 4, .tid = 5
};

static struct buf memory_of(const struct line_cell *cells, size_t n, uint64_t last)
{
	struct buf b = BUF_INIT;
	char head[64] = { 0 };

	memcpy(head, &last, sizeof last);
	buf_add(&b, head, sizeof head);
	buf_add(&b, cells, n * sizeof *cells);
	return b;
}

static void changed_lines_are_told(void **state)
{
	struct trace_lines l = { 0 };
	struct line_cell cells[8] = { { .hits = 1, .total = 9 }, { 0 },
		{ .hits = 3, .total = 8, .own = 5, .max = 4 } };
	struct buf area = memory_of(cells, 8, 100);
	struct seen seen = { 0 };

	(void)state;
	assert_true(trace_lines_add(&l, &f, sizeof f));
	trace_lines_take(&l, &area);
	trace_lines_each(&l, see, &seen);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.lines[0], 0);
	assert_int_equal(seen.lines[1], 11);
	assert_int_equal(seen.tids[1], 5);
	assert_int_equal(seen.counts[1].hits, 3);
	assert_int_equal(seen.counts[1].own, 5);
	/* Again: only what is new. One line is open: up to the thread's last event. */
	buf_done(&area);
	cells[3] = (struct line_cell){ .depth = 2, .opened = 90, .hits = 2, .own = 1, .max = 1 };
	area = memory_of(cells, 8, 100);
	seen = (struct seen){ 0 };
	trace_lines_take(&l, &area);
	trace_lines_each(&l, see, &seen);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.lines[0], 12);
	assert_int_equal(seen.counts[0].total, 10);
	assert_int_equal(seen.counts[0].max, 10);
	buf_done(&area);
	trace_lines_done(&l);
}

static void blocks_of_one_function_are_summed_up(void **state)
{
	struct trace_lines l = { 0 };
	struct line_cell cells[8] = { { 0 }, { .hits = 1, .max = 2 }, { 0 }, { 0 }, { 0 },
		{ .hits = 4, .max = 1 } };
	struct line_block again = f, other = f; /* the other: another thread's */
	struct buf area = memory_of(cells, 8, 0);
	struct seen seen = { 0 };

	(void)state;
	again.cells_offset += 4 * sizeof *cells;
	other.tid = 6;
	assert_true(trace_lines_add(&l, &f, sizeof f));
	assert_true(trace_lines_add(&l, &again, sizeof again));
	assert_true(trace_lines_add(&l, &other, sizeof other));
	trace_lines_take(&l, &area);
	trace_lines_each(&l, see, &seen);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.counts[0].hits, 5);
	assert_int_equal(seen.counts[0].max, 2);
	assert_int_equal(seen.counts[1].hits, 1);
	buf_done(&area);
	trace_lines_done(&l);
}

static void nonsense_is_not_believed(void **state)
{
	const struct line_block bad[] = {
		{ .code = 0, .n_cells = 4 },
		{ .code = 1, .n_cells = 0 },
		{ .code = 1, .n_cells = LINE_CELLS_MAX + 1 },
		{ .code = 1, .n_cells = 4, .cells_offset = 65 },
		{ .code = 1, .n_cells = 4, .last_offset = 4 },
	};
	const struct line_block outside[] = {
		{ .code = 1, .n_cells = 5, .cells_offset = 64 },
		{ .code = 1, .n_cells = 1, .cells_offset = UINT64_MAX - 7 },
		{ .code = 1, .n_cells = 1, .last_offset = 64 + 4 * 64 },
	};
	struct line_cell cells[4] = { { .hits = 1 }, { .hits = 1 }, { .hits = 1 }, { .hits = 1 } };
	struct line_block many = { .code = 1, .n_cells = LINE_CELLS_MAX };
	struct trace_lines l = { 0 };
	struct buf area = memory_of(cells, 4, 0);
	struct seen seen = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(trace_lines_add(&l, &bad[i], sizeof bad[i]));
	assert_false(trace_lines_add(&l, &f, sizeof f - 8));
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		assert_true(trace_lines_add(&l, &outside[i], sizeof outside[i]));
	trace_lines_take(&l, &area);
	trace_lines_each(&l, see, &seen);
	assert_int_equal(seen.n, 0);
	for (int i = 0; i < TRACE_LINES_MOST / LINE_CELLS_MAX - 1; i++)
		assert_true(trace_lines_add(&l, &many, sizeof many));
	assert_false(trace_lines_add(&l, &many, sizeof many));
	buf_done(&area);
	trace_lines_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_lines_are_told),
		cmocka_unit_test(blocks_of_one_function_are_summed_up),
		cmocka_unit_test(nonsense_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
