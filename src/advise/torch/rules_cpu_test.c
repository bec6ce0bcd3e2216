/* SPDX-License-Identifier: MIT
 * Rules about operators on the CPU, and about the run around them: each speaks on a made-up training that has the flaw, with figures
 * that were computed by hand, and says nothing on two that look alike. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "advise/advice.h"
#include "advise/finding.h"
#include "advise/torch/advice.h"
#include "analyze/torch/host.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"

enum { STEPS = 20 };

#define US   INT64_C(1000)
#define MS   (1000 * US)
#define STEP (10 * MS)
#define MIB  (INT64_C(1) << 20)

/* ---- a training on the CPU ------------------------------------------------------------------- */

typedef void step_fn(struct op_events *x, int64_t at, int k);

static uint32_t op(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	return op_rig_span(x, OP_CPU, name, OP_RIG_THREAD, at, length);
}

static void mark(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	op_rig_span(x, OP_ANNOTATION, name, OP_RIG_THREAD, at, length);
}

/* Steps of 10 ms on one thread; a function of the program's asks for all of a step. */
static void train(struct op_events *x, step_fn *extra)
{
	*x = (struct op_events){ .has_zero = true, .has_python = true };
	op_rig_span(x, OP_PYTHON, "train.py(70): <module>", OP_RIG_THREAD, 0, (STEPS + 1) * STEP);
	op_rig_span(x, OP_PYTHON, "torch/profiler/profiler.py(8): start", OP_RIG_THREAD, 10 * US,
		20 * US);
	for (int k = 0; k < STEPS; k++) {
		int64_t at = MS + STEP * k;
		char name[40];

		snprintf(name, sizeof name, "ProfilerStep#%d", k);
		mark(x, name, at, STEP);
		op_rig_span(
			x, OP_PYTHON, "train.py(40): step", OP_RIG_THREAD, at + US, STEP - 2 * US);
		extra(x, at + 10 * US, k);
	}
}

static const struct op_host *beside; /* what the recording says of the host */

static const struct finding *find(
	struct arena *a, struct op_events *x, step_fn *extra, const char *rule)
{
	struct ops_options options = { 0 };
	const struct advice *advice;
	const struct ops *ops;

	train(x, extra);
	ops = ops_count(a, x, &options);
	advice = op_advice_build(a, x, op_steps_build(a, x), op_kernels_build(a, x), ops, beside);
	for (size_t i = 0; i < advice->n; i++)
		if (strcmp(advice->v[i].rule, rule) == 0)
			return &advice->v[i];
	return NULL;
}

struct expected {
	double value, estimate; /* of all steps; NAN: not told */
	const char *place, *evidence, *change;
};

static void assert_about(double value, double expected)
{
	if (isnan(expected))
		assert_true(isnan(value));
	else
		assert_float_equal(value, expected, 1e-6 * fabs(expected));
}

static void speaks(const char *rule, step_fn *extra, struct expected e)
{
	struct arena a = ARENA_INIT;
	struct op_events x;
	const struct finding *f = find(&a, &x, extra, rule);
	char place[100] = "";

	assert_non_null(f);
	assert_about(f->saving.value, e.value);
	assert_about(f->saving.estimate, e.estimate);
	if (f->file)
		snprintf(place, sizeof place, "%s:%u", f->file, f->line);
	assert_string_equal(place, e.place);
	if (!strstr(f->evidence, e.evidence))
		print_error("%s\n", f->evidence);
	assert_non_null(strstr(f->evidence, e.evidence));
	assert_non_null(strstr(f->change, e.change));
	op_events_done(&x);
	arena_done(&a);
}

static void is_silent(const char *rule, step_fn *extra)
{
	struct arena a = ARENA_INIT;
	struct op_events x;

	assert_null(find(&a, &x, extra, rule));
	op_events_done(&x);
	arena_done(&a);
}

/* ---- overhead -------------------------------------------------------------------------------- */

/* Small operators, 15 µs from one begin to the next, and what goes back through them. */
static void calls(struct op_events *x, int64_t at, int n, int64_t each, int64_t apart)
{
	for (int i = 0; i < n; i++)
		op(x, "aten::relu", at + i * apart, each);
	for (int i = 0; i < n; i++)
		op(x, "autograd::engine::evaluate_function: ReluBackward0", at + 5 * MS + i * apart,
			each);
}

