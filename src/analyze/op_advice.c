/* SPDX-License-Identifier: MIT
 * See op_advice.h. The first seven rules and their thresholds are those people know from TensorBoard's profiler. */
#include "analyze/op_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/op_facts.h"
#include "analyze/op_kernels.h"
#include "analyze/op_steps.h"
#include "analyze/ops.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/banned.h"

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
	/* Whether it speaks; then the evidence, the saving and, where it is not always the same, the change. */
	bool (*check)(const struct op_facts *f, double threshold, struct op_finding *to);
	const char *change;
};

/* ---- rules ----------------------------------------------------------------------------------- */

static bool dataloader(const struct op_facts *f, double threshold, struct op_finding *to)
{
	const struct ops_row *row = op_find_row(f, "enumerate(DataLoader)#");
	double waited = f->steps->parts_s[OP_PART_DATALOADER];

	if (!row || !op_is_over(f, waited, threshold))
		return false;
	to->saving_s = waited;
	to->evidence = arena_printf(f->a,
		"the program waited for its DataLoader for %s, in %" PRIu64 " calls of %s",
		op_of_steps(f, waited), row->n_calls, row->name);
	if (strstr(row->name, "_SingleProcess"))
		to->change = "it loads in the training process: give DataLoader num_workers (and "
			     "persistent_workers=True)";
	return true;
}

static bool data_parallel(const struct op_facts *f, double threshold, struct op_finding *to)
{
	const struct ops_row *row = op_find_row(f, "DataParallel.forward");

	(void)threshold;
	if (!row || f->x->n_devices < 2)
		return false;
	to->evidence = arena_printf(f->a,
		"DataParallel.forward ran %" PRIu64 " times with %u devices in one process",
		row->n_calls, f->x->n_devices);
	return true;
}

static bool backend(const struct op_facts *f, double threshold, struct op_finding *to)
{
	(void)threshold;
	if (!*f->x->backend || strcmp(f->x->backend, "nccl") == 0 || f->x->device_capability < 4 ||
		!op_find_row(f, "DistributedDataParallel.forward"))
		return false;
	to->evidence = arena_printf(f->a,
		"the ranks of a DistributedDataParallel model talk through %s", f->x->backend);
	return true;
}

static bool communication(const struct op_facts *f, double threshold, struct op_finding *to)
{
	double exposed = f->steps->parts_s[OP_PART_COMMUNICATION];

	if (!op_is_over(f, exposed, threshold))
		return false;
	to->saving_s = exposed;
	to->evidence = arena_printf(
		f->a, "communication that no computation covers took %s", op_of_steps(f, exposed));
	return true;
}

static bool idle_device(const struct op_facts *f, double threshold, struct op_finding *to)
{
	double idle = f->steps->seconds - f->steps->busy_s;

	if (!f->kernels->n || f->steps->busy_s >= threshold * f->steps->seconds)
		return false;
	to->saving_s = idle;
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

static bool tensor_cores(const struct op_facts *f, double threshold, struct op_finding *to)
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
	to->saving_s = eligible;
	to->evidence = arena_printf(f->a,
		"matrix products and convolutions ran for %s on the device, and none on its tensor "
		"cores",
		units_format(time, UNIT_SECONDS, eligible));
	return true;
}

static bool memory(const struct op_facts *f, double threshold, struct op_finding *to)
{
	char peak[UNITS_TEXT], all[UNITS_TEXT];

	if (!(f->steps->peak_share > threshold))
		return false;
	to->evidence = arena_printf(f->a, "%s of the device's %s were allocated at the peak",
		units_format(peak, UNIT_BYTES, (double)f->steps->peak_bytes),
		units_format(all, UNIT_BYTES, (double)f->x->device_bytes));
	return true;
}

static bool pageable(const struct op_facts *f, double threshold, struct op_finding *to)
{
	double seconds = 0;
	uint64_t n = 0, bytes = 0;
	char size[UNITS_TEXT];

	for (size_t i = 0; i < f->kernels->n; i++)
		if (strstr(f->kernels->v[i].name, "HtoD (Pageable")) {
			seconds += f->kernels->v[i].seconds;
			n += f->kernels->v[i].n_times;
			bytes += f->kernels->v[i].bytes;
		}
	if (!op_is_over(f, seconds, threshold))
		return false;
	to->saving_s = seconds;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " copies of %s in all came from memory that is not pinned, and took %s",
		n, units_format(size, UNIT_BYTES, (double)bytes), op_of_steps(f, seconds));
	return true;
}

