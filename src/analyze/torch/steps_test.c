/* SPDX-License-Identifier: MIT
 * Steps of a training: where they begin and end, and that each of their moments goes to one part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analyze/stretch.h"
#include "analyze/torch/phases.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/subset.h"
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
	/* –600 */
	op_rig_span(&x, OP_KERNEL, "ncclDevKernel_AllReduce", OP_RIG_OTHER_STREAM, 400, 200);
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
	/* the second's, until 360: nothing is left of the third */
	op_rig_kernel(&x, "add", 310, 50, 2, 8);
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

/* ---- iterations ------------------------------------------------------------------------------ */

static void run(struct op_events *x, int64_t *t, const char *name)
{
	op_rig_span(x, OP_CPU, name, OP_RIG_THREAD, *t, 8);
	*t += 10;
}

static void forward(struct op_events *x, int64_t *t)
{
	static const char *const names[] = { "aten::conv2d", "aten::relu", "aten::linear" };

	for (size_t i = 0; i < 3; i++)
		run(x, t, names[i]);
}

static void backward(struct op_events *x, int64_t *t, int n)
{
	run(x, t, "aten::cross_entropy_loss");
	for (int i = 0; i < n; i++)
		run(x, t, "autograd::engine::evaluate_function: AddmmBackward0");
}

static void optimize(struct op_events *x, int64_t *t)
{
	mark(x, "Optimizer.step#SGD.step", *t, 8);
	*t += 10;
}

static void step(struct op_events *x, int64_t *t)
{
	run(x, t, "aten::randn");
	forward(x, t);
	backward(x, t, 3);
	optimize(x, t);
}

static void set_up_is_no_part_of_the_first_step(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0, begin;

	(void)state;
	for (int i = 0; i < 30; i++) /* operators that come in steps, too */
		run(&x, &t, i % 3 ? "aten::randn" : "aten::linear");
	begin = t;
	for (int i = 0; i < 4; i++)
		step(&x, &t);
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->v[0].start_ns, begin);
	assert_int_equal(s->n_calls, 1);
	assert_int_equal(s->n_micro, 1);
	assert_true(s->is_training);
	arena_done(&a);
	op_events_done(&x);
}

static void only_the_end_of_a_step_is_none(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	run(&x, &t, "autograd::engine::evaluate_function: AddmmBackward0");
	optimize(&x, &t);
	for (int i = 0; i < 3; i++)
		step(&x, &t);
	forward(&x, &t); /* and its beginning neither */
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 3);
	arena_done(&a);
	op_events_done(&x);
}

static void two_optimizers_make_one_step(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 5; i++) {
		forward(&x, &t);
		backward(&x, &t, 4);
		optimize(&x, &t);
		forward(&x, &t);
		backward(&x, &t, 7); /* through both models */
		optimize(&x, &t);
	}
	forward(&x, &t); /* one that was cut off after the first of the two */
	backward(&x, &t, 4);
	optimize(&x, &t);
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 5);
	assert_int_equal(s->n_calls, 2);
	assert_int_equal(s->v[1].end_ns - s->v[1].start_ns, 210);
	arena_done(&a);
	op_events_done(&x);
}

static void forward_passes_between_steps_are_validation(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0, begin[2], end[2];

	(void)state;
	for (int epoch = 0; epoch < 2; epoch++) {
		for (int i = 0; i < 6; i++)
			step(&x, &t);
		t += 500;
		begin[epoch] = t;
		for (int i = 0; i < 5; i++) {
			forward(&x, &t);
			run(&x, &t, "aten::argmax");
		}
		end[epoch] = t - 2;
		t += 300;
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 12);
	assert_int_equal(s->n_validations, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(s->validations[i].start_ns, begin[i]);
		assert_int_equal(s->validations[i].end_ns, end[i]);
		assert_int_equal(s->validations[i].n_passes, 5);
	}
	for (size_t i = 1; i < s->n; i++) /* the seventh is none that is longer */
		assert_in_range(s->v[i].end_ns - s->v[i].start_ns, 88, 92);
	arena_done(&a);
	op_events_done(&x);
}

static void logging_now_and_then_is_part_of_a_step(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		step(&x, &t);
		for (int k = 0; i % 4 == 3 && k < 3; k++)
			run(&x, &t, "aten::norm");
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 8);
	assert_int_equal(s->n_validations, 0);
	assert_in_range(s->v[4].end_ns - s->v[4].start_ns, 118, 122);
	arena_done(&a);
	op_events_done(&x);
}

