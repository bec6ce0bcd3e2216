/* SPDX-License-Identifier: MIT
 * See rule.h: rules about what the device did, and what the host did instead of giving it work. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/torch/rule.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/streams.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { RUN = 3 }; /* kernels in a row, from which on they could be one */

/* How long the device had nothing to run from that time on. */
static int64_t idle_after(const struct op_facts *f, int64_t t_ns)
{
	size_t low = bisect(i, f->n_device, f->device_start[i] < t_ns);

	return low < f->n_device ? f->device_start[low] - t_ns : 0;
}

/* By event, which copies it launched: OP_NAME_FROM_PINNED …; the caller frees it. */
static uint32_t *copies_of(const struct op_facts *f)
{
	uint32_t *v = xcalloc(f->x->v.n + 1, sizeof *v);

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		uint32_t owner = e->category == OP_COPY ? ops_owner(&f->tree, e) : OPS_NONE;

		if (owner != OPS_NONE)
			v[owner] |= op_kinds(f, e);
	}
	return v;
}

struct waits {
	uint64_t n;
	int64_t waited_ns, idle_ns;
	uint32_t name; /* of the operator that waited longest; OPS_NONE */
	int64_t longest_ns;
};

static void add_wait(
	const struct op_facts *f, const struct op_event *e, uint32_t op, struct waits *to)
{
	to->n++;
	to->waited_ns += e->duration_ns;
	to->idle_ns += idle_after(f, e->start_ns + e->duration_ns);
	if (e->duration_ns >= to->longest_ns) {
		to->longest_ns = e->duration_ns;
		to->name = ops_node(&f->tree, op)->name;
	}
}

/* Waits of the host in operators: those that ask for a value or copy one to the host, else those that copy pinned memory to the device. */
static struct waits find_waits(const struct op_facts *f, bool is_asking)
{
	uint32_t *copies = copies_of(f);
	struct waits to = { .name = OPS_NONE };

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], op = f->tree.parent[node], asks;
		const struct op_event *e = ops_node(&f->tree, node);

		if (e->category != OP_RUNTIME || !(op_kinds(f, e) & OP_NAME_WAITS) ||
			op == OPS_NONE || op >= f->tree.n_events || !op_in_steps(f, e->start_ns))
			continue;
		asks = op_within(f, op, OP_NAME_ASKS);
		if (asks != OPS_NONE || copies[op] & OP_NAME_TO_HOST) {
			if (!is_asking)
				continue;
			add_wait(f, e, asks != OPS_NONE ? asks : op, &to);
			op_add_line(f, node, idle_after(f, e->start_ns + e->duration_ns));
		} else if (!is_asking && copies[op] & OP_NAME_FROM_PINNED) {
			add_wait(f, e, op, &to);
			op_add_line(f, node, e->duration_ns);
		}
	}
	free(copies);
	return to;
}

static bool check_sync(const struct op_facts *f, double threshold, struct finding *to)
{
	struct waits asking;
	char waited[UNITS_TEXT];

	if (!f->n_device)
		return false;
	asking = find_waits(f, true);
	if (!op_is_over(f, (double)asking.idle_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)asking.idle_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"the host waited %" PRIu64
		" times for a value from the device (%s in all, longest in %s%s), and then the device was idle for %s",
		asking.n, units_format(waited, UNIT_SECONDS, (double)asking.waited_ns / 1e9),
		op_events_name(f->x, asking.name), op_mostly_from(f),
		op_of_steps(f, to->saving.value));
	return true;
}

static bool check_blocking_copy(const struct op_facts *f, double threshold, struct finding *to)
{
	struct waits copying;

	if (!f->n_device)
		return false;
	copying = find_waits(f, false);
	if (!op_is_over(f, (double)copying.waited_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)copying.waited_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"the host waited for %" PRIu64 " copies of pinned memory to the device for %s%s",
		copying.n, op_of_steps(f, to->saving.value), op_mostly_from(f));
	return true;
}

