/* SPDX-License-Identifier: MIT
 * What ran on the device: streams with what they waited for, their queues, kernels by name and by launch, and curves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/torch/kernels.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/streams.h"
#include "base/arena.h"

enum { US = 1000 };

static void assert_us(double seconds, double us)
{
	assert_float_equal(seconds * 1e6, us, 1e-6);
}

/* One stream: a kernel in time, one that the host was late for, one that waited for something else. */
static void make_gaps(struct op_events *x)
{
	op_rig_operator(x, "aten::mm", 0, 1000 * US, 1);
	op_rig_launch(x, 0, 10 * US, 1, 11);
	op_rig_kernel(x, "a", 20 * US, 80 * US, 1, 11); /* 20–100 */
	op_rig_launch(x, 30 * US, 10 * US, 1, 12);
	op_rig_kernel(x, "b", 110 * US, 90 * US, 1, 12); /* 110–200: after a short gap */
	op_rig_launch(x, 250 * US, 60 * US, 1, 13);      /* late, and slow */
	op_rig_kernel(x, "c", 320 * US, 80 * US, 1, 13); /* 320–400 */
	op_rig_launch(x, 340 * US, 10 * US, 1, 14);
	/* 500–505: launched in time, after a long gap */
	op_rig_kernel(x, "d", 500 * US, 5 * US, 1, 14);
	op_rig_kernel(x, "e", 605 * US, 95 * US, 0, 0); /* 605–700: nobody knows its launch */
}

static void gaps_say_what_a_stream_waited_for(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_streams *s;

	(void)state;
	make_gaps(&x);
	s = op_streams_build(&a, &x);
	assert_int_equal(s->n, 1);
	assert_string_equal(s->v[0].device, "0");
	assert_string_equal(s->v[0].stream, "20");
	assert_int_equal(s->v[0].n_events, 5);
	assert_us(s->v[0].span_s, 680);
	assert_us(s->v[0].busy_s, 80 + 90 + 80 + 5 + 95);
	assert_us(s->v[0].kernel_wait_s, 10);
	assert_us(s->v[0].host_wait_s, 120);
	assert_us(s->v[0].other_s, 100 + 100);
	arena_done(&a);
	op_events_done(&x);
}

static void launches_and_what_they_launched(void **state)
{
	struct op_events x = { .zero_ns = 50 * US };
	struct arena a = ARENA_INIT;
	const struct op_streams *s;

	(void)state;
	make_gaps(&x);
	s = op_streams_build(&a, &x);
	assert_int_equal(s->n_launches, 4);
	assert_int_equal(s->n_short, 1);               /* d */
	assert_int_equal(s->n_late, 1);                /* d, 150 µs after its launch */
	assert_us(s->median_delay_s, (10 + 70) / 2.0); /* of 10, 10, 70, 150 */
	assert_us(s->max_delay_s, 150);
	assert_us(s->p99_delay_s, 150);
	assert_us(s->median_launch_s, 10);
	assert_us(s->max_launch_s, 60);
	assert_int_equal(s->n_slow, 1);
	assert_int_equal(s->n_slowest, 1);
	assert_string_equal(s->slowest[0].call, "cudaLaunchKernel");
	assert_string_equal(s->slowest[0].operator_name, "aten::mm");
	assert_string_equal(s->slowest[0].launched, "c");
	assert_us(s->slowest[0].at_s, 200);
	assert_us(s->slowest[0].seconds, 60);
	arena_done(&a);
	op_events_done(&x);
}

static void a_queue_is_what_was_launched_and_has_not_begun(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_streams *s;

	(void)state;
	/* Queued from 0 to 100, 10 to 200, 20 to 300; one stream from 100 to 400. */
	for (uint32_t i = 0; i < 3; i++) {
		op_rig_launch(&x, i * 10 * US, 5 * US, 0, i + 1);
		op_rig_kernel(&x, "k", (100 + i * 100) * US, 100 * US, 0, i + 1);
	}
	s = op_streams_build(&a, &x);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->v[0].longest_queue, 3);
	assert_float_equal(s->v[0].mean_queue, (2 * 100 + 1 * 100) / 300.0, 1e-9);
	assert_float_equal(s->v[0].empty_share, 1 / 3.0, 1e-9);
	assert_float_equal(s->v[0].queue[0], 1, 0);
	assert_float_equal(s->v[0].queue[OP_CURVE - 1], 0, 0);
	arena_done(&a);
	op_events_done(&x);
}

static void the_busiest_stream_comes_first_and_without_launches_no_queue_is_known(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_streams *s;

	(void)state;
	op_rig_span(&x, OP_COPY, "Memcpy", OP_RIG_STREAM, 0, 10 * US);
	op_rig_span(&x, OP_KERNEL, "k", OP_RIG_OTHER_STREAM, 0, 20 * US);
	/* within the other */
	op_rig_span(&x, OP_KERNEL, "k", OP_RIG_OTHER_STREAM, 5 * US, 10 * US);
	op_rig_span(&x, OP_DEVICE_ANNOTATION, "step", OP_RIG_STREAM, 0, 1000 * US);
	s = op_streams_build(&a, &x);
	assert_int_equal(s->n, 2);
	assert_string_equal(s->v[0].stream, "21");
	assert_us(s->v[0].busy_s, 20);
	assert_us(s->v[1].span_s, 10);
	assert_true(isnan(s->v[0].mean_queue) && isnan(s->v[1].empty_share));
	assert_int_equal(s->n_launches, 0);
	arena_done(&a);
	op_events_done(&x);
}