static void gradients_of_several_batches_are_told(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 4; k++) {
			forward(&x, &t);
			backward(&x, &t, 3);
		}
		optimize(&x, &t);
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 5);
	assert_int_equal(s->n_micro, 4);
	arena_done(&a);
	op_events_done(&x);
}

static void steps_are_of_one_process(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;

	(void)state;
	for (int64_t i = 0; i < 4; i++)
		for (int rank = 0; rank < 2; rank++) {
			const char *track = rank ? "8\0001" : "7\0001";
			int64_t t = i * 100 + rank * 35;

			op_rig_span(&x, OP_CPU, "aten::linear", track, 3, t, 20);
			op_rig_span(
				&x, OP_ANNOTATION, "Optimizer.step#SGD.step", track, 3, t + 20, 10);
		}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 4);
	assert_int_equal(s->n_processes, 2);
	assert_int_equal(s->pid, 7);
	assert_ns(s->parts_s[OP_PART_CPU], 4 * 20); /* not what the other one ran meanwhile */
	arena_done(&a);
	op_events_done(&x);
}

static void a_last_mark_without_an_optimizer_is_no_step(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[32];
		int64_t begin = t;

		snprintf(name, sizeof name, "ProfilerStep#%d", i + 2);
		if (i < 3)
			step(&x, &t);
		else
			run(&x, &t, "aten::item");
		mark(&x, name, begin, t - begin);
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->n, 3);
	assert_true(s->is_marked);
	assert_string_equal(s->v[2].name, "ProfilerStep#4");
	arena_done(&a);
	op_events_done(&x);
}

static void what_the_program_tells_are_its_steps(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;
	int64_t t = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		int64_t begin = t;

		step(&x, &t);
		step(&x, &t); /* two calls of the optimizer in each */
		if (i)
			vec_push(&x.told, (struct op_told_step){ begin, t, 7 });
	}
	s = op_steps_build(&a, &x);
	assert_int_equal(s->how, OP_STEPS_TOLD);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->n_calls, 2);
	assert_int_equal(s->v[0].end_ns - s->v[0].start_ns, 180);
	arena_done(&a);
	op_events_done(&x);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void each_moment_is_of_one_phase(void **state)
{
	struct op_events x = { .collected.is_asked = true };
	struct arena a = ARENA_INIT;
	const struct op_phases *p;
	enum op_phase which;
	int64_t t = 1000, saved, began, end;

	(void)state;
	vec_push(&x.asides, (struct op_aside){ 100, 600, 7, false }); /* imports */
	began = t;
	for (int i = 0; i < 4; i++)
		step(&x, &t);
	saved = t;
	vec_push(&x.asides, (struct op_aside){ saved, saved + 400, 7, true });
	t += 400;
	for (int i = 0; i < 4; i++)
		step(&x, &t);
	end = t - 2;
	vec_push(&x.processes, (struct op_process){ 7, -1, 50, end + 250 });
	p = op_phases_build(&a, &x, op_steps_build(&a, &x));
	assert_non_null(p);
	assert_ns(p->seconds[OP_PHASE_IMPORTS], 500);
	assert_ns(p->seconds[OP_PHASE_SET_UP], began - 50 - 500);
	assert_ns(p->seconds[OP_PHASE_SAVING], 400);
	assert_ns(p->seconds[OP_PHASE_TRAINING], end - began - 400 - 2);
	assert_ns(p->seconds[OP_PHASE_OTHER], 250 + 2);
	assert_ns(p->seconds[OP_PHASE_UNSEEN], 0);
	assert_int_equal(p->n_times[OP_PHASE_TRAINING], 8);
	assert_int_equal(p->n_times[OP_PHASE_SAVING], 1);
	assert_int_equal(p->v[0].start_ns, 50);
	for (size_t i = 1; i < p->n; i++)
		assert_int_equal(p->v[i].start_ns, p->v[i - 1].end_ns);
	assert_int_equal(p->v[p->n - 1].end_ns, end + 250);
	assert_true(op_phases_find(p, "training", &which) && which == OP_PHASE_TRAINING);
	assert_true(op_phases_find(p, "steps", &which) && which == OP_PHASE_TRAINING);
	assert_false(op_phases_find(p, "lunch", &which));
	arena_done(&a);
	op_events_done(&x);
}