/* A tensor is made on the CPU, and the next thing is that it goes to the device. */
static bool check_made_on_cpu(const struct op_facts *f, double threshold, struct finding *to)
{
	uint32_t *last = xcalloc(f->x->tracks.items.n + 1, sizeof *last), *copies = copies_of(f);
	uint32_t name = 0;
	int64_t sum = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], outer;
		const struct op_event *e = ops_node(&f->tree, node), *made;

		if (e->category != OP_CPU || node >= f->tree.n_events)
			continue;
		made = last[e->track] ? &f->x->v.v[last[e->track] - 1] : NULL;
		if (made && f->device_ns[node] &&
			e->start_ns < made->start_ns + made->duration_ns) {
			last[e->track] = 0; /* it was made on the device */
		} else if (made && copies[node] & OP_NAME_TO_DEVICE &&
			op_in_steps(f, e->start_ns) &&
			(outer = op_within(f, node, OP_NAME_MOVES)) != OPS_NONE) {
			name = made->name;
			sum += ops_node(&f->tree, outer)->duration_ns + made->duration_ns;
			op_add_line(f, outer, ops_node(&f->tree, outer)->duration_ns);
			op_add_line(f, last[e->track] - 1, made->duration_ns);
			n++;
			last[e->track] = 0;
		}
		if (op_is_top(f, node) && !(op_kinds(f, e) & OP_NAME_MOVES))
			last[e->track] = op_kinds(f, e) & OP_NAME_FILLS ? node + 1 : 0;
	}
	free(last);
	free(copies);
	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64
		" tensors were made on the CPU (%s) and copied to the device right away, for %s%s",
		n, op_events_name(f->x, name), op_of_steps(f, to->saving.value), op_mostly_from(f));
	return true;
}

/* Events of a category and kind within the steps, from a moment on. */
static uint64_t count_kind(
	const struct op_facts *f, int category, unsigned kind, int64_t from, int64_t *ret_sum_ns)
{
	uint64_t n = 0;

	*ret_sum_ns = 0;
	vec_each (&f->x->v, e)
		if ((int)e->category == category && op_kinds(f, e) & kind && e->start_ns >= from &&
			op_in_steps(f, e->start_ns)) {
			*ret_sum_ns += e->duration_ns;
			op_add_line(f, (uint32_t)(e - f->x->v.v), e->duration_ns);
			n++;
		}
	return n;
}

/* The first step allocates what the others use again. */
static int64_t warm_from(const struct op_facts *f)
{
	return f->steps->n > 1 ? f->steps->v[0].end_ns : INT64_MIN;
}

static bool check_allocator(const struct op_facts *f, double threshold, struct finding *to)
{
	int64_t sum;
	uint64_t n = count_kind(f, OP_RUNTIME, OP_NAME_ALLOCATES, warm_from(f), &sum);

	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"after the first step, %" PRIu64
		" calls allocated or released device memory (cudaMalloc, cudaFree …), for %s",
		n, op_of_steps(f, to->saving.value));
	return true;
}

static bool check_lazy_loading(const struct op_facts *f, double threshold, struct finding *to)
{
	int64_t sum;
	uint64_t n = count_kind(f, OP_OVERHEAD, OP_NAME_LOADS, INT64_MIN, &sum);

	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence =
		arena_printf(f->a, "kernels were loaded on first use, %" PRIu64 " times, for %s", n,
			op_of_steps(f, to->saving.value));
	return true;
}

static bool check_launch_bound(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct op_streams *s = f->streams;
	char empty[UNITS_TEXT], share[UNITS_TEXT], wait[UNITS_TEXT];
	double is_short;

	if (!s || !s->n || !s->n_launches || isnan(s->v[0].empty_share))
		return false;
	is_short = (double)s->n_short / (double)s->n_launches;
	if (is_short <= 0.5 || s->v[0].empty_share <= threshold ||
		s->v[0].host_wait_s <= threshold * s->v[0].span_s)
		return false;
	to->saving.value = fmin(s->v[0].host_wait_s, f->steps->seconds);
	to->evidence = arena_printf(f->a,
		"%s of what was launched took less time than its launch; stream %s had an empty queue for %s of its time, and waited %s for the host",
		units_format(share, UNIT_SHARE, is_short), s->v[0].stream,
		units_format(empty, UNIT_SHARE, s->v[0].empty_share),
		units_format(wait, UNIT_SECONDS, s->v[0].host_wait_s));
	return true;
}

