/* SPDX-License-Identifier: MIT
 * The finding of every rule: each on a made-up training that has what it looks for, with all that a reader needs to judge it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "advise/advice.h"
#include "advise/finding.h"
#include "advise/pages.h"
#include "advise/torch/advice.h"
#include "advise/torch/rule.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"

enum { STEPS = 3 };

#define US   INT64_C(1000)
#define STEP (10000 * US)
#define GIB  (UINT64_C(1) << 30)

/* ---- a training ------------------------------------------------------------------------------ */

static uint32_t n_links; /* of the trace that is being made */

static uint32_t op(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	op_rig_operator(x, name, at, length, ++n_links);
	return n_links;
}

static void mark(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	op_rig_span(x, OP_ANNOTATION, name, OP_RIG_THREAD, at, length);
}

static uint32_t runtime(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	return op_rig_span(x, OP_RUNTIME, name, OP_RIG_THREAD, at, length);
}

static void python(struct op_events *x, const char *name, int64_t at, int64_t length)
{
	op_rig_span(x, OP_PYTHON, name, OP_RIG_THREAD, at, length);
	x->has_python = true;
}

/* An operator with what it launches. */
static void launched(struct op_events *x, const char *name, const char *kernel, int64_t at,
	int64_t begin, int64_t length)
{
	uint32_t link = op(x, name, at, 20 * US);

	op_rig_launch(x, at + US, 5 * US, link, 1000 + link);
	op_rig_kernel(x, kernel, begin, length, link, 1000 + link);
}

static void copied(struct op_events *x, const char *kind, int64_t at, int64_t length)
{
	uint32_t link = op(x, "aten::copy_", at, 1000 * US);
	uint32_t copy = op_rig_span(x, OP_COPY, kind, OP_RIG_STREAM, at + 50 * US, length);

	op_rig_device(x, copy, link, (struct op_device){ .blocks_per_sm = NAN, .occupancy = NAN });
}

static void product(struct op_events *x, const char *type, const char *shapes, int64_t at)
{
	char text[200];
	size_t n = (size_t)snprintf(text, sizeof text, "%s|[]|[\"%s\",\"%s\"]", shapes, type, type);
	uint32_t event = (uint32_t)x->v.n;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(text[i] == '|' ? '\0' : text[i]);
	launched(x, "aten::mm", "simt_sgemm", at + 8000 * US, at + 8100 * US, 600 * US);
	x->v.v[event].detail = 1 + intern_add(&x->shapes, text, n, NULL);
}

static void allocated(struct op_events *x, int64_t t_ns, uint64_t total, uint64_t reserved)
{
	struct op_memory m = { .t_ns = t_ns,
		.bytes = 1024,
		.total_bytes = total,
		.reserved_bytes = reserved,
		.device_type = 1 };

	vec_push(&x->memory, m);
}

/* ---- what each rule looks for, in a step that begins at `at` ---------------------------------- */

static void nothing(struct op_events *x, int64_t at, int k)
{
	(void)x, (void)at, (void)k;
}

static void dataloader(struct op_events *x, int64_t at, int k)
{
	(void)k;
	mark(x, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 8000 * US,
		1000 * US);
}

static void data_parallel(struct op_events *x, int64_t at, int k)
{
	(void)k;
	x->n_devices = 2;
	mark(x, "DataParallel.forward", at + 8000 * US, 1000 * US);
}

static void backend(struct op_events *x, int64_t at, int k)
{
	(void)k;
	memcpy(x->backend, "gloo", sizeof "gloo");
	mark(x, "DistributedDataParallel.forward", at + 8000 * US, 1000 * US);
}

static void communication(struct op_events *x, int64_t at, int k)
{
	(void)k;
	launched(x, "c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 200 * US,
		at + 8100 * US, 1200 * US);
}

static void idle_device(struct op_events *x, int64_t at, int k)
{
	(void)k;
	launched(x, "aten::relu", "relu", at + 8000 * US, at + 8100 * US, 1000 * US);
}

static void tensor_cores(struct op_events *x, int64_t at, int k)
{
	(void)k;
	launched(x, "aten::mm", "simt_sgemm", at + 100 * US, at + 1000 * US, 7000 * US);
}

