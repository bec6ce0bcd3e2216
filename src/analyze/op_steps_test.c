/* SPDX-License-Identifier: MIT
 * Steps of a training: where they begin and end, and that each of their moments goes to one part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/op_rig.h"
#include "analyze/op_steps.h"
#include "base/arena.h"

static uint32_t mark(struct op_events *x, const char *name, int64_t start_ns, int64_t duration_ns)
{
	return op_rig_span(x, OP_ANNOTATION, name, OP_RIG_THREAD, start_ns, duration_ns);
}

static void assert_ns(double seconds, int64_t ns)
{
	assert_float_equal(seconds * 1e9, (double)ns, 1e-3);
}

static void a_moment_belongs_to_the_first_part_that_ran(void **state)
{
	struct op_events x = { .has_device = true };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	const double *parts;

	(void)state;
	mark(&x, "ProfilerStep#4", 0, 1000);
	op_rig_operator(&x, "aten::mm", 100, 400, 1);               /* 100–500 */
	op_rig_launch(&x, 150, 50, 1, 9);                           /* 150–200 */
	op_rig_span(&x, OP_SET, "Memset", OP_RIG_STREAM, 250, 50);  /* 250–300 */
	op_rig_span(&x, OP_COPY, "Memcpy", OP_RIG_STREAM, 280, 60); /* 280–340 */
	op_rig_kernel(&x, "gemm", 330, 100, 1, 9);                  /* 330–430 */
	op_rig_span(
		&x, OP_KERNEL, "ncclDevKernel_AllReduce", OP_RIG_OTHER_STREAM, 400, 200); /* –600 */
	op_rig_span(
		&x, OP_ANNOTATION, "enumerate(DataLoader)#_Next.__next__", OP_RIG_THREAD, 700, 100);
	op_rig_span(&x, OP_PYTHON, "main", OP_RIG_THREAD, 0, 1000); /* tells nothing */
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->how, OP_STEPS_MARKED);
	assert_true(s->is_marked);
	assert_string_equal(s->v[0].name, "ProfilerStep#4");
	parts = s->v[0].parts_s;
	assert_ns(parts[OP_PART_KERNEL], 100);
	assert_ns(parts[OP_PART_COPY], 50); /* 280–330 */
	assert_ns(parts[OP_PART_SET], 30);  /* 250–280 */
	assert_ns(parts[OP_PART_COMMUNICATION], 170);
	assert_ns(parts[OP_PART_RUNTIME], 50);
	assert_ns(parts[OP_PART_DATALOADER], 100);
	assert_ns(parts[OP_PART_COMPILE], 0);
	assert_ns(parts[OP_PART_CPU], 50 + 50); /* 100–150, 200–250 */
	assert_ns(parts[OP_PART_OTHER], 400);
	assert_ns(s->seconds, 1000);
	assert_ns(s->busy_s, 100 + 50 + 30 + 170);
	assert_ns(s->kernel_s, 100);
	arena_done(&a);
	op_events_done(&x);
}

static void a_step_lasts_until_what_it_launched_has_ended(void **state)
{
	struct op_events x = { .has_device = true };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;

	(void)state;
	mark(&x, "ProfilerStep#1", 0, 100);
	mark(&x, "ProfilerStep#2", 100, 100);
	mark(&x, "ProfilerStep#3", 200, 100);
	op_rig_operator(&x, "aten::mm", 50, 10, 1);
	op_rig_launch(&x, 52, 3, 1, 7);
	op_rig_kernel(&x, "gemm", 90, 60, 1, 7); /* until 150 */
	op_rig_operator(&x, "aten::add", 160, 10, 2);
	op_rig_launch(&x, 162, 3, 2, 8);
	op_rig_kernel(&x, "add", 310, 50, 2,
		8); /* the second's, until 360: nothing is left of the third */
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->v[0].end_ns, 150);
	assert_int_equal(s->v[0].host_end_ns, 100);
	assert_int_equal(s->v[1].start_ns, 150);
	assert_int_equal(s->v[1].end_ns, 360);
	assert_int_equal(s->v[2].start_ns, 360);
	assert_int_equal(s->v[2].end_ns, 360);
	assert_ns(s->seconds, 360);
	assert_ns(s->median_s, 150);
	assert_ns(s->p99_s, 210);
	assert_ns(s->max_s, 210);
	assert_ns(s->parts_s[OP_PART_KERNEL], 60 + 50);
	arena_done(&a);
	op_events_done(&x);
}