/* Which calls left multiprocessors without work. */
static void add_small_kernels(const struct op_facts *f)
{
	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		const struct op_device *says =
			e->category == OP_KERNEL && e->detail && e->detail <= f->x->device.n
			? &f->x->device.v[e->detail - 1]
			: NULL;

		if (says && says->blocks_per_sm < 1 &&
			!op_is_communication(op_events_name(f->x, e->name)))
			op_add_line(f, (uint32_t)i,
				(int64_t)((double)e->duration_ns *
					(1 - fmax(says->blocks_per_sm, 0))));
	}
}

static bool check_small_kernels(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct op_kernel_row *most = NULL;
	double idle = 0, longest = 0;
	char blocks[UNITS_TEXT];

	for (size_t i = 0; i < f->kernels->n; i++) {
		const struct op_kernel_row *r = &f->kernels->v[i];
		double part = r->seconds * (1 - r->blocks_per_sm);

		if (!r->is_kernel || !(r->blocks_per_sm < 1) || op_is_communication(r->name))
			continue;
		idle += part;
		if (part > longest) {
			longest = part;
			most = r;
		}
	}
	if (!most || !op_is_over(f, idle, threshold))
		return false;
	to->saving.value = idle;
	add_small_kernels(f);
	to->evidence = arena_printf(f->a,
		"kernels with fewer blocks than the device has multiprocessors left the others idle, which adds up to %s; most of it in %s (%s blocks per multiprocessor)",
		op_of_steps(f, idle), most->name,
		units_format(blocks, UNIT_RATIO, most->blocks_per_sm));
	return true;
}

struct run { /* of kernels on a stream, one after the other */
	uint32_t n;
	uint32_t asked; /* op_asked, of all of them; 0: not known, or not the same */
	int64_t sum_ns, longest_ns;
};

struct runs {
	uint64_t n, n_kernels;
	int64_t saved_ns;
};

static void end_run(const struct op_facts *f, struct run *r, struct runs *to)
{
	if (r->n >= RUN) {
		to->n++;
		to->n_kernels += r->n;
		to->saved_ns += r->sum_ns - r->longest_ns;
		op_add_asked(f, r->asked, r->sum_ns - r->longest_ns);
	}
	*r = (struct run){ 0 };
}

static bool check_pointwise(const struct op_facts *f, double threshold, struct finding *to)
{
	size_t n_tracks = f->x->tracks.items.n;
	struct run *runs = xcalloc(n_tracks + 1, sizeof *runs);
	struct runs all = { 0 };

	for (size_t i = 0; i < f->tree.n; i++) {
		const struct op_event *e = ops_node(&f->tree, f->tree.order[i]);
		struct run *r = &runs[e->track];
		uint32_t asked;

		if (!op_is_device(e) || e->category == OP_DEVICE_ANNOTATION)
			continue;
		if (!(op_kinds(f, e) & OP_NAME_POINTWISE) || !op_in_steps(f, e->start_ns)) {
			end_run(f, r, &all);
			continue;
		}
		asked = op_asked(f, f->tree.order[i]);
		r->asked = r->n && r->asked != asked ? 0 : asked;
		r->n++;
		r->sum_ns += e->duration_ns;
		r->longest_ns = e->duration_ns > r->longest_ns ? e->duration_ns : r->longest_ns;
	}
	for (size_t i = 0; i < n_tracks; i++)
		end_run(f, &runs[i], &all);
	free(runs);
	if (!op_is_over(f, (double)all.saved_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)all.saved_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"three or more elementwise kernels ran back to back %" PRIu64 " times (%" PRIu64
		" kernels); all but the longest of each run took %s",
		all.n, all.n_kernels, op_of_steps(f, to->saving.value));
	return true;
}

static bool check_layout(const struct op_facts *f, double threshold, struct finding *to)
{
	int64_t sum;
	uint64_t n = count_kind(f, OP_KERNEL, OP_NAME_LAYOUT, INT64_MIN, &sum);

	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " kernels only converted tensors between NCHW and NHWC, for %s", n,
		op_of_steps(f, to->saving.value));
	return true;
}

/* Nearly all memory of the device is the allocator's, and much of that is not in use. */
/* ---- devices --------------------------------------------------------------------------------- */