static void kernels_are_summed_by_name_with_who_launched_most(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_kernels *s;
	uint32_t k;

	(void)state;
	op_rig_operator(&x, "aten::mm", 0, 10, 1);
	op_rig_operator(&x, "aten::bmm", 10, 10, 2);
	k = op_rig_span(&x, OP_KERNEL, "gemm_16816", OP_RIG_STREAM, 100, 30 * US);
	op_rig_device(&x, k, 1, (struct op_device){ .blocks_per_sm = 2, .occupancy = 40 });
	k = op_rig_span(&x, OP_KERNEL, "gemm_16816", OP_RIG_STREAM, 200, 10 * US);
	op_rig_device(&x, k, 2, (struct op_device){ .blocks_per_sm = 6, .occupancy = 80 });
	k = op_rig_span(&x, OP_COPY, "Memcpy HtoD", OP_RIG_STREAM, 300, 50 * US);
	op_rig_device(&x, k, 0,
		(struct op_device){ .bytes = 4096, .blocks_per_sm = NAN, .occupancy = NAN });
	s = op_kernels_build(&a, &x);
	assert_int_equal(s->n, 2);
	assert_string_equal(s->v[0].name, "Memcpy HtoD");
	assert_false(s->v[0].is_kernel);
	assert_int_equal(s->v[0].bytes, 4096);
	assert_string_equal(s->v[0].owner, "");
	assert_true(isnan(s->v[0].occupancy));
	assert_int_equal(s->v[1].n_times, 2);
	assert_us(s->v[1].seconds, 40);
	assert_us(s->v[1].min_s, 10);
	assert_us(s->v[1].max_s, 30);
	assert_string_equal(s->v[1].owner, "aten::mm");
	assert_true(s->v[1].uses_tensor_cores);
	assert_float_equal(s->v[1].blocks_per_sm, (30 * 2 + 10 * 6) / 40.0, 1e-6);
	assert_float_equal(s->v[1].occupancy, (30 * 0.4 + 10 * 0.8) / 40.0, 1e-6);
	assert_us(s->seconds, 90);
	assert_us(s->kernel_s, 40);
	assert_us(s->tensor_core_s, 40);
	arena_done(&a);
	op_events_done(&x);
}

static void launches_of_one_kernel_are_told_apart(void **state)
{
	static const struct op_launch small = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } },
				      large = { .grid = { 132, 1, 1 }, .block = { 256, 1, 1 } };
	const struct op_launch *const launches[] = { &small, &large, &large };
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_kernels *s;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t k =
			op_rig_span(&x, OP_KERNEL, "add", OP_RIG_STREAM, i * 100 * US, 10 * US);

		op_rig_device(&x, k, 0,
			(struct op_device){ .launch = intern_add(&x.launches, launches[i],
							      sizeof *launches[i], NULL) +
					1 });
	}
	s = op_kernels_by_launch(&a, &x);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->v[0].n_times, 2);
	assert_int_equal(s->v[0].launch->grid[0], 132);
	assert_int_equal(s->v[1].launch->block[0], 32);
	assert_int_equal(op_kernels_build(&a, &x)->n, 1);
	arena_done(&a);
	op_events_done(&x);
}

static void a_curve_keeps_the_highest_of_each_stretch(void **state)
{
	double curve[OP_CURVE] = { 0 };
	struct op_pen pen = { .curve = curve, .first_ns = 0, .last_ns = OP_CURVE * 10 };

	(void)state;
	op_pen_set(&pen, 5);
	op_pen_draw(&pen, 21, 9);
	op_pen_draw(&pen, 25, 2); /* in the same stretch */
	op_pen_draw(&pen, 50, 7);
	op_pen_draw(&pen, OP_CURVE * 10, 1); /* its end is of the last stretch */
	assert_float_equal(curve[0], 5, 0);
	assert_float_equal(curve[1], 5, 0);
	assert_float_equal(curve[2], 9, 0);
	assert_float_equal(curve[3], 2, 0);
	assert_float_equal(curve[5], 7, 0);
	assert_float_equal(curve[OP_CURVE - 1], 7, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_say_what_a_stream_waited_for),
		cmocka_unit_test(launches_and_what_they_launched),
		cmocka_unit_test(a_queue_is_what_was_launched_and_has_not_begun),
		cmocka_unit_test(
			the_busiest_stream_comes_first_and_without_launches_no_queue_is_known),
		cmocka_unit_test(kernels_are_summed_by_name_with_who_launched_most),
		cmocka_unit_test(launches_of_one_kernel_are_told_apart),
		cmocka_unit_test(a_curve_keeps_the_highest_of_each_stretch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