static void token_loop(struct op_events *x, int64_t at, int k)
{
	(void)k;
	calls(x, at, 100, 10 * US, 15 * US);
}

static void few_small(struct op_events *x, int64_t at, int k)
{
	(void)k;
	calls(x, at, 29, 10 * US, 15 * US);
}

static void many_large(struct op_events *x, int64_t at, int k)
{
	(void)k;
	calls(x, at, 100, 40 * US, 45 * US);
}

/* 60 µs each, but of six small ones. */
static void cell_loop(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int i = 0; i < 40; i++) {
		op(x, "aten::lstm_cell", at + i * 70 * US, 60 * US);
		for (int c = 0; c < 6; c++)
			op(x, "aten::sigmoid", at + i * 70 * US + c * 10 * US, 9 * US);
	}
}

static void cells_with_a_product(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int i = 0; i < 40; i++) {
		op(x, "aten::lstm_cell", at + i * 70 * US, 60 * US);
		op(x, "aten::addmm", at + i * 70 * US, 50 * US);
	}
}

static void small_of_the_optimizer(struct op_events *x, int64_t at, int k)
{
	(void)k;
	mark(x, "Optimizer.step#RMSprop.step", at, 2 * MS);
	for (int i = 0; i < 100; i++)
		op(x, "aten::add_", at + US + i * 15 * US, 10 * US);
}

/* A DataLoader that puts its batches together sample by sample, and a model whose backward pass has one large operator. */
static void small_of_the_loader(struct op_events *x, int64_t at, int k)
{
	(void)k;
	mark(x, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 2 * MS);
	for (int i = 0; i < 100; i++)
		op(x, "aten::select", at + US + i * 15 * US, 10 * US);
	calls(x, at + 3 * MS, 3, 10 * US, 15 * US);
	op(x, "autograd::engine::evaluate_function: ConvolutionBackward0", at + 8500 * US, MS);
}

/* The large operator of the backward pass is not the loop's. */
static void token_loop_beside_a_convolution(struct op_events *x, int64_t at, int k)
{
	token_loop(x, at, k);
	op(x, "autograd::engine::evaluate_function: ConvolutionBackward0", at + 6500 * US, 2 * MS);
}

static void a_loop_of_small_operators(void **state)
{
	/* 100 operators of 10 µs and 99 pauses of 5 µs, forward and backward */
	double loop = STEPS * 2 * (100 * 10e-6 + 99 * 5e-6);

	(void)state;
	speaks("overhead", token_loop,
		(struct expected){ 1.2 * loop, loop, "train.py:40",
			"each step calls 100 small operators in a loop", "nn.LSTM" });
	loop = STEPS * (40 * 60e-6 + 39 * 10e-6);
	speaks("overhead", cell_loop,
		(struct expected){ 1.2 * loop, loop, "train.py:40", "each step calls 40", "" });
	is_silent("overhead", cells_with_a_product);
	is_silent("overhead", few_small);
	is_silent("overhead", many_large);
	is_silent("overhead", small_of_the_optimizer);
	is_silent("overhead", small_of_the_loader);
	/* the 101 of the backward pass are taken to be as small as 100 of them are */
	loop = STEPS * (100 * 10e-6 + 99 * 5e-6 + 101 * 10e-6 + 100 * 5e-6);
	speaks("overhead", token_loop_beside_a_convolution,
		(struct expected){ 1.2 * loop, loop, "train.py:40", "each step calls 100", "" });
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void slices(struct op_events *x, int64_t at, int n, int64_t each)
{
	for (int i = 0; i < n; i++) {
		op(x, "aten::select", at + i * 20 * US, 5 * US);
		op(x, "autograd::engine::evaluate_function: SelectBackward0",
			at + 3 * MS + i * 100 * US, each);
	}
}

static void select_loop(struct op_events *x, int64_t at, int k)
{
	(void)k;
	slices(x, at, 10, 80 * US);
}

static void few_slices(struct op_events *x, int64_t at, int k)
{
	(void)k;
	slices(x, at, 7, 95 * US);
}

static void slices_of_data(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int i = 0; i < 20; i++)
		op(x, "aten::select", at + i * 100 * US, 80 * US);
}