static bool check_data_parallel(const struct op_facts *f, double threshold, struct finding *to)
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

static bool check_backend(const struct op_facts *f, double threshold, struct finding *to)
{
	(void)threshold;
	if (!*f->x->backend || strcmp(f->x->backend, "nccl") == 0 || f->x->device_capability < 4 ||
		!op_find_row(f, "DistributedDataParallel.forward"))
		return false;
	to->evidence = arena_printf(f->a,
		"the ranks of a DistributedDataParallel model communicate through %s",
		f->x->backend);
	return true;
}

static bool check_idle_device(const struct op_facts *f, double threshold, struct finding *to)
{
	double idle = f->steps->seconds - f->steps->busy_s;

	if (!f->kernels->n || f->steps->busy_s >= threshold * f->steps->seconds)
		return false;
	to->saving.value = idle;
	to->evidence = arena_printf(f->a, "the device was idle for %s", op_of_steps(f, idle));
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_device[] = {
	{
		.name = "data-parallel",
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_data_parallel,
		.change = "use DistributedDataParallel, with one process per device",
		.proof = BY_OPS,
	},
	{
		.name = "backend",
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_backend,
		.change = "use init_process_group(\"nccl\")",
		.proof = BY_OPS,
	},
	{
		.name = "idle-device",
		.threshold = 0.50,
		.saves = SAVES_IDLE,
		.confidence = FINDING_BOUND,
		.check = check_idle_device,
		.change =
			"use larger batches; if the host cannot launch fast enough, use torch.compile or CUDA graphs",
		.proof = BY_STREAMS,
	},
	{
		.name = "sync",
		.threshold = 0.05,
		.saves = SAVES_IDLE,
		.confidence = FINDING_BOUND,
		.check = check_sync,
		.change =
			"ask the device for values less often: keep sums as tensors, log every n-th step, and avoid .item(), .cpu() and conditions on tensors in the loop",
		.proof = BY_OPS,
	},
	{
		.name = "blocking-copy",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_MEASURED,
		.check = check_blocking_copy,
		.change = "copy with .to(device, non_blocking=True)",
		.proof = BY_OPS,
	},
	{
		.name = "made-on-cpu",
		.threshold = 0.01,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_made_on_cpu,
		.change = "create tensors where they are needed: torch.zeros(..., device=device)",
		.proof = BY_OPS,
	},
	{
		.name = "allocator",
		.threshold = 0.02,
		.saves = SAVES_HOST,
		.confidence = FINDING_MEASURED,
		.check = check_allocator,
		.change =
			"keep shapes the same from step to step, remove torch.cuda.empty_cache(), or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		.proof = BY_OPS,
	},
	{
		.name = "lazy-loading",
		.threshold = 0.02,
		.saves = SAVES_HOST,
		.confidence = FINDING_MEASURED,
		.check = check_lazy_loading,
		.change =
			"profile after a few warm-up steps, or load kernels at the start with CUDA_MODULE_LOADING=EAGER",
		.proof = BY_OPS,
	},
	{
		.name = "launch-bound",
		.threshold = 0.50,
		.saves = SAVES_IDLE,
		.confidence = FINDING_BOUND,
		.check = check_launch_bound,
		.change =
			"launch everything at once with torch.compile(mode=\"reduce-overhead\") or CUDA graphs, or use larger batches",
		.proof = BY_STREAMS,
	},
	{
		.name = "small-kernels",
		.threshold = 0.20,
		.saves = SAVES_BUSY,
		.confidence = FINDING_HEURISTIC,
		.check = check_small_kernels,
		.change = "use larger batches, or put independent work into one call",
		.proof = BY_KERNELS,
	},
	{
		.name = "pointwise",
		.threshold = 0.05,
		.saves = SAVES_BUSY,
		.confidence = FINDING_BOUND,
		.check = check_pointwise,
		.change = "fuse them with torch.compile, or use a fused operator",
		.proof = BY_KERNELS,
	},
	{
		.name = "layout",
		.threshold = 0.02,
		.saves = SAVES_BUSY,
		.confidence = FINDING_MEASURED,
		.check = check_layout,
		.change = "keep model and inputs in NHWC: .to(memory_format=torch.channels_last)",
		.proof = BY_KERNELS,
	},
	{ 0 },
};