static void float64(struct op_events *x, int64_t at, int k)
{
	(void)k;
	product(x, "double", "[[64, 128], [128, 64]]", at);
}

static void float32(struct op_events *x, int64_t at, int k)
{
	(void)k;
	product(x, "float", "[[64, 128], [128, 64]]", at);
}

static void odd_sizes(struct op_events *x, int64_t at, int k)
{
	(void)k;
	product(x, "c10::Half", "[[64, 127], [127, 64]]", at);
}

static void memory(struct op_events *x, int64_t at, int k)
{
	(void)k;
	allocated(x, at + 8000 * US, 76 * GIB, 78 * GIB);
}

static void pageable(struct op_events *x, int64_t at, int k)
{
	(void)k;
	copied(x, "Memcpy HtoD (Pageable -> Device)", at + 8000 * US, 600 * US);
}

static void sync_(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op(x, "aten::item", at + 8100 * US, 200 * US);
	op(x, "aten::_local_scalar_dense", at + 8110 * US, 180 * US);
	runtime(x, "cudaStreamSynchronize", at + 8150 * US, 100 * US);
	launched(x, "aten::relu", "relu", at + 8300 * US, at + 8850 * US, 50 * US);
}

static void blocking_copy(struct op_events *x, int64_t at, int k)
{
	(void)k;
	copied(x, "Memcpy HtoD (Pinned -> Device)", at + 8000 * US, 50 * US);
	runtime(x, "cudaStreamSynchronize", at + 8100 * US, 600 * US);
}

static void made_on_cpu(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op(x, "aten::zeros", at + 7900 * US, 60 * US);
	op(x, "aten::to", at + 7990 * US, 1020 * US);
	copied(x, "Memcpy HtoD (Pageable -> Device)", at + 8000 * US, 5 * US);
}

static void allocator(struct op_events *x, int64_t at, int k)
{
	if (k)
		runtime(x, "cudaMalloc", at + 8100 * US, 400 * US);
}

static void lazy_loading(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op_rig_span(
		x, OP_OVERHEAD, "Lazy Function Loading", "-1\0000", 4, at + 8100 * US, 250 * US);
}

static void launch_bound(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int64_t i = 0; i < 100; i++)
		launched(x, "aten::relu", "tiny", at + 100 * i * US, at + (100 * i + 8) * US,
			3 * US);
}

static void small_kernels(struct op_events *x, int64_t at, int k)
{
	(void)k;
	launched(x, "aten::sum", "few_blocks", at + 200 * US, at + 7200 * US, 2600 * US);
	x->device.v[x->device.n - 1].blocks_per_sm = 0.1F;
	x->device.v[x->device.n - 1].occupancy = 2;
}

static void pointwise(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int64_t i = 0; i < 3; i++)
		launched(x, "aten::mul", "void at::native::vectorized_elementwise_kernel<4>",
			at + (300 + 30 * i) * US, at + (8100 + 301 * i) * US, 300 * US);
}

static void layout(struct op_events *x, int64_t at, int k)
{
	(void)k;
	launched(x, "aten::cudnn_convolution", "void cudnn::ops::nchwToNhwcKernel<float>",
		at + 200 * US, at + 8100 * US, 250 * US);
}

static void fragmentation(struct op_events *x, int64_t at, int k)
{
	(void)k;
	allocated(x, at + 8000 * US, 40 * GIB, 70 * GIB);
}

static void zero_grad(struct op_events *x, int64_t at, int k)
{
	(void)k;
	mark(x, "Optimizer.zero_grad#SGD.zero_grad", at + 8100 * US, 150 * US);
	op(x, "aten::zero_", at + 8105 * US, 10 * US);
}

static void optimizer_loop(struct op_events *x, int64_t at, int k)
{
	(void)k;
	mark(x, "Optimizer.step#Adam.step", at + 8100 * US, 600 * US);
	for (int64_t i = 0; i < 30; i++)
		op(x, "aten::addcdiv_", at + (8110 + 15 * i) * US, 10 * US);
}

static void conv_bias(struct op_events *x, int64_t at, int k)
{
	(void)k;
	op(x, "aten::conv2d", at + 200 * US, 100 * US);
	launched(x, "aten::add_", "bias", at + 250 * US, at + 8100 * US, 60 * US);
	op(x, "aten::batch_norm", at + 330 * US, 50 * US);
}

