/* SPDX-License-Identifier: MIT
 * See facts.h. */
#include "advise/torch/facts.h"

#include <stdlib.h>
#include <string.h>

#include "advise/finding.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/streams.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { DEPTH = 64 }; /* callers looked at */

/* ---- names ----------------------------------------------------------------------------------- */

enum how { IS, BEGINS, HAS };

struct name_row {
	const char *word;
	enum how how;
	uint32_t kinds;
};

static const struct name_row name_rows[] = {
	{ "aten::item", IS, OP_NAME_ASKS },
	{ "aten::_local_scalar_dense", IS, OP_NAME_ASKS },
	{ "aten::nonzero", IS, OP_NAME_ASKS },
	{ "aten::is_nonzero", IS, OP_NAME_ASKS },
	{ "aten::equal", IS, OP_NAME_ASKS },
	{ "cudaStreamSynchronize", IS, OP_NAME_WAITS },
	{ "cudaDeviceSynchronize", IS, OP_NAME_WAITS },
	{ "cudaEventSynchronize", IS, OP_NAME_WAITS },
	{ "cuStreamSynchronize", IS, OP_NAME_WAITS },
	{ "hipStreamSynchronize", IS, OP_NAME_WAITS },
	{ "cudaMalloc", BEGINS, OP_NAME_ALLOCATES },
	{ "cudaFree", BEGINS, OP_NAME_ALLOCATES },
	{ "cudaHostAlloc", BEGINS, OP_NAME_ALLOCATES },
	{ "cuMemCreate", BEGINS, OP_NAME_ALLOCATES },
	{ "cuMemRelease", BEGINS, OP_NAME_ALLOCATES },
	{ "hipMalloc", BEGINS, OP_NAME_ALLOCATES },
	{ "hipFree", BEGINS, OP_NAME_ALLOCATES },
	{ "nchwToNhwc", HAS, OP_NAME_LAYOUT },
	{ "nhwcToNchw", HAS, OP_NAME_LAYOUT },
	{ "elementwise_kernel", HAS, OP_NAME_POINTWISE },
	{ "Lazy Function Loading", IS, OP_NAME_LOADS },
	{ "Runtime Triggered Module Loading", IS, OP_NAME_LOADS },
	{ "aten::zeros", IS, OP_NAME_FILLS },
	{ "aten::ones", IS, OP_NAME_FILLS },
	{ "aten::full", IS, OP_NAME_FILLS },
	{ "aten::rand", IS, OP_NAME_FILLS },
	{ "aten::randn", IS, OP_NAME_FILLS },
	{ "aten::randint", IS, OP_NAME_FILLS },
	{ "aten::arange", IS, OP_NAME_FILLS },
	{ "aten::eye", IS, OP_NAME_FILLS },
	{ "aten::to", IS, OP_NAME_MOVES },
	{ "Optimizer.zero_grad#", BEGINS, OP_NAME_ZERO_GRAD },
	{ "Optimizer.step#", BEGINS, OP_NAME_OPTIMIZER },
	{ "aten::_foreach_", BEGINS, OP_NAME_FOREACH },
	{ "aten::_fused_", BEGINS, OP_NAME_FOREACH },
	{ "aten::conv2d", IS, OP_NAME_CONVOLUTION },
	{ "aten::conv1d", IS, OP_NAME_CONVOLUTION },
	{ "aten::conv3d", IS, OP_NAME_CONVOLUTION },
	{ "aten::mm", IS, OP_NAME_PRODUCT },
	{ "aten::addmm", IS, OP_NAME_PRODUCT },
	{ "aten::bmm", IS, OP_NAME_PRODUCT },
	{ "aten::baddbmm", IS, OP_NAME_PRODUCT },
	{ "aten::batch_norm", IS, OP_NAME_BATCH_NORM },
	{ "aten::add_", IS, OP_NAME_ADDS },
	{ "Memcpy HtoD (Pinned", BEGINS, OP_NAME_FROM_PINNED },
	{ "Memcpy HtoD", BEGINS, OP_NAME_TO_DEVICE },
	{ "Memcpy DtoH", BEGINS, OP_NAME_TO_HOST },
	{ "DistributedDataParallel.forward", IS, OP_NAME_DDP },
	{ "c10d::allreduce_", IS, OP_NAME_ALL_REDUCE },
	{ "aten::zero_", IS, OP_NAME_ZEROES },
	{ "aten::_foreach_zero_", IS, OP_NAME_ZEROES },
	{ "autograd::engine::evaluate_function: ", BEGINS, OP_NAME_BACKWARD },
	{ "autograd::engine::evaluate_function: SelectBackward", BEGINS, OP_NAME_SELECT_BACKWARD },
	{ "autograd::engine::evaluate_function: SliceBackward", BEGINS, OP_NAME_SELECT_BACKWARD },
	{ "aten::select", IS, OP_NAME_SELECT },
	{ "aten::slice", IS, OP_NAME_SELECT },
	{ "aten::clone", IS, OP_NAME_CLONES },
	{ "aten::contiguous", IS, OP_NAME_ARRANGES },
	{ "aten::reshape", IS, OP_NAME_ARRANGES },
	{ "enumerate(DataLoader)#", BEGINS, OP_NAME_LOADER },
	{ "Optimizer.step#Adam.", BEGINS, OP_NAME_FUSES },
	{ "Optimizer.step#AdamW.", BEGINS, OP_NAME_FUSES },
	{ "Optimizer.step#Adagrad.", BEGINS, OP_NAME_FUSES },
};

