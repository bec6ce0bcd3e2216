/* SPDX-License-Identifier: MIT
 * See op_advice.h. The first seven rules and their thresholds are those people know from TensorBoard's profiler. */
#include "analyze/op_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/op_facts.h"
#include "analyze/op_kernels.h"
#include "analyze/op_pages.h"
#include "analyze/op_steps.h"
#include "analyze/ops.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/banned.h"

#define FROM_PAGEABLE "HtoD (Pageable" /* in the name of a copy to the device */

enum saves { /* which time: together no more of it than there is */
	SAVES_HOST,
	SAVES_IDLE, /* in which the device has nothing to do */
	SAVES_BUSY, /* of what it does */
	N_SAVES,
};

struct rule {
	const char *name;
	double threshold; /* a share; of no-grad a number */
	enum saves saves;
	enum finding_confidence confidence; /* the most that its figures carry */
	/* Whether it speaks; then the evidence, the saving and, where it is not always the same, the change. */
	bool (*check)(const struct op_facts *f, double threshold, struct finding *to);
	const char *change;
	struct finding_proof proof;
};

/* ---- rules ----------------------------------------------------------------------------------- */

static bool dataloader(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct ops_row *row = op_find_row(f, "enumerate(DataLoader)#");
	double waited = f->steps->parts_s[OP_PART_DATALOADER];

	if (!row || !op_is_over(f, waited, threshold))
		return false;
	to->saving.value = waited;
	to->evidence = arena_printf(f->a,
		"the program waited for its DataLoader for %s, in %" PRIu64 " calls of %s",
		op_of_steps(f, waited), row->n_calls, row->name);
	op_add_lines_of(f, "enumerate(DataLoader)#");
	if (strstr(row->name, "_SingleProcess"))
		to->change = "it loads in the training process: give DataLoader num_workers (and "
			     "persistent_workers=True)";
	return true;
}

static bool data_parallel(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct ops_row *row = op_find_row(f, "DataParallel.forward");

	(void)threshold;
	if (!row || f->x->n_devices < 2)
		return false;
	to->evidence = arena_printf(f->a,
		"DataParallel.forward ran %" PRIu64 " times with %u devices in one process",
		row->n_calls, f->x->n_devices);
	op_add_lines_of(f, "DataParallel.forward");
	return true;
}

static bool backend(const struct op_facts *f, double threshold, struct finding *to)
{
	(void)threshold;
	if (!*f->x->backend || strcmp(f->x->backend, "nccl") == 0 || f->x->device_capability < 4 ||
		!op_find_row(f, "DistributedDataParallel.forward"))
		return false;
	to->evidence = arena_printf(f->a,
		"the ranks of a DistributedDataParallel model talk through %s", f->x->backend);
	return true;
}

static bool communication(const struct op_facts *f, double threshold, struct finding *to)
{
	double exposed = f->steps->parts_s[OP_PART_COMMUNICATION];

	if (!op_is_over(f, exposed, threshold))
		return false;
	to->saving.value = exposed;
	to->evidence = arena_printf(
		f->a, "communication that no computation covers took %s", op_of_steps(f, exposed));
	return true;
}

static bool idle_device(const struct op_facts *f, double threshold, struct finding *to)
{
	double idle = f->steps->seconds - f->steps->busy_s;

	if (!f->kernels->n || f->steps->busy_s >= threshold * f->steps->seconds)
		return false;
	to->saving.value = idle;
	to->evidence =
		arena_printf(f->a, "the device had nothing to do for %s", op_of_steps(f, idle));
	return true;
}

