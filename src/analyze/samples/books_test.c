/* SPDX-License-Identifier: MIT
 * Books of hand-made recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/books.h"
#include "analyze/samples/stacks_rig.h"
#include "base/units.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

static const uint64_t MS = 1000000;

static const struct books *books_of(struct rig *m)
{
	rig_finish(m);
	return books_build(&m->arena, m->tables, frames_new(&m->arena, m->tables));
}

static void account(struct rig *m, uint64_t ms, uint64_t cpu_ms, uint64_t n_made, uint64_t n_seen)
{
	writer_add(m->w, RECORD_account,
		&(struct rec_account){ .t_ns = rig_ns(ms),
			.process = m->process,
			.cpu_ns = cpu_ms * MS,
			.n_made = n_made,
			.n_seen = n_seen,
			.n_forked = RECORD_UNKNOWN });
}

static void recordings_without_accounts_have_no_books(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "a", 0);
	assert_null(books_of(&m));
	rig_done(&m);
}

static void both_books_balance(void **state)
{
	const struct books *b;
	struct rig m;

	(void)state;
	rig_begin(&m);
	account(&m, 0, 0, 1, 1);
	rig_bare_sample(&m, 0, 0, "[interpreter starting]", SAMPLE_ON_CPU);
	rig_bare_sample(&m, 10, 0, "[interpreter starting]", SAMPLE_ON_CPU);
	rig_sample(&m, 10, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 100, 0, "a", SAMPLE_ON_CPU);
	rig_bare_sample(&m, 100, 0, "[no Python code]", 0);
	rig_bare_sample(&m, 130, 0, "[no Python code]", 0);
	rig_late(&m, 150, 190, false);
	rig_sample(&m, 190, 0, "a", SAMPLE_ON_CPU);
	rig_bare_sample(&m, 190, 0, "[interpreter ending]", SAMPLE_ON_CPU);
	rig_gone(&m, 200, 0, 200, true);
	rig_usage(&m, 200, 3, 30, 0); /* never sampled */
	account(&m, 200, 190, 40, 6);
	b = books_of(&m);
	assert_non_null(b);
	assert_int_equal(b->n, 1);
	assert_int_equal(b->v[0].pid, 10);
	assert_float_equal(b->sum.wall.starting_s, 0.010, 1e-9);
	assert_float_equal(b->sum.wall.ending_s, 0.010, 1e-9);
	assert_float_equal(b->sum.wall.no_python_s, 0.050, 1e-9);
	assert_float_equal(b->sum.wall.late_s, 0.040, 1e-9);
	assert_float_equal(b->sum.wall.sampled_s, 0.090, 1e-9);
	assert_float_equal(b->sum.wall.threads_s, 0.200, 1e-9);
	assert_float_equal(b->sum.cpu.kernel_s, 0.190, 1e-9);
	assert_float_equal(b->sum.cpu.sampled_s, 0.110, 1e-9);
	assert_float_equal(b->sum.cpu.late_s, 0.040, 1e-9);
	assert_float_equal(b->sum.cpu.without_python_s, 0.030, 1e-9);
	assert_float_equal(b->sum.cpu.not_seen_s, 0.010, 1e-9);
	assert_float_equal(b->sum.threads_not_seen, 34, 0);
	assert_int_equal(b->sum.evidence, BOOKS_IDS);
	assert_false(books_balance(&b->sum));
	assert_int_equal(b->n_native, 1);
	assert_float_equal(b->native[0].cpu_s, 0.030, 1e-9);
	rig_done(&m);
}

static void a_residual_keeps_its_sign(void **state)
{
	const struct books *b;
	struct rig m;

	(void)state;
	rig_begin(&m);
	account(&m, 0, 0, 1, 1);
	rig_sample(&m, 0, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 1023, 0, "a", SAMPLE_ON_CPU);
	account(&m, 1023, 1000, 1, 1);
	b = books_of(&m);
	assert_float_equal(b->sum.cpu.not_seen_s, -0.023, 1e-9);
	assert_float_equal(books_cpu_share(&b->sum), 1.023, 1e-9);
	assert_true(books_balance(&b->sum)); /* within 2 % and a tick */
	rig_done(&m);
}

static void what_ran_before_an_attach_is_not_in_the_books(void **state)
{
	const struct books *b;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_add(m.w, RECORD_life,
		&(struct rec_life){
			.t_ns = rig_ns(0), .process = m.process, .event = LIFE_START, .value = 1 });
	account(&m, 0, 50000, 7, 7);
	rig_sample(&m, 0, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 1000, 0, "a", SAMPLE_ON_CPU);
	account(&m, 1000, 51000, 9, 9);
	b = books_of(&m);
	assert_float_equal(b->sum.cpu.kernel_s, 1, 1e-9);
	assert_float_equal(b->sum.threads_not_seen, 0, 0);
	assert_true(books_balance(&b->sum));
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_without_accounts_have_no_books),
		cmocka_unit_test(both_books_balance),
		cmocka_unit_test(a_residual_keeps_its_sign),
		cmocka_unit_test(what_ran_before_an_attach_is_not_in_the_books),
	};

	return cmocka_run_group_tests_name("books", tests, NULL, NULL);
}