static const struct rule rules[] = {
	{ "dataloader", 0.05, SAVES_HOST, dataloader,
		"give DataLoader more num_workers, or make loading a sample cheaper" },
	{ "data-parallel", 0, SAVES_HOST, data_parallel,
		"use DistributedDataParallel with a process for each device" },
	{ "backend", 0, SAVES_HOST, backend, "use init_process_group(\"nccl\")" },
	{ "communication", 0.10, SAVES_BUSY, communication,
		"accumulate gradients over several batches (no_sync), compress them, or give each "
		"device more to compute" },
	{ "idle-device", 0.50, SAVES_IDLE, idle_device,
		"use larger batches; where the host cannot launch fast enough, torch.compile or "
		"CUDA "
		"graphs" },
	{ "tensor-cores", 0, SAVES_BUSY, tensor_cores,
		"use torch.autocast, or torch.set_float32_matmul_precision(\"high\")" },
	{ "float64", 0.05, SAVES_HOST, op_rule_float64,
		"make tensors float32 (dtype=torch.float32, .float()); NumPy's arrays are float64 "
		"unless told otherwise" },
	{ "float32", 0.05, SAVES_BUSY, op_rule_float32,
		"put it under torch.autocast, too, or use "
		"torch.set_float32_matmul_precision(\"high\")" },
	{ "odd-sizes", 0.05, SAVES_BUSY, op_rule_odd_sizes,
		"make batch, layers and vocabulary multiples of 8 (of 64 where you can)" },
	{ "memory", 0.90, SAVES_HOST, memory,
		"use torch.autocast or torch.utils.checkpoint before memory runs out" },
	{ "pageable", 0.05, SAVES_BUSY, pageable,
		"give DataLoader pin_memory=True and copy with .to(device, non_blocking=True)" },
	{ "sync", 0.05, SAVES_IDLE, op_rule_sync,
		"ask for values of the device less often: keep sums as tensors, log every n-th "
		"step, and avoid "
		".item(), .cpu() and conditions on tensors in the loop" },
	{ "blocking-copy", 0.05, SAVES_HOST, op_rule_blocking_copy,
		"copy with .to(device, non_blocking=True)" },
	{ "made-on-cpu", 0.01, SAVES_HOST, op_rule_made_on_cpu,
		"make tensors where they are needed: torch.zeros(..., device=device)" },
	{ "allocator", 0.02, SAVES_HOST, op_rule_allocator,
		"keep shapes the same from step to step, leave out torch.cuda.empty_cache(), or "
		"set "
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" },
	{ "lazy-loading", 0.02, SAVES_HOST, op_rule_lazy_loading,
		"profile after some steps of warm-up, or load kernels at the start with "
		"CUDA_MODULE_LOADING=EAGER" },
	{ "launch-bound", 0.50, SAVES_IDLE, op_rule_launch_bound,
		"let torch.compile(mode=\"reduce-overhead\") or CUDA graphs launch it all at once, "
		"or use larger "
		"batches" },
	{ "small-kernels", 0.20, SAVES_BUSY, op_rule_small_kernels,
		"use larger batches, or put what is independent into one call" },
	{ "pointwise", 0.05, SAVES_BUSY, op_rule_pointwise,
		"let torch.compile make one kernel of them, or use a fused operator" },
	{ "layout", 0.02, SAVES_BUSY, op_rule_layout,
		"keep model and inputs in NHWC: .to(memory_format=torch.channels_last)" },
	{ "fragmentation", 0.80, SAVES_HOST, op_rule_fragmentation,
		"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or keep shapes the same "
		"from step to step" },
	{ "zero-grad", 0.01, SAVES_HOST, op_rule_zero_grad,
		"use zero_grad(set_to_none=True), which is the default" },
	{ "optimizer-loop", 0.05, SAVES_HOST, op_rule_optimizer_loop,
		"make the optimizer with fused=True or foreach=True" },
	{ "conv-bias", 0.005, SAVES_BUSY, op_rule_conv_bias,
		"make the convolution with bias=False" },
	{ "no-grad", 3, SAVES_HOST, op_rule_no_grad,
		"put torch.inference_mode() or torch.no_grad() around it" },
	{ "no-sync", 0.02, SAVES_BUSY, op_rule_no_sync,
		"put model.no_sync() around all batches but the last before a step of the "
		"optimizer" },
	{ "recompiles", 0.05, SAVES_HOST, op_rule_recompiles,
		"keep shapes, types and flags the same, or tell which dimensions vary "
		"(torch._dynamo.mark_dynamic, dynamic=True); TORCH_LOGS=recompiles says why" },
	{ "graph-breaks", 0, SAVES_HOST, op_rule_graph_breaks,
		"take out what breaks the graph (.item(), print, unknown calls); "
		"TORCH_LOGS=graph_breaks says what "
		"and why" },
};

static int by_saving(const void *a, const void *b)
{
	const struct op_finding *x = a, *y = b;
	double p = isnan(x->saving_s) ? -1 : x->saving_s, q = isnan(y->saving_s) ? -1 : y->saving_s;

	return p > q ? -1 : p < q;
}

/* Times of one kind are within each other, those of two kinds may be beside each other. */
static double together(const struct op_steps *steps, const double sums[N_SAVES])
{
	double host = fmin(sums[SAVES_HOST], steps->seconds);
	double idle = fmin(sums[SAVES_IDLE], fmax(steps->seconds - steps->busy_s, 0));
	double all = host + idle + fmin(sums[SAVES_BUSY], steps->busy_s);

	return all > 0 ? fmin(all, steps->seconds) : NAN;
}

const struct op_advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops)
{
	struct op_facts f = { .a = a, .x = x, .steps = steps, .kernels = kernels, .ops = ops };
	size_t most = sizeof rules / sizeof *rules;
	struct op_finding *v = arena_new_n(a, struct op_finding, most);
	struct op_advice *to = arena_new(a, struct op_advice);
	double sums[N_SAVES] = { 0 };

	op_facts_init(&f);
	for (size_t i = 0; i < most; i++) {
		v[to->n] = (struct op_finding){
			.rule = rules[i].name, .change = rules[i].change, .saving_s = NAN
		};
		if (!rules[i].check(&f, rules[i].threshold, &v[to->n]))
			continue;
		if (!isnan(v[to->n].saving_s))
			sums[rules[i].saves] += v[to->n].saving_s;
		to->n++;
	}
	op_facts_done(&f);
	qsort(v, to->n, sizeof *v, by_saving);
	to->v = v;
	to->together_s = together(steps, sums);
	return to;
}
