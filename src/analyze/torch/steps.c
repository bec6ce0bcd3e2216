/* SPDX-License-Identifier: MIT
 * See steps.h. */
#include "analyze/torch/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/asides.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/computing.h"
#include "analyze/torch/periods.h"
#include "analyze/torch/processes.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/xalloc.h"
#include "base/banned.h"

const char *const op_part_names[OP_N_PARTS] = { "kernel", "memcpy", "memset", "communication",
	"runtime", "dataloader", "compile", "cpu", "other" };

/* No part of its own: while the host computes, communication is covered. */
enum { COMPUTING = OP_PART_OTHER, N_OPEN };

struct edge { /* of a stretch of one part, neighbours joined */
	int64_t t_ns;
	int32_t part; /* negative: it ends; the part + 1 */
};

struct stretch {
	int64_t start_ns, end_ns;
	bool is_open;
};

struct splitting {
	struct ops_tree tree;
	struct stretch last[OP_PART_OTHER];
	uint8_t *name_part; /* by name: OP_N_PARTS where the category decides */
	VEC(struct edge) edges;
	VEC(struct op_step) steps;
	struct op_steps *to;
	struct op_processes processes;
	uint32_t process; /* whose steps */
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

bool op_is_communication(const char *name)
{
	return begins(name, "nccl") || strstr(name, "ncclDevKernel") ||
		strstr(name, "ncclKernel") || begins(name, "gloo:") || begins(name, "mpi:") ||
		begins(name, "c10d::") || begins(name, "_c10d_functional::") ||
		strcmp(name, "record_param_comms") == 0;
}

bool op_uses_tensor_cores(const char *kernel)
{
	static const char *const words[] = { "h884", "s884", "h1688", "s1688", "hmma", "i8816",
		"16816", "dgrad_1x1_stride_2x2", "first_layer_wgrad_kernel", "conv1x1",
		"conv2d_c1_k1", "direct_group", "xmma_implicit_gemm", "xmma_fprop_implicit_gemm",
		"xmma_dgrad_implicit_gemm", "xmma_wgrad_implicit_gemm", "tensor16x8x",
		"warpgroupsize", "xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm",
		"xmma_gemm", "xmma_sparse_gemm", "c1688", "tensorop", "wgmma", "gmma", "nvjet",
		"cutlass3x_sm90", "cutlass3x_sm100", "flash_fwd", "flash_bwd", "flash_fprop",
		"flash_bprop", "FlashAttn", "fmha", "MainloopSm90", "MainloopSm100", "fp8_gemm",
		"umma", "tcgen05" };

	if (strstr(kernel, "ffma") || strstr(kernel, "simt")) /* plain arithmetic */
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(kernel, words[i]))
			return true;
	return false;
}

static void look_at_names(struct splitting *p)
{
	size_t n = p->tree.x->names.items.n;

	p->name_part = xcalloc(n + 1, 1);
	for (size_t i = 0; i < n; i++) {
		const char *name = op_events_name(p->tree.x, (uint32_t)i);

		p->name_part[i] = op_is_communication(name) ? OP_PART_COMMUNICATION
			: begins(name, "enumerate(DataLoader)#") ||
				begins(name, "enumerate(DataPipe)#")
			? OP_PART_DATALOADER
			: op_is_compile(name) ? OP_PART_COMPILE
					      : OP_N_PARTS;
	}
}

static unsigned part_of(const struct splitting *p, const struct op_event *e)
{
	static const uint8_t by_category[OP_N_CATEGORIES] = { [OP_CPU] = OP_PART_CPU,
		[OP_ANNOTATION] = OP_PART_OTHER,
		[OP_PYTHON] = OP_PART_OTHER,
		[OP_RUNTIME] = OP_PART_RUNTIME,
		[OP_OVERHEAD] = OP_PART_OTHER,
		[OP_KERNEL] = OP_PART_KERNEL,
		[OP_COPY] = OP_PART_COPY,
		[OP_SET] = OP_PART_SET,
		[OP_DEVICE_ANNOTATION] = OP_PART_OTHER };

	unsigned named = p->name_part[e->name];

	if (named == OP_N_PARTS || e->category == OP_DEVICE_ANNOTATION)
		return by_category[e->category];
	/* With a device, it communicates; the host only asks for it. */
	if (named == OP_PART_COMMUNICATION && p->tree.x->has_device && !op_is_device(e))
		return by_category[e->category];
	return named;
}

/* ---- stretches ------------------------------------------------------------------------------- */

static void close_stretch(struct splitting *p, unsigned part)
{
	struct stretch *s = &p->last[part];

	if (!s->is_open)
		return;
	vec_push(&p->edges, (struct edge){ s->start_ns, (int32_t)part + 1 });
	vec_push(&p->edges, (struct edge){ s->end_ns, -(int32_t)part - 1 });
	s->is_open = false;
}

