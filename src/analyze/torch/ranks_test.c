/* SPDX-License-Identifier: MIT
 * Ranks side by side, and two traces operator by operator: who waited for whom, and what changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/torch/diff.h"
#include "analyze/torch/ranks.h"
#include "analyze/torch/rig.h"
#include "base/arena.h"
#include "base/err.h"

static void assert_ns(double seconds, int64_t ns)
{
	assert_float_equal(seconds * 1e9, (double)ns, 1e-3);
}

/* A rank with one step of 1000 ns that computes for `work` ns and then reduces, `waits` ns beyond the 100 of the transfer. */
static void make_rank(struct op_events *x, int rank, int64_t work, int64_t waits)
{
	x->rank = rank;
	x->world_size = 2;
	op_rig_span(x, OP_ANNOTATION, "ProfilerStep#1", OP_RIG_THREAD, 0, 1000);
	op_rig_operator(x, "aten::mm", 0, work, 1);
	op_rig_span(
		x, OP_ANNOTATION, "gloo:all_reduce", OP_RIG_OTHER_THREAD, work - 50, 150 + waits);
}

static void the_shortest_of_the_same_collective_is_the_transfer(void **state)
{
	struct op_events quick = { 0 }, slow = { 0 };
	struct arena a = ARENA_INIT;
	struct op_ranks r = { .a = &a };
	struct err e;

	(void)state;
	make_rank(&quick, 1, 300, 400);
	make_rank(&slow, 0, 700, 0);
	assert_int_equal(op_ranks_add(&r, "b.json", &quick, &e), 0);
	assert_int_equal(op_ranks_add(&r, "a.json", &slow, &e), 0);
	assert_int_equal(op_ranks_compare(&r, &e), 0);
	assert_int_equal(r.v.v[0].rank, 0);
	assert_int_equal(r.notes.n, 0);
	assert_int_equal(r.collectives.n, 1);
	assert_string_equal(r.collectives.v[0].name, "all_reduce");
	assert_int_equal(r.collectives.v[0].n_matched, 1);
	assert_ns(r.v.v[0].transfer_s, 150);
	assert_ns(r.v.v[0].waiting_s, 0);
	assert_ns(r.v.v[1].transfer_s, 150);
	assert_ns(r.v.v[1].waiting_s, 400);
	assert_int_equal(r.v.v[0].n_last, 1);
	assert_ns(r.v.v[0].caused_s, 400);
	assert_ptr_equal(r.straggler, &r.v.v[0]);
	op_ranks_done(&r);
	arena_done(&a);
	op_events_done(&quick);
	op_events_done(&slow);
}

static void one_recording_holds_several_ranks(void **state)
{
	static const char *const tracks[] = { "8\0001", "7\0001", "9\0001" };
	struct op_events x = { .rank = -1 };
	struct arena a = ARENA_INIT;
	struct op_ranks r = { .a = &a };
	struct err e;

	(void)state;
	for (int64_t i = 0; i < 3; i++)
		for (int k = 0; k < 2;
			k++) { /* the second comes late, and the first waits for it */
			int64_t t = i * 1000;

			op_rig_span(&x, OP_CPU, "aten::mm", tracks[k], 3, t, 200 + k * 400);
			op_rig_span(&x, OP_ANNOTATION, "gloo:all_reduce", tracks[k], 3,
				t + 200 + k * 400, 500 - k * 400);
			op_rig_span(&x, OP_ANNOTATION, "Optimizer.step#SGD.step", tracks[k], 3,
				t + 700, 100);
		}
	op_rig_span(&x, OP_CPU, "aten::stack", tracks[2], 3, 50, 100); /* a worker's */
	vec_push(&x.processes, (struct op_process){ .pid = 7, .rank = 1 });
	vec_push(&x.processes, (struct op_process){ .pid = 8, .rank = 0 });
	assert_int_equal(op_ranks_add(&r, "x.lead", &x, &e), 0);
	assert_int_equal(op_ranks_compare(&r, &e), 0);
	assert_int_equal(r.v.n, 2);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(r.v.v[k].rank, k);
		assert_int_equal(r.v.v[k].n_steps, 3);
		assert_int_equal(r.v.v[k].n_collectives, 3);
	}
	assert_ns(r.v.v[0].waiting_s, 3 * 400);
	assert_ns(r.v.v[1].waiting_s, 0);
	assert_ptr_equal(r.straggler, &r.v.v[1]);
	op_ranks_done(&r);
	arena_done(&a);
	op_events_done(&x);
}