static void no_grad(struct op_events *x, int64_t at, int k)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct op_sequence s = { (uint32_t)x->v.n, 10 * (uint32_t)k + i };

		op(x, "aten::linear", at + (200 + 50 * i) * US, 20 * US);
		vec_push(&x->sequences, s);
	}
}

static void no_sync(struct op_events *x, int64_t at, int k)
{
	(void)k;
	for (int64_t i = 0; i < 2; i++) {
		mark(x, "DistributedDataParallel.forward", at + (200 + 50 * i) * US, 20 * US);
		launched(x, "c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
			at + (400 + 50 * i) * US, at + (8100 + 301 * i) * US, 300 * US);
	}
	mark(x, "Optimizer.step#SGD.step", at + 9700 * US, 20 * US);
}

#define TOLD                                                                                     \
	"{\"compilations\": [{\"id\": \"0/1\", \"function\": \"f\", \"file\": \"/x/model.py\", " \
	"\"line\": 12}], \"breaks\": [{\"reason\": \"print\", \"function\": \"f\", \"file\": "   \
	"\"/x/model.py\", \"line\": 15, \"times\": 2}, {\"reason\": \"item\", \"function\": "    \
	"\"g\", \"file\": \"/x/model.py\", \"line\": 30, \"times\": 1}]}"

static void recompiles(struct op_events *x, int64_t at, int k)
{
	if (k != 1)
		return;
	buf_adds(&x->compiled, TOLD);
	op(x, "dynamo", at + 8000 * US, 1800 * US);
	mark(x, "dynamo_data: compile_id=0/1", at + 8001 * US, 5 * US);
}

static void compiles_another(struct op_events *x, int64_t at, int k)
{
	recompiles(x, at, k);
	if (k != 2)
		return;
	op(x, "dynamo", at + 8000 * US, 100 * US);
	mark(x, "dynamo_data: compile_id=1/0", at + 8001 * US, 5 * US);
}

static void graph_breaks(struct op_events *x, int64_t at, int k)
{
	if (!k)
		buf_adds(&x->compiled, TOLD);
	op(x, "Torch-Compiled Region: 0/0", at + 200 * US, 100 * US);
	op(x, "Torch-Compiled Region: 1/0", at + 250 * US, 40 * US);
}

/* ---- building it ----------------------------------------------------------------------------- */

typedef void step_fn(struct op_events *x, int64_t at, int k);

/* Steps of 10 ms; a kernel on tensor cores fills 7 of them, unless it is not wanted. The profiler starts in a function's call, then a
 * function of the program's asks for all of a step. */
static void train(struct op_events *x, step_fn *extra, bool is_busy, int n_steps)
{
	*x = (struct op_events){ .has_device = true,
		.device_bytes = 80 * GIB,
		.device_capability = 9,
		.n_devices = 1,
		.has_zero = true };
	n_links = 0;
	python(x, "train.py(70): <module>", 0, (n_steps + 1) * STEP);
	python(x, "torch/profiler/profiler.py(8): start", 10 * US, 20 * US);
	for (int k = 0; k < n_steps; k++) {
		int64_t at = 1000 * US + STEP * k;
		char name[40];

		snprintf(name, sizeof name, "ProfilerStep#%d", k);
		mark(x, name, at, STEP);
		python(x, "train.py(40): step", at + US, STEP - 2 * US);
		if (is_busy)
			launched(x, "aten::mm", "sm90_xmma_gemm_bf16", at + 50 * US, at + 110 * US,
				7000 * US);
		extra(x, at, k);
	}
}

static const struct advice *advise(struct arena *a, struct op_events *x)
{
	struct ops_options options = { 0 };
	const struct ops *ops = ops_count(a, x, &options);

	return op_advice_build(a, x, op_steps_build(a, x), op_kernels_build(a, x), ops, NULL);
}

