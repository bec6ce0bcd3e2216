/* SPDX-License-Identifier: MIT
 * All that is made of the events of a PyTorch trace, for fuzz targets: nothing of it may crash; our own count has no negative times, and
 * changes from a trace to itself are none. */
#ifndef FUZZ_LOOK_AT_OPS_H
#define FUZZ_LOOK_AT_OPS_H

#include <math.h>
#include <stdlib.h>

#include "advise/torch/advice.h"
#include "analyze/torch/allocations.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/diff.h"
#include "analyze/torch/events.h"
#include "analyze/torch/flows.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/modules.h"
#include "analyze/torch/phases.h"
#include "analyze/torch/ranks.h"
#include "analyze/torch/slow.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/streams.h"
#include "analyze/torch/table.h"
#include "analyze/torch/timeline.h"
#include "analyze/torch/work.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "view/torch/allocations.h"
#include "view/torch/compile.h"
#include "view/torch/diff.h"
#include "view/torch/modules.h"
#include "view/torch/overview.h"
#include "view/torch/ranks.h"
#include "view/torch/table.h"
#include "view/torch/work.h"

static inline void look_at_ops(struct op_events *x, bool by_shape)
{
	struct ops_options o = { .by_shape = by_shape };
	struct ops_view v = { .limit = 50, .tree_limit = 50, .width = 80, .by_launch = by_shape };
	struct arena a = ARENA_INIT;
	struct buf text = BUF_INIT;
	struct ops_torch torch;
	struct ops *ops;
	const struct op_steps *steps;
	const struct op_kernels *kernels;

	ops_torch_version(x, NULL, &torch);
	ops = ops_as_torch(&a, x, &o, &torch);
	ops_sort(ops, "self_cuda_time_total");
	ops_print_torch(ops, &torch, &v, &text);
	ops = ops_count(&a, x, &o);
	ops_sort(ops, "self_cpu_time_total");
	for (size_t i = 0; i < ops->n; i++)
		if (ops->v[i].self_cpu_us < 0)
			abort();
	ops_print(ops, &v, "x", &text);
	steps = op_steps_build(&a, x);
	kernels = op_kernels_build(&a, x);
	op_overview_print(x, steps, op_phases_build(&a, x, steps),
		op_advice_build(&a, x, steps, kernels, ops, NULL), &v, &text);
	op_steps_print(steps, &v, &text);
	op_slow_print(op_slow_build(&a, x, steps), steps, &v, &text);
	op_kernels_print(by_shape ? op_kernels_by_launch(&a, x) : kernels, &v, &text);
	op_modules_print(op_modules_build(&a, x), &v, &text);
	op_allocations_print(op_allocations_build(&a, x), &v, &text);
	op_compile_print(op_compile_build(&a, x), &v, &text);
	op_streams_print(op_streams_build(&a, x), &v, &text);
	op_work_print(op_work_build(&a, x, steps), &v, &text);
	op_flows_build(&a, x);
	op_timeline_build(&a, x, by_shape);
	buf_done(&text);
	arena_done(&a);
}

static inline void compare_ops(struct op_events *x, enum ops_diff_scale scale)
{
	const struct ops_view v = { .limit = 50, .width = 80 };
	struct arena a = ARENA_INIT;
	struct buf text = BUF_INIT;
	const struct ops_diff_source side = ops_diff_take(&a, "x", x);
	const struct ops_diff *d =
		ops_diff_build(&a, (struct ops_diff_source[]){ side, side }, scale);

	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].side[0].self_cpu_s != d->v[i].side[1].self_cpu_s ||
			d->v[i].side[0].calls != d->v[i].side[1].calls)
			abort();
	ops_diff_print(d, &v, &text);
	buf_done(&text);
	arena_done(&a);
}

/* The same events as three ranks of a job. */
static inline void rank_ops(struct op_events *x)
{
	const struct ops_view v = { .limit = 50, .width = 80 };
	struct arena a = ARENA_INIT;
	struct op_ranks ranks = { .a = &a };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	int rank = x->rank;

	for (int i = 0; i < 3; i++) {
		x->rank = rank < 0 ? rank : i;
		op_ranks_add(&ranks, "x", x, &e);
	}
	x->rank = rank;
	if (op_ranks_compare(&ranks, &e) == 0)
		op_ranks_print(&ranks, &v, &text);
	op_ranks_done(&ranks);
	buf_done(&text);
	arena_done(&a);
}

/* All of it. */
static inline void look_at_all_ops(struct op_events *x)
{
	look_at_ops(x, false);
	look_at_ops(x, true);
	compare_ops(x, OPS_DIFF_STEP);
	compare_ops(x, OPS_DIFF_RUN);
	rank_ops(x);
}

#endif