static void without_steps_there_are_no_phases(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;

	(void)state;
	op_rig_operator(&x, "aten::mm", 100, 50, 1);
	assert_null(op_phases_build(&a, &x, op_steps_build(&a, &x)));
	arena_done(&a);
	op_events_done(&x);
}

/* ---- parts of a trace ------------------------------------------------------------------------ */

static void a_part_has_what_its_operators_asked_for(void **state)
{
	const struct stretch within[] = { { 0, 100 }, { 300, 400 } };
	struct op_events x = { .has_device = true }, part;

	(void)state;
	op_rig_operator(&x, "aten::mm", 50, 10, 1);
	op_rig_launch(&x, 52, 3, 1, 7);
	op_rig_kernel(&x, "gemm", 250, 60, 1, 7); /* asked for in the first stretch */
	op_rig_operator(&x, "aten::add", 200, 10, 2);
	op_rig_launch(&x, 202, 3, 2, 8);
	op_rig_kernel(&x, "add", 320, 10, 2, 8); /* asked for in none */
	op_rig_operator(&x, "aten::relu", 399, 50, 3);
	op_rig_span(&x, OP_CPU, "aten::stack", "8\0001", 3, 310, 5); /* of another process */
	op_subset_take(&x, &(struct op_subset){ .within = within, .n_within = 2 }, &part);
	assert_int_equal(part.v.n, 5);
	assert_string_equal(op_events_name(&part, part.v.v[2].name), "gemm");
	assert_string_equal(op_events_name(&part, part.v.v[3].name), "aten::relu");
	op_events_done(&part);
	op_subset_take(&x, &(struct op_subset){ .process = "8" }, &part);
	assert_int_equal(part.v.n, 1);
	assert_string_equal(op_events_name(&part, part.v.v[0].name), "aten::stack");
	op_events_done(&part);
	op_subset_take(&x, &(struct op_subset){ .process = "7" }, &part);
	assert_int_equal(part.v.n, 7);
	op_events_done(&part);
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
	/* the second is longer than what the period is looked for in */
	static const int n_operators[] = { 40, 100000 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		size_t n_steps = (size_t)n_operators[k] / 5;
		struct op_events x = { 0 };
		struct arena a = ARENA_INIT;
		const struct op_steps *s;
		int64_t t = 0;

		for (int i = 0; i < n_operators[k]; i++) {
			t += i % 5 == 0 ? 500 : 10; /* a pause before the first of them */
			op_rig_operator(&x, names[i % 5], t, 10, (uint32_t)i + 1);
			t += 10;
		}
		s = op_steps_build(&a, &x);
		assert_int_equal(s->how, OP_STEPS_PERIOD);
		assert_true(s->n + 1 >= n_steps && s->n <= n_steps);
		for (size_t i = 1; i + 1 < s->n; i++)
			assert_int_equal(s->v[i].end_ns - s->v[i].start_ns, 590);
		arena_done(&a);
		op_events_done(&x);
	}
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
		cmocka_unit_test(set_up_is_no_part_of_the_first_step),
		cmocka_unit_test(only_the_end_of_a_step_is_none),
		cmocka_unit_test(two_optimizers_make_one_step),
		cmocka_unit_test(forward_passes_between_steps_are_validation),
		cmocka_unit_test(logging_now_and_then_is_part_of_a_step),
		cmocka_unit_test(gradients_of_several_batches_are_told),
		cmocka_unit_test(steps_are_of_one_process),
		cmocka_unit_test(a_last_mark_without_an_optimizer_is_no_step),
		cmocka_unit_test(what_the_program_tells_are_its_steps),
		cmocka_unit_test(each_moment_is_of_one_phase),
		cmocka_unit_test(without_steps_there_are_no_phases),
		cmocka_unit_test(a_part_has_what_its_operators_asked_for),
		cmocka_unit_test(without_anything_that_comes_again_all_is_one_step),
		cmocka_unit_test(operators_that_come_again_in_order_are_steps),
		cmocka_unit_test(kernels_tell_how_full_the_device_was),
		cmocka_unit_test(names_tell_communication_and_tensor_cores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
