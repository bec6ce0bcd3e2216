/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "analyze/torch.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/op_advice.h"
#include "analyze/op_allocations.h"
#include "analyze/op_compile.h"
#include "analyze/op_flows.h"
#include "analyze/op_kernels.h"
#include "analyze/op_modules.h"
#include "analyze/op_record.h"
#include "analyze/op_slow.h"
#include "analyze/op_steps.h"
#include "analyze/op_streams.h"
#include "analyze/op_timeline.h"
#include "analyze/op_work.h"
#include "analyze/ops.h"
#include "analyze/ops_diff.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct torch *torch_of_events(struct op_events *x)
{
	struct torch *t = xcalloc(1, sizeof *t);

	t->x = *x;
	*x = (struct op_events){ 0 };
	return t;
}

struct torch *torch_of_records(const struct reader *r, struct tables *tables)
{
	struct err ignored = ERR_INIT;
	struct torch *t;

	if (!op_record_is_in(r))
		return NULL;
	t = xcalloc(1, sizeof *t);
	if (op_record_read(tables, &t->x, &ignored) == 0)
		return t;
	torch_free(t);
	return NULL;
}

void torch_free(struct torch *t)
{
	if (!t)
		return;
	op_events_done(&t->x);
	arena_done(&t->arena);
	free(t);
}

const struct ops *torch_ops(struct torch *t, bool by_shape)
{
	struct ops_options o = { .by_shape = by_shape };
	struct ops *ops;

	if (!t->ops[by_shape]) {
		ops = ops_count(&t->arena, &t->x, &o);
		ops_sort(ops, "self_cpu_time_total");
		t->ops[by_shape] = ops;
	}
	return t->ops[by_shape];
}

const struct op_steps *torch_steps(struct torch *t)
{
	if (!t->steps)
		t->steps = op_steps_build(&t->arena, &t->x);
	return t->steps;
}

const struct op_kernels *torch_kernels(struct torch *t)
{
	if (!t->kernels)
		t->kernels = op_kernels_build(&t->arena, &t->x);
	return t->kernels;
}

const struct op_kernels *torch_launches(struct torch *t)
{
	if (!t->launches)
		t->launches = op_kernels_by_launch(&t->arena, &t->x);
	return t->launches;
}

const struct op_slow *torch_slow(struct torch *t)
{
	if (!t->slow)
		t->slow = op_slow_build(&t->arena, &t->x, torch_steps(t));
	return t->slow;
}

const struct op_advice *torch_advice(struct torch *t)
{
	if (!t->advice)
		t->advice = op_advice_build(
			&t->arena, &t->x, torch_steps(t), torch_kernels(t), torch_ops(t, false));
	return t->advice;
}

const struct op_streams *torch_streams(struct torch *t)
{
	if (!t->streams)
		t->streams = op_streams_build(&t->arena, &t->x);
	return t->streams;
}

const struct op_modules *torch_modules(struct torch *t)
{
	if (!t->modules)
		t->modules = op_modules_build(&t->arena, &t->x);
	return t->modules;
}

const struct op_allocations *torch_allocations(struct torch *t)
{
	if (!t->allocations)
		t->allocations = op_allocations_build(&t->arena, &t->x);
	return t->allocations;
}

const struct op_compile *torch_compile(struct torch *t)
{
	if (!t->compile)
		t->compile = op_compile_build(&t->arena, &t->x);
	return t->compile;
}

const struct op_work *torch_work(struct torch *t)
{
	return op_work_build(&t->arena, &t->x, torch_steps(t));
}

const struct ops_diff_source *torch_side(struct torch *t, const char *path)
{
	if (!t->side) {
		struct ops_diff_source *side = arena_new(&t->arena, struct ops_diff_source);

		*side = ops_diff_take(&t->arena, path, &t->x);
		t->side = side;
	}
	return t->side;
}

const struct op_flows *torch_flows(struct torch *t)
{
	if (!t->flows)
		t->flows = op_flows_build(&t->arena, &t->x);
	return t->flows;
}

const struct op_timeline *torch_timeline(struct torch *t, bool with_python)
{
	if (!t->timelines[with_python])
		t->timelines[with_python] = op_timeline_build(&t->arena, &t->x, with_python);
	return t->timelines[with_python];
}