static void moments_of_a_step_are_of_four_kinds(void **state)
{
	struct op_events one = { 0 }, other = { 0 };
	struct arena a = ARENA_INIT;
	struct op_ranks r = { .a = &a };
	struct err e;

	(void)state;
	make_rank(&one, 0, 300, 0);
	make_rank(&other, 1, 300, 0);
	assert_int_equal(op_ranks_add(&r, "a", &one, &e), 0);
	assert_int_equal(op_ranks_add(&r, "b", &other, &e), 0);
	assert_int_equal(op_ranks_compare(&r, &e), 0);
	assert_int_equal(r.v.v[0].n_steps, 1);
	assert_ns(r.v.v[0].seconds, 1000);
	assert_ns(r.v.v[0].computation_s, 250);
	assert_ns(r.v.v[0].overlap_s, 50);
	assert_ns(r.v.v[0].communication_s, 100);
	assert_ns(r.v.v[0].other_s, 600);
	assert_null(r.straggler);
	op_ranks_done(&r);
	arena_done(&a);
	op_events_done(&one);
	op_events_done(&other);
}

static void what_does_not_belong_together_is_refused_or_said(void **state)
{
	struct op_events one = { 0 }, two = { 0 }, three = { 0 };
	struct arena a = ARENA_INIT;
	struct op_ranks r = { .a = &a };
	struct err e;

	(void)state;
	make_rank(&one, -1, 300, 0); /* the name tells its rank */
	make_rank(&two, 3, 300, 0);
	make_rank(&three, 1, 300, 0);
	/* one more */
	op_rig_span(&three, OP_ANNOTATION, "gloo:all_reduce", OP_RIG_OTHER_THREAD, 600, 10);
	assert_int_equal(op_ranks_add(&r, "x/host_rank-3.json", &one, &e), 0);
	assert_int_equal(op_ranks_add(&r, "two", &two, &e), -ERR_USAGE);
	assert_non_null(strstr(e.text, "both from rank 3"));
	two.rank = 2;
	two.world_size = 4;
	assert_int_equal(op_ranks_add(&r, "two", &two, &e), -ERR_USAGE);
	assert_non_null(strstr(e.text, "they do not belong together"));
	assert_int_equal(op_ranks_compare(&r, &e), -ERR_USAGE);
	assert_int_equal(op_ranks_add(&r, "three", &three, &e), 0);
	assert_int_equal(op_ranks_compare(&r, &e), 0);
	assert_int_equal(r.notes.n, 1);
	assert_non_null(strstr(r.notes.v[0], "rank 1 has 2 all_reduce and rank 3 has 1"));
	assert_int_equal(r.collectives.v[0].n_matched, 0);
	op_ranks_done(&r);
	arena_done(&a);
	op_events_done(&one);
	op_events_done(&two);
	op_events_done(&three);
}

/* `n` steps of 100 ns, in each aten::linear of `linear` ns that calls aten::addmm of 20 ns, with a kernel of `kernel` ns. */
static struct ops_diff_source source(
	struct arena *a, const char *path, int n, int64_t linear, int64_t kernel)
{
	struct op_events x = { .has_device = true };
	struct ops_diff_source to;

	for (int i = 0; i < n; i++) {
		uint32_t link = (uint32_t)i * 2 + 1;
		int64_t t = i * 1000;

		op_rig_span(&x, OP_ANNOTATION, "ProfilerStep#1", OP_RIG_THREAD, t, 100);
		op_rig_operator(&x, "aten::linear", t + 10, linear, link);
		op_rig_operator(&x, "aten::addmm", t + 15, 20, link + 1);
		op_rig_kernel(&x, "gemm", t + 40, kernel, link + 1, 0);
	}
	to = ops_diff_take(a, path, &x);
	op_events_done(&x);
	return to;
}

static const struct ops_diff_row *row(const struct ops_diff *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->v[i].name, name) == 0)
			return &d->v[i];
	fail();
	return NULL;
}