static bool is_of(const char *name, const struct name_row *row)
{
	switch (row->how) {
	case IS:
		return strcmp(name, row->word) == 0;
	case BEGINS:
		return strncmp(name, row->word, strlen(row->word)) == 0;
	case HAS:
		return strstr(name, row->word) != NULL;
	}
	return false;
}

static void look_at_names(struct op_facts *f)
{
	size_t n = f->x->names.items.n;

	f->kinds = xcalloc(n + 1, sizeof *f->kinds);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof name_rows / sizeof *name_rows; k++)
			if (is_of(op_events_name(f->x, (uint32_t)i), &name_rows[k]))
				f->kinds[i] |= name_rows[k].kinds;
}

/* ---- the device ------------------------------------------------------------------------------ */

static void look_at_device(struct op_facts *f)
{
	const struct ops_tree *t = &f->tree;

	f->device_ns = xcalloc(f->x->v.n + 1, sizeof *f->device_ns);
	f->device_start = xcalloc(f->x->device.n + 1, sizeof *f->device_start);
	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);
		uint32_t owner = ops_owner(t, e);

		if (!op_is_device(e) || e->category == OP_DEVICE_ANNOTATION)
			continue;
		if (f->n_device < f->x->device.n)
			f->device_start[f->n_device++] = e->start_ns;
		if (owner != OPS_NONE)
			f->device_ns[owner] += e->duration_ns;
	}
}

void op_facts_init(struct op_facts *f)
{
	f->lines = xcalloc(1, sizeof *f->lines);
	ops_tree_init(&f->tree, f->x, false);
	look_at_names(f);
	look_at_device(f);
	f->streams = f->n_device ? op_streams_build(f->a, f->x) : NULL;
	f->compile = op_compile_build(f->a, f->x);
}

void op_facts_done(struct op_facts *f)
{
	map_done(&f->lines->by_name);
	free(f->lines);
	free(f->kinds);
	free(f->device_ns);
	free(f->device_start);
	ops_tree_done(&f->tree);
}

/* ---- figures --------------------------------------------------------------------------------- */

size_t op_step_of(const struct op_facts *f, int64_t t_ns)
{
	size_t low = bisect(i, f->steps->n, f->steps->v[i].start_ns <= t_ns);

	return low && t_ns < f->steps->v[low - 1].end_ns ? low : 0;
}

bool op_is_over(const struct op_facts *f, double seconds, double threshold)
{
	return f->steps->seconds > 0 && seconds / f->steps->seconds > threshold;
}

const char *op_of_steps(const struct op_facts *f, double seconds)
{
	char part[UNITS_TEXT], all[UNITS_TEXT], share[UNITS_TEXT];

	return arena_printf(f->a, "%s of %s of steps (%s)",
		units_format(part, UNIT_SECONDS, seconds),
		units_format(all, UNIT_SECONDS, f->steps->seconds),
		units_format(share, UNIT_SHARE, seconds / f->steps->seconds));
}