static bool is_product(const char *name)
{
	static const char *const names[] = { "aten::mm", "aten::addmm", "aten::bmm",
		"aten::baddbmm", "aten::cudnn_convolution", "aten::convolution_backward",
		"aten::_convolution" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool tensor_cores(const struct op_facts *f, double threshold, struct finding *to)
{
	double eligible = 0;
	char time[UNITS_TEXT];

	(void)threshold;
	if (f->x->device_capability < 7 || f->steps->tensor_core_s > 0 || !f->kernels->n)
		return false;
	for (size_t i = 0; i < f->ops->n; i++)
		if (is_product(f->ops->v[i].name))
			eligible += f->ops->v[i].self_device_us / 1e6;
	if (!(eligible > 0))
		return false;
	for (size_t i = 0; i < f->x->v.n; i++)
		if (f->device_ns[i] && is_product(op_events_name(f->x, f->x->v.v[i].name)))
			op_add_line(f, (uint32_t)i, f->device_ns[i]);
	to->saving.value = eligible;
	to->evidence = arena_printf(f->a,
		"matrix products and convolutions ran for %s on the device, and none on its tensor "
		"cores",
		units_format(time, UNIT_SECONDS, eligible));
	return true;
}

static bool memory(const struct op_facts *f, double threshold, struct finding *to)
{
	char peak[UNITS_TEXT], all[UNITS_TEXT];

	if (!(f->steps->peak_share > threshold))
		return false;
	to->evidence = arena_printf(f->a, "%s of the device's %s were allocated at the peak",
		units_format(peak, UNIT_BYTES, (double)f->steps->peak_bytes),
		units_format(all, UNIT_BYTES, (double)f->x->device_bytes));
	return true;
}

static bool pageable(const struct op_facts *f, double threshold, struct finding *to)
{
	double seconds = 0;
	uint64_t n = 0, bytes = 0;
	char size[UNITS_TEXT];

	for (size_t i = 0; i < f->kernels->n; i++)
		if (strstr(f->kernels->v[i].name, FROM_PAGEABLE)) {
			seconds += f->kernels->v[i].seconds;
			n += f->kernels->v[i].n_times;
			bytes += f->kernels->v[i].bytes;
		}
	if (!op_is_over(f, seconds, threshold))
		return false;
	for (size_t i = 0; i < f->x->v.n; i++)
		if (f->x->v.v[i].category == OP_COPY &&
			strstr(op_events_name(f->x, f->x->v.v[i].name), FROM_PAGEABLE))
			op_add_line(f, (uint32_t)i, f->x->v.v[i].duration_ns);
	to->saving.value = seconds;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " copies of %s in all came from memory that is not pinned, and took %s",
		n, units_format(size, UNIT_BYTES, (double)bytes), op_of_steps(f, seconds));
	return true;
}

/* What shows a finding, and proves a change. */
#define DIFF "leadline diff FILE AFTER --ops"
#define BY_STEPS                                               \
	{                                                      \
		"leadline report FILE --steps --limit 0", DIFF \
	}
#define BY_OPS                                               \
	{                                                    \
		"leadline report FILE --ops --limit 0", DIFF \
	}
#define BY_SHAPES                                                             \
	{                                                                     \
		"leadline report FILE --ops --group-by-shape --limit 0", DIFF \
	}
#define BY_KERNELS                                               \
	{                                                        \
		"leadline report FILE --kernels --limit 0", DIFF \
	}
#define BY_STREAMS                                     \
	{                                              \
		"leadline report FILE --streams", DIFF \
	}
#define BY_MEMORY                                                                 \
	{                                                                         \
		"leadline report FILE --memory", "leadline report AFTER --memory" \
	}
#define BY_COMPILE                                                                  \
	{                                                                           \
		"leadline report FILE --compile", "leadline report AFTER --compile" \
	}

static const struct rule rules[] = {
	{ "dataloader", 0.05, SAVES_HOST, FINDING_BOUND, dataloader,
		"give DataLoader more num_workers, or make loading a sample cheaper", BY_STEPS },
	{ "data-parallel", 0, SAVES_HOST, FINDING_HEURISTIC, data_parallel,
		"use DistributedDataParallel with a process for each device", BY_OPS },
	{ "backend", 0, SAVES_HOST, FINDING_HEURISTIC, backend, "use init_process_group(\"nccl\")",
		BY_OPS },
	{ "communication", 0.10, SAVES_BUSY, FINDING_BOUND, communication,
		"accumulate gradients over several batches (no_sync), compress them, or give each "
		"device more to compute",
		BY_STEPS },
	{ "idle-device", 0.50, SAVES_IDLE, FINDING_BOUND, idle_device,
		"use larger batches; where the host cannot launch fast enough, torch.compile or "
		"CUDA "
		"graphs",
		BY_STREAMS },
	{ "tensor-cores", 0, SAVES_BUSY, FINDING_HEURISTIC, tensor_cores,
		"use torch.autocast, or torch.set_float32_matmul_precision(\"high\")", BY_KERNELS },
	{ "float64", 0.05, SAVES_HOST, FINDING_BOUND, op_rule_float64,
		"make tensors float32 (dtype=torch.float32, .float()); NumPy's arrays are float64 "
		"unless told otherwise",
		BY_SHAPES },
	{ "float32", 0.05, SAVES_BUSY, FINDING_HEURISTIC, op_rule_float32,
		"put it under torch.autocast, too, or use "
		"torch.set_float32_matmul_precision(\"high\")",
		BY_SHAPES },
	{ "odd-sizes", 0.05, SAVES_BUSY, FINDING_BOUND, op_rule_odd_sizes,
		"make batch, layers and vocabulary multiples of 8 (of 64 where you can)",
		BY_SHAPES },
	{ "memory", 0.90, SAVES_HOST, FINDING_HEURISTIC, memory,
		"use torch.autocast or torch.utils.checkpoint before memory runs out", BY_MEMORY },
	{ "pageable", 0.05, SAVES_BUSY, FINDING_BOUND, pageable,
		"give DataLoader pin_memory=True and copy with .to(device, non_blocking=True)",
		BY_KERNELS },
	{ "sync", 0.05, SAVES_IDLE, FINDING_BOUND, op_rule_sync,
		"ask for values of the device less often: keep sums as tensors, log every n-th "
		"step, and avoid "
		".item(), .cpu() and conditions on tensors in the loop",
		BY_OPS },
	{ "blocking-copy", 0.05, SAVES_HOST, FINDING_MEASURED, op_rule_blocking_copy,
		"copy with .to(device, non_blocking=True)", BY_OPS },
	{ "made-on-cpu", 0.01, SAVES_HOST, FINDING_BOUND, op_rule_made_on_cpu,
		"make tensors where they are needed: torch.zeros(..., device=device)", BY_OPS },
	{ "allocator", 0.02, SAVES_HOST, FINDING_MEASURED, op_rule_allocator,
		"keep shapes the same from step to step, leave out torch.cuda.empty_cache(), or "
		"set "
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		BY_OPS },
	{ "lazy-loading", 0.02, SAVES_HOST, FINDING_MEASURED, op_rule_lazy_loading,
		"profile after some steps of warm-up, or load kernels at the start with "
		"CUDA_MODULE_LOADING=EAGER",
		BY_OPS },
	{ "launch-bound", 0.50, SAVES_IDLE, FINDING_BOUND, op_rule_launch_bound,
		"let torch.compile(mode=\"reduce-overhead\") or CUDA graphs launch it all at once, "
		"or use larger "
		"batches",
		BY_STREAMS },
	{ "small-kernels", 0.20, SAVES_BUSY, FINDING_HEURISTIC, op_rule_small_kernels,
		"use larger batches, or put what is independent into one call", BY_KERNELS },
	{ "pointwise", 0.05, SAVES_BUSY, FINDING_BOUND, op_rule_pointwise,
		"let torch.compile make one kernel of them, or use a fused operator", BY_KERNELS },
	{ "layout", 0.02, SAVES_BUSY, FINDING_MEASURED, op_rule_layout,
		"keep model and inputs in NHWC: .to(memory_format=torch.channels_last)",
		BY_KERNELS },
	{ "fragmentation", 0.80, SAVES_HOST, FINDING_BOUND, op_rule_fragmentation,
		"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or keep shapes the same "
		"from step to step",
		BY_MEMORY },
	{ "zero-grad", 0.01, SAVES_HOST, FINDING_BOUND, op_rule_zero_grad,
		"use zero_grad(set_to_none=True), which is the default", BY_OPS },
	{ "optimizer-loop", 0.05, SAVES_HOST, FINDING_BOUND, op_rule_optimizer_loop,
		"make the optimizer with fused=True or foreach=True", BY_OPS },
	{ "conv-bias", 0.005, SAVES_BUSY, FINDING_MEASURED, op_rule_conv_bias,
		"make the convolution with bias=False", BY_SHAPES },
	{ "no-grad", 3, SAVES_HOST, FINDING_HEURISTIC, op_rule_no_grad,
		"put torch.inference_mode() or torch.no_grad() around it", BY_OPS },
	{ "no-sync", 0.02, SAVES_BUSY, FINDING_HEURISTIC, op_rule_no_sync,
		"put model.no_sync() around all batches but the last before a step of the "
		"optimizer",
		BY_OPS },
	{ "recompiles", 0.05, SAVES_HOST, FINDING_MEASURED, op_rule_recompiles,
		"keep shapes, types and flags the same, or tell which dimensions vary "
		"(torch._dynamo.mark_dynamic, dynamic=True); TORCH_LOGS=recompiles says why",
		BY_COMPILE },
	{ "graph-breaks", 0, SAVES_HOST, FINDING_HEURISTIC, op_rule_graph_breaks,
		"take out what breaks the graph (.item(), print, unknown calls); "
		"TORCH_LOGS=graph_breaks says what "
		"and why",
		BY_COMPILE },
};

/* Times of one kind are within each other, those of two kinds may be beside each other. */
static double together(const struct op_steps *steps, const double sums[N_SAVES])
{
	double host = fmin(sums[SAVES_HOST], steps->seconds);
	double idle = fmin(sums[SAVES_IDLE], fmax(steps->seconds - steps->busy_s, 0));
	double all = host + idle + fmin(sums[SAVES_BUSY], steps->busy_s);

	return all > 0 ? fmin(all, steps->seconds) : NAN;
}

/* The heading of the rule's page. */
static const char *title_of(struct arena *a, const char *rule)
{
	const char *page = op_page_find(rule);

	if (!page || strncmp(page, "# ", 2) != 0)
		return rule;
	return arena_strndup(a, page + 2, strcspn(page + 2, "\n"));
}

/* As the table has it, before the rule looks. */
static struct finding finding_of(const struct op_facts *f, const struct rule *rule)
{
	return (struct finding){
		.rule = rule->name,
		.change = rule->change,
		.saving = { .value = NAN,
			.unit = UNIT_SECONDS,
			.of = "the steps",
			.whole = f->steps->seconds > 0 ? f->steps->seconds : NAN },
		.confidence = rule->confidence,
		.proof = rule->proof,
	};
}

static bool look(struct op_facts *f, const struct rule *rule, struct finding *to)
{
	map_clear(&f->lines->by_name);
	*f->lines = (struct op_lines){ .by_name = f->lines->by_name };
	*to = finding_of(f, rule);
	if (!rule->check(f, rule->threshold, to))
		return false;
	to->title = title_of(f->a, rule->name);
	op_lines_tell(f, to);
	if (f->steps->n < OP_ADVICE_STEPS || *op_events_missing(f->x))
		to->confidence = FINDING_HEURISTIC;
	return true;
}

const struct op_advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops)
{
	struct op_facts f = { .a = a, .x = x, .steps = steps, .kernels = kernels, .ops = ops };
	size_t most = sizeof rules / sizeof *rules;
	struct finding *v = arena_new_n(a, struct finding, most);
	struct op_advice *to = arena_new(a, struct op_advice);
	double sums[N_SAVES] = { 0 };

	op_facts_init(&f);
	for (size_t i = 0; i < most; i++) {
		const struct finding_saving *saving = &v[to->n].saving;

		if (!look(&f, &rules[i], &v[to->n]))
			continue;
		if (units_is_known(saving->value) && saving->unit == UNIT_SECONDS)
			sums[rules[i].saves] += saving->value;
		to->n++;
	}
	op_facts_done(&f);
	findings_sort(v, to->n);
	to->v = v;
	to->together_s = together(steps, sums);
	return to;
}