static const struct finding *find(const struct advice *advice, const char *rule)
{
	for (size_t i = 0; i < advice->n; i++)
		if (strcmp(advice->v[i].rule, rule) == 0)
			return &advice->v[i];
	return NULL;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const struct {
	const char *rule;
	step_fn *step;
	bool is_alone; /* without the kernel that fills most of a step */
	enum finding_confidence confidence;
	double saving_us; /* -1: none can be told; of fragmentation GiB */
	const char *place;
} cases[] = {
	{ "dataloader", dataloader, false, FINDING_BOUND, 3000, "train.py:40" },
	{ "data-parallel", data_parallel, false, FINDING_HEURISTIC, -1, "train.py:40" },
	{ "backend", backend, false, FINDING_HEURISTIC, -1, "" },
	{ "communication", communication, false, FINDING_BOUND, 3600, "" },
	{ "idle-device", idle_device, true, FINDING_BOUND, 27000, "" },
	{ "tensor-cores", tensor_cores, true, FINDING_HEURISTIC, 21000, "train.py:40" },
	{ "float64", float64, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "float32", float32, false, FINDING_HEURISTIC, 1800, "train.py:40" },
	{ "odd-sizes", odd_sizes, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "device-memory", memory, false, FINDING_HEURISTIC, -1, "" },
	{ "pageable", pageable, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "sync", sync_, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "blocking-copy", blocking_copy, false, FINDING_MEASURED, 1800, "train.py:40" },
	{ "made-on-cpu", made_on_cpu, false, FINDING_BOUND, 3240, "train.py:40" },
	{ "allocator", allocator, false, FINDING_MEASURED, 800, "train.py:40" },
	{ "lazy-loading", lazy_loading, false, FINDING_MEASURED, 750, "" },
	{ "launch-bound", launch_bound, true, FINDING_BOUND, 299 * 97, "" },
	{ "small-kernels", small_kernels, false, FINDING_HEURISTIC, 7020, "train.py:40" },
	{ "pointwise", pointwise, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "layout", layout, false, FINDING_MEASURED, 750, "train.py:40" },
	{ "fragmentation", fragmentation, false, FINDING_BOUND, 30, "" },
	{ "zero-grad", zero_grad, false, FINDING_BOUND, 450, "train.py:40" },
	{ "optimizer-loop", optimizer_loop, false, FINDING_BOUND, 1800, "train.py:40" },
	{ "conv-bias", conv_bias, false, FINDING_MEASURED, 180, "train.py:40" },
	{ "no-grad", no_grad, false, FINDING_HEURISTIC, -1, "train.py:40" },
	{ "no-sync", no_sync, false, FINDING_HEURISTIC, 900, "" },
	{ "recompiles", recompiles, false, FINDING_MEASURED, 1800, "/x/model.py:12" },
	{ "recompiles", compiles_another, false, FINDING_BOUND, 1900, "/x/model.py:12" },
	{ "graph-breaks", graph_breaks, false, FINDING_HEURISTIC, -1, "/x/model.py:15" },
};

enum { CASES = sizeof cases / sizeof *cases };

static void assert_place(const struct finding *f, const char *place)
{
	char text[100] = "";

	if (f->file && f->line)
		snprintf(text, sizeof text, "%s:%u", f->file, f->line);
	else if (f->file)
		snprintf(text, sizeof text, "%s", f->file);
	assert_string_equal(text, place);
}

/* What a reader sees of every finding. */
static void assert_filled(const struct finding *f)
{
	const char *page = advice_page_find(f->rule);

	assert_non_null(page);
	assert_non_null(f->title);
	assert_int_equal(strncmp(page + 2, f->title, strlen(f->title)), 0);
	assert_true(strlen(f->title) > 3 && strlen(f->title) < 60);
	assert_true(f->evidence && *f->evidence && f->change && *f->change);
	assert_true(f->evidence[strlen(f->evidence) - 1] != '.');
	assert_true(f->change[strlen(f->change) - 1] != '.');
	assert_non_null(f->saving.of);
	assert_true(f->confidence < FINDING_N_CONFIDENCES);
	assert_true(f->file || !f->line);
	assert_int_equal(strncmp(f->proof.shows, "leadline ", 9), 0);
	assert_non_null(strstr(f->proof.shows, " FILE"));
	assert_int_equal(strncmp(f->proof.proves, "leadline ", 9), 0);
	assert_non_null(strstr(f->proof.proves, " AFTER"));
}

/* A rule that tells no saving says why. */
static void assert_saving_unknown(const struct finding *f)
{
	assert_false(units_is_known(f->saving.value));
	assert_non_null(f->saving.unknown);
	assert_int_equal(strncmp(f->saving.unknown, "not", 3), 0);
	assert_true(f->saving.unknown[strlen(f->saving.unknown) - 1] != '.');
}

static void every_rule_fills_its_finding(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		struct op_events x;
		struct arena a = ARENA_INIT;
		const struct advice *advice;
		const struct finding *f;

		train(&x, cases[i].step, !cases[i].is_alone, STEPS);
		advice = advise(&a, &x);
		f = find(advice, cases[i].rule);
		if (!f)
			print_error("%s says nothing\n", cases[i].rule);
		assert_non_null(f);
		print_message("%s\n", f->rule);
		assert_filled(f);
		assert_place(f, cases[i].place);
		assert_int_equal(f->confidence, cases[i].confidence);
		if (f->saving.unit == UNIT_BYTES)
			assert_float_equal(f->saving.value / (double)GIB, cases[i].saving_us, 1e-9);
		else if (cases[i].saving_us < 0)
			assert_saving_unknown(f);
		else
			assert_float_equal(f->saving.value * 1e6, cases[i].saving_us,
				0.01 * cases[i].saving_us);
		arena_done(&a);
		op_events_done(&x);
	}
}