static void slices_that_are_gone_back_through(void **state)
{
	double sum = STEPS * 10 * 80e-6;

	(void)state;
	speaks("select-backward", select_loop,
		(struct expected){
			1.25 * sum, sum, "train.py:40", "10 slices in each step", "unbind()" });
	is_silent("select-backward", few_slices);
	is_silent("select-backward", slices_of_data);
}

/* ---- optimizers ------------------------------------------------------------------------------ */

static void optimizes(struct op_events *x, int64_t at, const char *call, const char *name, int n)
{
	mark(x, call, at, 2 * MS);
	for (int i = 0; i < n; i++)
		op(x, name, at + US + i * 40 * US, 35 * US);
}

static void adam(struct op_events *x, int64_t at, int k)
{
	(void)k;
	optimizes(x, at, "Optimizer.step#Adam.step", "aten::addcdiv_", 40);
}

static void adam_fused(struct op_events *x, int64_t at, int k)
{
	(void)k;
	optimizes(x, at, "Optimizer.step#Adam.step", "aten::_fused_adam_", 40);
}

static void without_a_fused_form(struct op_events *x, int64_t at, int k)
{
	(void)k;
	optimizes(x, at, "Optimizer.step#RMSprop.step", "aten::addcdiv_", 40);
}

static void adam_of_few(struct op_events *x, int64_t at, int k)
{
	(void)k;
	optimizes(x, at, "Optimizer.step#Adam.step", "aten::addcdiv_", 29);
}

static void an_optimizer_parameter_by_parameter(void **state)
{
	(void)state;
	speaks("optimizer-loop", adam,
		(struct expected){ STEPS * 2e-3, 0.7 * STEPS * 2e-3, "train.py:40",
			"20 calls of Optimizer.step#Adam.step", "fused=True" });
	is_silent("optimizer-loop", adam_fused);
	is_silent("optimizer-loop", without_a_fused_form);
	is_silent("optimizer-loop", adam_of_few);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void arranges(struct op_events *x, int64_t at, int n, int64_t each, bool copies)
{
	for (int i = 0; i < n; i++) {
		op(x, "aten::contiguous", at + 2 * i * each, each);
		if (copies)
			op(x, "aten::clone", at + 2 * i * each + US, each - 2 * US);
	}
}

static void copied(struct op_events *x, int64_t at, int k)
{
	(void)k;
	arranges(x, at, 4, 500 * US, true);
}

static void in_order_already(struct op_events *x, int64_t at, int k)
{
	(void)k;
	arranges(x, at, 4, 500 * US, false);
}

static void copied_once(struct op_events *x, int64_t at, int k)
{
	(void)k;
	arranges(x, at, 1, 3 * MS, true);
}

static void cloned(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int i = 0; i < 4; i++)
		op(x, "aten::clone", at + i * MS, 500 * US);
}