/* What a device does is nobody's but the one's who asks. */
static bool is_of_steps(const struct splitting *p, const struct op_event *e)
{
	return p->to->how == OP_STEPS_ALL || op_is_device(e) ||
		p->processes.of_track[e->track] == p->process;
}

static void make_edges(struct splitting *p)
{
	const struct ops_tree *t = &p->tree;

	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);
		unsigned part = part_of(p, e);
		int64_t end = e->start_ns + e->duration_ns;
		struct stretch *s = &p->last[part < OP_PART_OTHER ? part : 0];

		if (part >= OP_PART_OTHER || !e->duration_ns || !is_of_steps(p, e))
			continue;
		if (s->is_open && e->start_ns > s->end_ns)
			close_stretch(p, part);
		if (!s->is_open)
			*s = (struct stretch){ e->start_ns, end, true };
		s->end_ns = end > s->end_ns ? end : s->end_ns;
	}
	for (unsigned part = 0; part < OP_PART_OTHER; part++)
		close_stretch(p, part);
}

/* With a device, what it computes comes before communication anyway, and what the host does covers nothing. */
static void add_computing(struct splitting *p)
{
	struct op_moments found;

	if (p->tree.x->has_device)
		return;
	found = op_computing_find(&p->tree, &p->processes, p->process);
	vec_each (&found.v, m)
		vec_push(&p->edges, (struct edge){ m->t_ns, m->change * (COMPUTING + 1) });
	vec_done(&found.v);
}