const struct ops_row *op_find_row(const struct op_facts *f, const char *begin)
{
	for (size_t i = 0; i < f->ops->n; i++)
		if (strncmp(f->ops->v[i].name, begin, strlen(begin)) == 0)
			return &f->ops->v[i];
	return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

uint32_t op_asked(const struct op_facts *f, uint32_t node)
{
	const struct op_event *e = ops_node(&f->tree, node);

	if (!f->ops->asked)
		return 0;
	if (op_is_device(e))
		node = ops_owner(&f->tree, e);
	for (unsigned i = 0; i < DEPTH && node != OPS_NONE; i++, node = f->tree.parent[node])
		if (node < f->tree.n_events && f->ops->asked[node])
			return f->ops->asked[node];
	return 0;
}

void op_add_asked(const struct op_facts *f, uint32_t asked, int64_t ns)
{
	struct op_lines *l = f->lines;
	uint64_t sum = 0;

	l->all_ns += ns;
	if (!asked || ns <= 0)
		return;
	map_find(&l->by_name, asked, &sum);
	sum += (uint64_t)ns;
	map_put(&l->by_name, asked, sum);
	if ((int64_t)sum > l->most_ns) {
		l->most_ns = (int64_t)sum;
		l->most = asked;
	}
}

void op_add_lines_of(const struct op_facts *f, const char *begin)
{
	size_t n = strlen(begin);

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];

		if (!op_is_device(e) && e->category != OP_PYTHON && op_in_steps(f, e->start_ns) &&
			strncmp(op_events_name(f->x, e->name), begin, n) == 0)
			op_add_line(f, (uint32_t)i, e->duration_ns);
	}
}

/* No function of its thread had returned when it began, so it may have been running when profiling began. Then torch names it by the
 * line it was at, which need not have asked for anything. */
static bool may_have_been_running(const struct op_events *x, uint32_t name)
{
	const struct op_event *first = NULL;

	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];

		if (e->category == OP_PYTHON && e->name == name &&
			(!first || e->start_ns < first->start_ns))
			first = e;
	}
	for (size_t i = 0; first && i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];

		if (e->category == OP_PYTHON && e->track == first->track &&
			e->start_ns + e->duration_ns <= first->start_ns)
			return false;
	}
	return first;
}

/* "train.py(12): step", as Python functions are named in traces. */
static void read_place(struct arena *a, const char *name, struct finding *to)
{
	for (const char *at = strchr(name, '('); at; at = strchr(at + 1, '(')) {
		char *end;
		unsigned long line = at[1] >= '0' && at[1] <= '9' ? strtoul(at + 1, &end, 10) : 0;

		if (at == name || !line || line > INT32_MAX || strncmp(end, "): ", 3) != 0)
			continue;
		to->file = arena_strndup(a, name, (size_t)(at - name));
		to->line = (uint32_t)line;
		return;
	}
}

static bool has_half(const struct op_lines *l)
{
	return l->most && l->most_ns >= l->all_ns - l->most_ns;
}

const char *op_mostly_from(const struct op_facts *f)
{
	return has_half(f->lines) ? arena_printf(f->a, ", most of it from %s",
					    op_events_name(f->x, f->lines->most - 1))
				  : "";
}

void op_lines_tell(const struct op_facts *f, struct finding *to)
{
	const struct op_lines *l = f->lines;

	if (!has_half(l))
		return;
	read_place(f->a, op_events_name(f->x, l->most - 1), to);
	if (!f->x->sources.n && may_have_been_running(f->x, l->most - 1))
		to->line = 0;
}

uint32_t op_within(const struct op_facts *f, uint32_t node, uint32_t kinds)
{
	for (unsigned i = 0; i < DEPTH && node != OPS_NONE; i++, node = f->tree.parent[node])
		if (f->kinds[ops_node(&f->tree, node)->name] & kinds)
			return node;
	return OPS_NONE;
}

bool op_is_top(const struct op_facts *f, uint32_t node)
{
	uint32_t up = f->tree.parent[node];

	while (up != OPS_NONE && ops_node(&f->tree, up)->category != OP_CPU)
		up = f->tree.parent[up];
	return up == OPS_NONE;
}