static void calls_of_an_optimizer_end_steps(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;

	(void)state;
	op_rig_operator(&x, "aten::randn", 0, 50, 1); /* set-up: no part of the first step */
	for (int64_t i = 0; i < 3; i++) {
		op_rig_operator(&x, "aten::linear", 100 + i * 100, 40, (uint32_t)(2 + 2 * i));
		mark(&x, "Optimizer.step#SGD.step", 160 + i * 100, 30);
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->how, OP_STEPS_OPTIMIZER);
	assert_false(s->is_marked);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->v[0].start_ns, 100);
	assert_int_equal(s->v[0].end_ns, 190);
	assert_int_equal(s->v[2].end_ns, 390);
	assert_string_equal(s->v[1].name, "step 1");
	arena_done(&a);
	op_events_done(&x);
}

static void without_anything_that_comes_again_all_is_one_step(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;

	(void)state;
	op_rig_operator(&x, "aten::mm", 100, 50, 1);
	op_rig_operator(&x, "aten::relu", 200, 10, 2);
	s = op_steps_build(&a, &x);
	assert_int_equal(s->how, OP_STEPS_ALL);
	assert_int_equal(s->n, 1);
	assert_string_equal(s->v[0].name, "all");
	assert_ns(s->seconds, 110);
	assert_ns(s->parts_s[OP_PART_CPU], 60);
	assert_ns(s->busy_s, 0);
	assert_true(isnan(s->sm_efficiency) && isnan(s->occupancy) && isnan(s->peak_share));
	arena_done(&a);
	op_events_done(&x);
}

static void operators_that_come_again_in_order_are_steps(void **state)
{
	static const char *const names[] = { "aten::to", "aten::linear", "aten::relu", "aten::loss",
		"aten::backward" };
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		t += i % 5 == 0 ? 500 : 10; /* a pause before the first of them */
		op_rig_operator(&x, names[i % 5], t, 10, (uint32_t)i + 1);
		t += 10;
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->how, OP_STEPS_PERIOD);
	assert_true(s->n >= 7 && s->n <= 8);
	for (size_t i = 1; i + 1 < s->n; i++)
		assert_int_equal(s->v[i].end_ns - s->v[i].start_ns, 590);
	arena_done(&a);
	op_events_done(&x);
}

static void kernels_tell_how_full_the_device_was(void **state)
{
	struct op_events x = { .has_device = true, .device_bytes = 1000 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	uint32_t k;

	(void)state;
	mark(&x, "ProfilerStep#1", 0, 1000);
	k = op_rig_span(&x, OP_KERNEL, "sm80_xmma_gemm_f16", OP_RIG_STREAM, 0, 300);
	op_rig_device(&x, k, 0, (struct op_device){ .blocks_per_sm = 4, .occupancy = 50 });
	k = op_rig_span(&x, OP_KERNEL, "vectorized_add", OP_RIG_STREAM, 300, 100);
	op_rig_device(&x, k, 0, (struct op_device){ .blocks_per_sm = 0.5f, .occupancy = 10 });
	op_rig_kernel(&x, "unknown", 400, 600, 0, 0); /* says nothing, and counts for nothing */
	vec_push(
		&x.memory, (struct op_memory){ .bytes = 10, .total_bytes = 400, .device_type = 1 });
	vec_push(&x.memory, (struct op_memory){ .bytes = 10, .total_bytes = 900 }); /* on the CPU */
	s = op_steps_build(&a, &x);
	assert_ns(s->kernel_s, 1000);
	assert_ns(s->tensor_core_s, 300);
	assert_float_equal(s->sm_efficiency, (300 * 1.0 + 100 * 0.5) / 1000, 1e-6);
	assert_float_equal(s->occupancy, (300 * 0.5 + 100 * 0.1) / 400, 1e-6);
	assert_int_equal(s->peak_bytes, 400);
	assert_float_equal(s->peak_share, 0.4, 1e-9);
	arena_done(&a);
	op_events_done(&x);
}

static void names_tell_communication_and_tensor_cores(void **state)
{
	(void)state;
	assert_true(op_is_communication("ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
	assert_true(op_is_communication("gloo:all_reduce"));
	assert_true(op_is_communication("c10d::allreduce_"));
	assert_false(op_is_communication("aten::mm"));
	assert_true(op_uses_tensor_cores("nvjet_hsh_128x64_64x6"));
	assert_true(op_uses_tensor_cores("ampere_fp16_s16816gemm_fp16_128x64"));
	assert_false(op_uses_tensor_cores("cutlass_80_simt_sgemm_256x128"));
	assert_false(op_uses_tensor_cores("void at::native::vectorized_elementwise_kernel"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_belongs_to_the_first_part_that_ran),
		cmocka_unit_test(a_step_lasts_until_what_it_launched_has_ended),
		cmocka_unit_test(calls_of_an_optimizer_end_steps),
		cmocka_unit_test(without_anything_that_comes_again_all_is_one_step),
		cmocka_unit_test(operators_that_come_again_in_order_are_steps),
		cmocka_unit_test(kernels_tell_how_full_the_device_was),
		cmocka_unit_test(names_tell_communication_and_tensor_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