static void copies_in_a_loop(void **state)
{
	double sum = STEPS * 4 * 500e-6;

	(void)state;
	speaks("copies", copied,
		(struct expected){ 1.4 * sum, 1.1 * 0.75 * sum, "train.py:40",
			"copied a tensor 80 times in 20 steps", "once" });
	is_silent("copies", in_order_already);
	is_silent("copies", copied_once);
	is_silent("copies", cloned);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void multiplies(
	struct op_events *x, const char *name, const char *shapes, int64_t at, int64_t length)
{
	uint32_t event = op(x, name, at, length);

	x->v.v[event].detail = 1 + intern_add(&x->shapes, shapes, strlen(shapes), NULL);
}

static void one_by_one(struct op_events *x, int64_t at, int k)
{
	(void)k;
	multiplies(x, "aten::addmm", "[[1024], [1, 512], [512, 1024], [], []]", at, 4 * MS);
	multiplies(x, "aten::mm", "[[1, 1024], [1024, 8]]", at + 4 * MS, 1 * MS);
	op(x, "aten::softmax", at + 6 * MS, 1 * MS);
}

static void eight_at_once(struct op_events *x, int64_t at, int k)
{
	(void)k;
	multiplies(x, "aten::addmm", "[[1024], [8, 512], [512, 1024], [], []]", at, 4 * MS);
}

static void trained_one_by_one(struct op_events *x, int64_t at, int k)
{
	one_by_one(x, at, k);
	op(x, "autograd::engine::evaluate_function: AddmmBackward0", at + 8 * MS, MS);
}

static void of_unknown_shape(struct op_events *x, int64_t at, int k)
{
	(void)k;
	multiplies(x, "aten::addmm", "[[], [[", at, 4 * MS);
	multiplies(x, "aten::mm", "", at + 4 * MS, 1 * MS);
	op(x, "aten::mm", at + 6 * MS, 2 * MS);
}

static void requests_one_by_one(void **state)
{
	(void)state;
	speaks("batching", one_by_one,
		(struct expected){ STEPS * 9e-3, 0.75 * STEPS * 9e-3, "train.py:40",
			"40 of 40 matrix products had one row", "stack 8 of them" });
	is_silent("batching", eight_at_once);
	is_silent("batching", trained_one_by_one);
	is_silent("batching", of_unknown_shape);
}

/* ---- float64 --------------------------------------------------------------------------------- */

static void typed(struct op_events *x, const char *type, int64_t at, int64_t length)
{
	char text[200];
	size_t n = (size_t)snprintf(
		text, sizeof text, "[[64, 64], [64, 64]]|[]|[\"%s\",\"%s\"]", type, type);
	uint32_t event = op(x, "aten::mm", at, length);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(text[i] == '|' ? '\0' : text[i]);
	x->v.v[event].detail = 1 + intern_add(&x->shapes, text, n, NULL);
}

static void in_float64(struct op_events *x, int64_t at, int k)
{
	(void)k;
	typed(x, "double", at, 3 * MS);
	typed(x, "float", at + 3 * MS, 1 * MS);
	op(x, "aten::gelu", at + 4 * MS, 4 * MS);
}

static void a_little_in_float64(struct op_events *x, int64_t at, int k)
{
	(void)k;
	typed(x, "double", at, 400 * US);
	typed(x, "float", at + MS, 4 * MS);
}

static void float64_counts_what_is_between_the_products(void **state)
{
	/* three quarters of the products, so of the 8 ms of operators in a step */
	double most = STEPS * 0.75 * 8e-3;

	(void)state;
	speaks("float64", in_float64,
		(struct expected){ most, 0.55 * most, "train.py:40",
			"20 matrix products ran in float64", "float32" });
	is_silent("float64", a_little_in_float64);
}

/* ---- autograd -------------------------------------------------------------------------------- */

static void noted(struct op_events *x, int64_t at, int n, uint32_t first, bool goes_back)
{
	for (int i = 0; i < n; i++) {
		uint32_t event = op(x, "aten::linear", at + i * 20 * US, 10 * US);

		vec_push(&x->sequences, (struct op_sequence){ event, first + (uint32_t)i });
	}
	for (int i = 0; goes_back && i < n; i++) {
		uint32_t event = op(x, "AddmmBackward0", at + MS + i * 20 * US, 10 * US);

		x->v.v[event].is_backward = 1;
		vec_push(&x->sequences, (struct op_sequence){ event, first + (uint32_t)i });
	}
}

static void evaluates(struct op_events *x, int64_t at, int k)
{
	noted(x, at, 4, 100u * (uint32_t)k, true);
	noted(x, at + 4 * MS, 6, 100u * (uint32_t)k + 4, false);
}

static void evaluates_without_notes(struct op_events *x, int64_t at, int k)
{
	noted(x, at, 4, 100u * (uint32_t)k, true);
}

static void a_metric_beside_it(struct op_events *x, int64_t at, int k)
{
	noted(x, at, 8, 100u * (uint32_t)k, true);
	noted(x, at + 4 * MS, 2, 100u * (uint32_t)k + 8, false);
}

static void an_evaluation_beside_the_training(void **state)
{
	(void)state;
	/* the last number of all is not known to keep anything */
	speaks("no-grad", evaluates,
		(struct expected){ NAN, NAN, "train.py:40", "119 of 199 operators recorded",
			"torch.inference_mode()" });
	is_silent("no-grad", evaluates_without_notes);
	is_silent("no-grad", a_metric_beside_it);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void holds(struct op_events *x, int64_t at, int64_t total)
{
	struct op_memory m = {
		.t_ns = at, .bytes = 1024, .total_bytes = (uint64_t)total, .device = -1
	};

	vec_push(&x->memory, m);
}

static void leaks(struct op_events *x, int64_t at, int k)
{
	op(x, "aten::mm", at, 5 * MS);
	holds(x, at + 1 * MS, (100 + 2 * k + 50) * MIB); /* the peak of a step is no leak */
	holds(x, at + 9 * MS, (100 + 2 * k) * MIB);
}

static void fills_and_stays(struct op_events *x, int64_t at, int k)
{
	op(x, "aten::mm", at, 5 * MS);
	holds(x, at + 9 * MS, (100 + 4 * (k < 10 ? k : 10)) * MIB);
}

static void swings(struct op_events *x, int64_t at, int k)
{
	op(x, "aten::mm", at, 5 * MS);
	holds(x, at + 9 * MS, (100 + 20 * (k % 4)) * MIB);
}

static void grows_a_little(struct op_events *x, int64_t at, int k)
{
	op(x, "aten::mm", at, 5 * MS);
	holds(x, at + 9 * MS, 100 * MIB + k * (MIB / 4));
}

static void memory_that_grows_with_every_step(void **state)
{
	/* steps 10 … 19: the least of their quarters are those of steps 10, 12, 15 and 17 */
	double each = (17 - 10) * 2.0 * (double)MIB / 3 * 8 / STEPS;

	(void)state;
	speaks("growth", leaks,
		(struct expected){
			1.5 * each * STEPS, each * STEPS, "", "memory grew by", "loss.item()" });
	is_silent("growth", fills_and_stays);
	is_silent("growth", swings);
	is_silent("growth", grows_a_little);
}

/* ---- the host -------------------------------------------------------------------------------- */

static void multiplies_only(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op(x, "aten::mm", at, 9 * MS);
}

static void crowded_long(struct op_events *x, int64_t at, int k)
{
	multiplies_only(x, at, k);
	x->v.v[0].duration_ns = 30 * STEP;
	if (k == STEPS - 1) /* so that the steps last long enough to count */
		mark(x, "ProfilerStep#20", at + STEP, 600 * MS);
}

static void threads_without_a_cpu(void **state)
{
	struct op_look looks[] = {
		{ .t_ns = STEP * 80, .seconds = 0.8, .cpu = 1.9, .queue = 3.1 }
	};
	struct op_host host = { .cpus = 2, .looks = looks, .n_looks = 1 };

	(void)state;
	beside = &host;
	speaks("threads", crowded_long,
		(struct expected){ NAN, NAN, "", "threads of the program wanted a CPU at a time",
			"torch.set_num_threads()" });
	looks[0].queue = 0.5; /* two threads that others keep from two CPUs now and then */
	is_silent("threads", crowded_long);
	host.cpus = 8;
	looks[0].queue = 3.1;
	is_silent("threads", crowded_long);
	host.cpus = 2;
	is_silent("threads", multiplies_only); /* too short to tell */
	beside = NULL;
	is_silent("threads", crowded_long);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int64_t second_rank_us; /* how long a collective takes it */

static void reduces(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op(x, "aten::mm", at, 3 * MS);
	mark(x, "gloo:all_reduce", at + 4 * MS, 3 * MS);
	op_rig_span(
		x, OP_ANNOTATION, "gloo:all_reduce", "8\0001", 3, at + 4 * MS, second_rank_us * US);
}

static void a_late_rank_comes_before_sending_less(void **state)
{
	double exposed = STEPS * 3e-3;

	(void)state;
	second_rank_us = 200;
	speaks("communication", reduces,
		(struct expected){ exposed, NAN, "", "for process 8, which came last",
			"find out why process 8 comes last" });
	second_rank_us = 2900; /* both are there at about the same time */
	speaks("communication", reduces,
		(struct expected){ exposed, NAN, "",
			"communication that did not overlap computation", "accumulate gradients" });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_of_small_operators),
		cmocka_unit_test(slices_that_are_gone_back_through),
		cmocka_unit_test(an_optimizer_parameter_by_parameter),
		cmocka_unit_test(copies_in_a_loop),
		cmocka_unit_test(requests_one_by_one),
		cmocka_unit_test(float64_counts_what_is_between_the_products),
		cmocka_unit_test(an_evaluation_beside_the_training),
		cmocka_unit_test(memory_that_grows_with_every_step),
		cmocka_unit_test(threads_without_a_cpu),
		cmocka_unit_test(a_late_rank_comes_before_sending_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