static void every_rule_has_its_page_and_every_page_its_rule(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct op_rule *rule; (rule = op_rule_at(n)); n++) {
		assert_non_null(advice_page_find(rule->name));
		for (size_t i = 0; i < n; i++)
			assert_string_not_equal(op_rule_at(i)->name, rule->name);
	}
	assert_int_equal(n, n_advice_pages);
}

static void a_training_with_nothing_to_say_about_it_has_no_findings(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;

	(void)state;
	train(&x, nothing, true, STEPS);
	assert_int_equal(advise(&a, &x)->n, 0);
	arena_done(&a);
	op_events_done(&x);
}

/* Each with data that carries less than the rule's own level. */
static void little_data_makes_it_a_heuristic(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;
	const struct finding *f;

	(void)state;
	train(&x, layout, true, OP_ADVICE_STEPS - 1);
	f = find(advise(&a, &x), "layout");
	assert_non_null(f);
	assert_int_equal(f->confidence, FINDING_HEURISTIC);
	op_events_done(&x);

	train(&x, layout, true, STEPS);
	x.n_lost = 1;
	f = find(advise(&a, &x), "layout");
	assert_non_null(f);
	assert_int_equal(f->confidence, FINDING_HEURISTIC);
	op_events_done(&x);
	arena_done(&a);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int64_t there_us; /* how long zero_grad takes in a function of its own */

static void two_places(struct op_events *x, int64_t at, int k)
{
	(void)k;
	zero_grad(x, at, k); /* 150 µs in step */
	python(x, "lib/opt (old).py(7): clear", at + 8900 * US, there_us + 100 * US);
	mark(x, "Optimizer.zero_grad#SGD.zero_grad", at + 8950 * US, there_us);
	op(x, "aten::zero_", at + 8955 * US, 10 * US);
}

static void a_place_has_at_least_half_of_the_time(void **state)
{
	static const struct {
		int64_t there_us;
		const char *place;
	} expected[] = { { 100, "train.py:40" }, { 200, "lib/opt (old).py:7" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct op_events x;
		struct arena a = ARENA_INIT;

		there_us = expected[i].there_us * US;
		train(&x, two_places, true, STEPS);
		assert_place(find(advise(&a, &x), "zero-grad"), expected[i].place);
		arena_done(&a);
		op_events_done(&x);
	}
}

static void three_places(struct op_events *x, int64_t at, int k)
{
	there_us = 140 * US;
	two_places(x, at, k);
	mark(x, "Optimizer.zero_grad#SGD.zero_grad", at + 9700 * US, 140 * US);
	op(x, "aten::zero_", at + 9705 * US, 10 * US);
	python(x, "lib/more.py(9): clear", at + 9650 * US, 300 * US);
}

static void without_a_place_that_has_half_there_is_none(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;

	(void)state;
	train(&x, three_places, true, STEPS);
	assert_place(find(advise(&a, &x), "zero-grad"), "");
	arena_done(&a);
	op_events_done(&x);
}

/* Without Python functions nothing tells it; of a function that was running when profiling began only the file is known. */
static void a_line_that_nothing_tells_is_not_told(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;

	(void)state;
	train(&x, zero_grad, true, STEPS);
	for (size_t i = 0; i < x.v.n; i++)
		if (x.v.v[i].category == OP_PYTHON)
			x.v.v[i].category = OP_OVERHEAD;
	x.has_python = false;
	assert_place(find(advise(&a, &x), "zero-grad"), "");
	op_events_done(&x);

	train(&x, zero_grad, true, STEPS);
	for (size_t i = 0; i < x.v.n; i++)
		if (x.v.v[i].category == OP_PYTHON && x.v.v[i].duration_ns < STEP)
			x.v.v[i].category = OP_OVERHEAD;
	assert_place(find(advise(&a, &x), "zero-grad"), "train.py");
	op_events_done(&x);
	arena_done(&a);
}

static void a_recording_tells_the_line_of_each_operator(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;

	(void)state;
	train(&x, tensor_cores, false, STEPS);
	for (size_t i = 0; i < x.v.n; i++)
		vec_push(&x.sources,
			x.v.v[i].category == OP_CPU
				? intern_adds(&x.names, "train.py(43): step") + 1
				: 0);
	assert_place(find(advise(&a, &x), "tensor-cores"), "train.py:43");
	arena_done(&a);
	op_events_done(&x);
}

/* Each step's product is another line's: none has half, and the evidence names none. */
static void evidence_names_no_place_that_has_less_than_half(void **state)
{
	struct op_events x;
	struct arena a = ARENA_INIT;
	const struct finding *f;
	uint32_t n = 0;

	(void)state;
	train(&x, float64, true, STEPS);
	assert_non_null(strstr(
		find(advise(&a, &x), "float64")->evidence, ", most of it from train.py(40): step"));
	for (size_t i = 0; i < x.v.n; i++) {
		char name[40];

		snprintf(name, sizeof name, "train.py(%u): step", n);
		n += x.v.v[i].category == OP_CPU && x.v.v[i].detail;
		vec_push(&x.sources, intern_adds(&x.names, name) + 1);
	}
	assert_int_equal(n, STEPS);
	f = find(advise(&a, &x), "float64");
	assert_place(f, "");
	assert_null(strstr(f->evidence, "most of it"));
	arena_done(&a);
	op_events_done(&x);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void the_largest_saving_of_time_comes_first(void **state)
{
	struct finding v[] = {
		{ .rule = "no saving", .saving = { .value = NAN } },
		{ .rule = "bytes", .saving = { .value = 1e9, .unit = UNIT_BYTES } },
		{ .rule = "short", .saving = { .value = 1, .unit = UNIT_SECONDS } },
		{ .rule = "no saving either", .saving = { .value = NAN } },
		{ .rule = "long", .saving = { .value = 2, .unit = UNIT_SECONDS } },
		{ .rule = "as short", .saving = { .value = 1, .unit = UNIT_SECONDS } },
	};
	static const char *const order[] = { "long", "short", "as short", "bytes", "no saving",
		"no saving either" };

	(void)state;
	findings_sort(v, sizeof v / sizeof *v);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		assert_string_equal(v[i].rule, order[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_fills_its_finding),
		cmocka_unit_test(every_rule_has_its_page_and_every_page_its_rule),
		cmocka_unit_test(a_training_with_nothing_to_say_about_it_has_no_findings),
		cmocka_unit_test(little_data_makes_it_a_heuristic),
		cmocka_unit_test(a_place_has_at_least_half_of_the_time),
		cmocka_unit_test(without_a_place_that_has_half_there_is_none),
		cmocka_unit_test(a_line_that_nothing_tells_is_not_told),
		cmocka_unit_test(a_recording_tells_the_line_of_each_operator),
		cmocka_unit_test(evidence_names_no_place_that_has_less_than_half),
		cmocka_unit_test(the_largest_saving_of_time_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