/* The part a moment belongs to; OP_PART_OTHER: none. */
static unsigned first_open(const int32_t n_open[N_OPEN])
{
	unsigned first = 0;

	while (first < OP_PART_OTHER &&
		(n_open[first] <= 0 || (first == OP_PART_COMMUNICATION && n_open[COMPUTING] > 0)))
		first++;
	return first;
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void find_steps(struct splitting *p, struct arena *a)
{
	struct op_periods found;

	op_periods_find(&p->tree, &found);
	p->to->how = found.how;
	p->to->is_marked = found.how == OP_STEPS_MARKED;
	p->process = found.process;
	p->to->pid = found.how == OP_STEPS_ALL ? 0 : op_processes_pid(&p->processes, found.process);
	p->to->n_processes = found.n_processes;
	p->to->n_calls = found.n_calls;
	p->to->n_micro = found.n_micro;
	p->to->is_training = found.is_training;
	p->to->n_validations = found.validations.n;
	p->to->validations = arena_copy(
		a, found.validations.v, found.validations.n * sizeof *found.validations.v);
	for (size_t i = 0; i < found.v.n; i++) {
		const struct op_period *x = &found.v.v[i];
		const char *name = x->name != OPS_NONE
			? arena_strdup(a, op_events_name(p->tree.x, x->name))
			: found.how == OP_STEPS_ALL ? "all"
						    : arena_printf(a, "step %zu", i);

		vec_push(&p->steps,
			(struct op_step){ .name = name,
				.start_ns = x->start_ns,
				.end_ns = x->end_ns,
				.host_start_ns = x->start_ns,
				.host_end_ns = x->end_ns });
	}
	op_periods_done(&found);
}

/* The step that was under way on the host at that time; steps are in order, and do not overlap there. */
static struct op_step *step_at(struct splitting *p, int64_t t_ns)
{
	size_t low = bisect(i, p->steps.n, p->steps.v[i].start_ns <= t_ns);

	return low && p->steps.v[low - 1].end_ns >= t_ns ? &p->steps.v[low - 1] : NULL;
}

/* A step lasts until what it launched has ended, and the next one begins after it. */
static void stretch_steps(struct splitting *p)
{
	const struct ops_tree *t = &p->tree;
	int64_t *ends = xcalloc(p->steps.n + 1, sizeof *ends), until = INT64_MIN;

	vec_each (&t->x->v, e) {
		uint32_t owner = op_is_device(e) && e->category != OP_DEVICE_ANNOTATION
			? ops_owner(t, e)
			: OPS_NONE;
		struct op_step *step =
			owner != OPS_NONE ? step_at(p, t->x->v.v[owner].start_ns) : NULL;
		int64_t end = e->start_ns + e->duration_ns;

		if (step && end > ends[step - p->steps.v])
			ends[step - p->steps.v] = end;
	}
	for (size_t i = 0; i < p->steps.n; i++) {
		struct op_step *s = &p->steps.v[i];

		s->end_ns = ends[i] > s->end_ns ? ends[i] : s->end_ns;
		s->start_ns = s->start_ns > until ? s->start_ns : until;
		s->end_ns = s->end_ns > s->start_ns ? s->end_ns : s->start_ns;
		until = s->end_ns;
	}
	free(ends);
}

/* The time from `from` to `to` is of that part, as far as it lies in steps; *at is the first step that may reach there. */
static void give(struct splitting *p, int64_t from, int64_t to, unsigned part, size_t *at)
{
	while (*at < p->steps.n && p->steps.v[*at].end_ns <= from)
		++*at;
	for (size_t i = *at; i < p->steps.n && p->steps.v[i].start_ns < to; i++) {
		struct op_step *s = &p->steps.v[i];
		int64_t begin = from > s->start_ns ? from : s->start_ns;
		int64_t end = to < s->end_ns ? to : s->end_ns;

		if (end > begin)
			s->parts_s[part] += (double)(end - begin) / 1e9;
	}
}

static void split(struct splitting *p)
{
	int32_t n_open[N_OPEN] = { 0 };
	size_t at = 0;

	if (p->edges.n)
		qsort(p->edges.v, p->edges.n, sizeof *p->edges.v, by_time);
	for (size_t i = 0; i < p->edges.n; i++) {
		const struct edge *e = &p->edges.v[i];
		unsigned part = (unsigned)(e->part < 0 ? -e->part : e->part) - 1, first;

		n_open[part] += e->part > 0 ? 1 : -1;
		first = first_open(n_open);
		if (first < OP_PART_OTHER && i + 1 < p->edges.n)
			give(p, e->t_ns, p->edges.v[i + 1].t_ns, first, &at);
	}
	vec_each (&p->steps, s) {
		double rest = (double)(s->end_ns - s->start_ns) / 1e9;

		for (unsigned i = 0; i < OP_PART_OTHER; i++)
			rest -= s->parts_s[i];
		s->parts_s[OP_PART_OTHER] = rest > 0 ? rest : 0;
	}
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double middle(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_size);
	return n ? (v[n / 2] + v[(n - 1) / 2]) / 2 : 0;
}

static void sum_steps(struct splitting *p)
{
	struct op_steps *to = p->to;
	size_t n = p->steps.n;
	double *v = xcalloc(n + 1, sizeof *v);

	for (unsigned part = 0; part < OP_N_PARTS; part++) {
		for (size_t i = 0; i < n; i++) {
			v[i] = p->steps.v[i].parts_s[part];
			to->parts_s[part] += v[i];
		}
		to->median_parts_s[part] = middle(v, n);
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = (double)(p->steps.v[i].end_ns - p->steps.v[i].start_ns) / 1e9;
		to->seconds += v[i];
	}
	to->median_s = middle(v, n);
	to->p99_s = n ? v[(n * 99 + 99) / 100 - 1] : 0;
	to->max_s = n ? v[n - 1] : 0;
	for (unsigned part = 0; p->tree.x->has_device && part <= OP_PART_COMMUNICATION; part++)
		to->busy_s += to->parts_s[part];
	free(v);
}

static void sum_kernels(struct splitting *p)
{
	struct op_events *x = p->tree.x;
	double efficient = 0, occupied = 0, known = 0;

	vec_each (&x->v, e) {
		const struct op_device *d;
		double s = (double)e->duration_ns / 1e9;

		if (e->category != OP_KERNEL || !e->detail || e->detail > x->device.n)
			continue;
		d = &x->device.v[e->detail - 1];
		p->to->kernel_s += s;
		if (op_uses_tensor_cores(op_events_name(x, e->name)))
			p->to->tensor_core_s += s;
		if (isnan(d->blocks_per_sm) || isnan(d->occupancy))
			continue;
		known += s;
		efficient += s * fmin(d->blocks_per_sm, 1);
		occupied += s * d->occupancy / 100;
	}
	p->to->sm_efficiency = known > 0 && p->to->seconds > 0 ? efficient / p->to->seconds : NAN;
	p->to->occupancy = known > 0 ? occupied / known : NAN;
}

/* The most that was allocated: what a record says, where it does; no sum of ours, since a trace begins in the middle. */
static void find_peak(struct op_events *x, struct op_steps *to)
{
	vec_each (&x->memory, m)
		if (ops_device_bytes(m) && m->total_bytes > to->peak_bytes)
			to->peak_bytes = m->total_bytes;
	to->peak_share = to->peak_bytes && x->device_bytes
		? (double)to->peak_bytes / (double)x->device_bytes
		: NAN;
}

const struct op_steps *op_steps_build(struct arena *a, struct op_events *x)
{
	struct splitting p = { .to = arena_new(a, struct op_steps) };

	op_asides_of_python(x);
	ops_tree_init(&p.tree, x, false);
	op_processes_init(&p.processes, x);
	look_at_names(&p);
	find_steps(&p, a);
	make_edges(&p);
	add_computing(&p);
	stretch_steps(&p);
	split(&p);
	sum_steps(&p);
	sum_kernels(&p);
	find_peak(x, p.to);
	p.to->v = arena_copy(a, p.steps.v, p.steps.n * sizeof *p.steps.v);
	p.to->n = p.steps.n;
	vec_done(&p.steps);
	vec_done(&p.edges);
	free(p.name_part);
	op_processes_done(&p.processes);
	ops_tree_done(&p.tree);
	return p.to;
}