static void changes_of_rows_add_up_to_the_change_of_the_whole(void **state)
{
	struct arena a = ARENA_INIT;
	const struct ops_diff_source both[2] = { source(&a, "a", 2, 60, 10),
		source(&a, "b", 4, 80, 30) };
	const struct ops_diff *d = ops_diff_build(&a, both, OPS_DIFF_ABSOLUTE);
	double cpu = 0, device = 0;

	(void)state;
	assert_true(d->has_device);
	assert_ns(row(d, "aten::linear")->side[0].self_cpu_s, 2 * 40);
	assert_ns(row(d, "aten::linear")->side[1].self_cpu_s, 4 * 60);
	assert_ns(row(d, "aten::addmm")->side[1].self_device_s, 4 * 30);
	assert_float_equal(row(d, "aten::addmm")->side[0].calls, 2, 0);
	for (size_t i = 0; i < d->n; i++) {
		cpu += d->v[i].side[1].self_cpu_s - d->v[i].side[0].self_cpu_s;
		device += d->v[i].side[1].self_device_s - d->v[i].side[0].self_device_s;
	}
	assert_float_equal(cpu, d->trace[1].total.self_cpu_s - d->trace[0].total.self_cpu_s, 1e-15);
	assert_float_equal(
		device, d->trace[1].total.self_device_s - d->trace[0].total.self_device_s, 1e-15);
	assert_string_equal(d->v[0].name, "aten::linear"); /* 160 ns; addmm 40 and 100 */
	arena_done(&a);
}

static void steps_and_shares_leave_out_how_long_a_trace_is(void **state)
{
	struct arena a = ARENA_INIT;
	const struct ops_diff_source both[2] = { source(&a, "a", 2, 60, 10),
		source(&a, "b", 4, 60, 10) };
	const struct ops_diff *step = ops_diff_build(&a, both, OPS_DIFF_STEP);
	const struct ops_diff *run = ops_diff_build(&a, both, OPS_DIFF_RUN);

	(void)state;
	assert_int_equal(step->trace[0].n_steps, 2);
	assert_int_equal(step->trace[1].n_steps, 4);
	assert_ns(step->trace[1].step_s, 100);
	for (size_t i = 0; i < step->n; i++)
		assert_float_equal(
			step->v[i].side[0].self_cpu_s, step->v[i].side[1].self_cpu_s, 1e-15);
	assert_ns(row(step, "aten::linear")->side[1].self_cpu_s, 40);
	assert_float_equal(run->trace[0].total.self_cpu_s, 1, 1e-12);
	assert_float_equal(row(run, "aten::linear")->side[0].self_cpu_s,
		row(run, "aten::linear")->side[1].self_cpu_s, 1e-12);
	arena_done(&a);
}

static struct ops_diff_source of_one(struct arena *a, enum op_category category, int64_t ns)
{
	struct op_events x = { 0 };
	struct ops_diff_source to;

	op_rig_span(&x, category, "Optimizer.step#Adam.step", OP_RIG_THREAD, 0, ns);
	to = ops_diff_take(a, "x", &x);
	op_events_done(&x);
	return to;
}

static void a_region_is_the_same_where_a_collector_took_it_for_an_operator(void **state)
{
	struct arena a = ARENA_INIT;
	const struct ops_diff_source both[2] = { of_one(&a, OP_ANNOTATION, 60),
		of_one(&a, OP_CPU, 80) };
	const struct ops_diff *d = ops_diff_build(&a, both, OPS_DIFF_ABSOLUTE);

	(void)state;
	assert_int_equal(d->n, 1);
	assert_true(d->v[0].is_annotation);
	assert_ns(d->v[0].side[0].self_cpu_s, 60);
	assert_ns(d->v[0].side[1].self_cpu_s, 80);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shortest_of_the_same_collective_is_the_transfer),
		cmocka_unit_test(moments_of_a_step_are_of_four_kinds),
		cmocka_unit_test(one_recording_holds_several_ranks),
		cmocka_unit_test(what_does_not_belong_together_is_refused_or_said),
		cmocka_unit_test(changes_of_rows_add_up_to_the_change_of_the_whole),
		cmocka_unit_test(steps_and_shares_leave_out_how_long_a_trace_is),
		cmocka_unit_test(a_region_is_the_same_where_a_collector_took_it_for_an_operator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
