/* SPDX-License-Identifier: MIT
 * See results.h. */
#include "analyze/torch/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stretch.h"
#include "analyze/torch/allocations.h"
#include "analyze/torch/unreleased.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/flows.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/modules.h"
#include "analyze/torch/phases.h"
#include "analyze/torch/record.h"
#include "analyze/torch/slow.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/streams.h"
#include "analyze/torch/subset.h"
#include "analyze/torch/timeline.h"
#include "analyze/torch/work.h"
#include "analyze/torch/table.h"
#include "analyze/torch/diff.h"
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
	t->tables = tables;
	if (op_record_read(tables, &t->x, &ignored) == 0)
		return t;
	torch_free(t);
	return NULL;
}

void torch_free(struct torch *t)
{
	if (!t)
		return;
	vec_each (&t->parts, part)
		torch_free(part->torch);
	vec_done(&t->parts);
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

/* ---- parts ----------------------------------------------------------------------------------- */

/* `of`: what it is called among the parts. */
static struct torch *part_of(struct torch *t, const char *of, const struct op_subset *which)
{
	struct torch_piece part = { .torch = NULL };
	struct op_events x;

	vec_each (&t->parts, known)
		if (strcmp(known->of, of) == 0)
			return known->torch;
	op_subset_take(&t->x, which, &x);
	snprintf(part.of, sizeof part.of, "%s", of);
	part.torch = torch_of_events(&x);
	vec_push(&t->parts, part);
	return part.torch;
}

struct torch *torch_of_process(struct torch *t, const char *process)
{
	char of[32];

	snprintf(of, sizeof of, "pid %.20s", process);
	return part_of(t, of, &(struct op_subset){ .process = process });
}

int torch_phase_find(struct torch *t, const char *phase, struct arena *a,
	const struct stretch **ret, size_t *ret_n, struct err *e)
{
	const struct op_phases *p = torch_phases(t);
	struct stretch *v;
	enum op_phase which;

	if (!p)
		return err_set(e, ERR_UNSUPPORTED,
			"its phases are not known: no steps were found among its operators");
	if (!op_phases_find(p, phase, &which))
		return err_set(e, ERR_USAGE,
			"phase '%.40s': there are imports, set-up, %s, validation, saving and other",
			phase, p->is_training ? "training" : "steps (nothing ran backward)");
	v = arena_new_n(a, struct stretch, p->n);
	*ret_n = 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].phase == which)
			v[(*ret_n)++] = (struct stretch){ p->v[i].start_ns, p->v[i].end_ns };
	*ret = v;
	return *ret_n ? 0 : err_set(e, ERR_USAGE, "phase '%.40s' took no time here", phase);
}

int torch_in_phase(struct torch *t, const char *phase, struct torch **ret, struct err *e)
{
	struct op_subset which = { 0 };
	char of[32];

	if (torch_phase_find(t, phase, &t->arena, &which.within, &which.n_within, e) < 0)
		return -(int)e->code;
	snprintf(of, sizeof of, "in %.20s", phase);
	*ret = part_of(t, of, &which);
	(*ret)->phases = t->phases; /* of the whole, which this is a part of */
	(*ret)->has_phases = true;
	return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

const struct op_steps *torch_steps(struct torch *t)
{
	char pid[16];

	if (t->steps)
		return t->steps;
	t->steps = op_steps_build(&t->arena, &t->x);
	if (t->steps->n_processes > 1 && t->steps->pid) {
		snprintf(pid, sizeof pid, "%" PRIu32, t->steps->pid);
		t->lead = torch_of_process(t, pid);
		t->lead->steps = t->steps;
	}
	return t->steps;
}

struct torch *torch_lead(struct torch *t)
{
	torch_steps(t);
	return t->lead ? t->lead : t;
}

const struct op_phases *torch_phases(struct torch *t)
{
	if (!t->has_phases)
		t->phases = op_phases_build(&t->arena, &t->x, torch_steps(t));
	t->has_phases = true;
	return t->phases;
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
		t->slow = op_slow_build(&t->arena, &torch_lead(t)->x, torch_steps(t));
	return t->slow;
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

const struct op_unreleased *torch_unreleased(struct torch *t)
{
	if (!t->unreleased)
		t->unreleased =
			op_unreleased_build(&t->arena, torch_allocations(t), torch_steps(t), &t->x);
	return t->unreleased;
}

const struct op_compile *torch_compile(struct torch *t)
{
	if (!t->compile)
		t->compile = op_compile_build(&t->arena, &t->x);
	return t->compile;
}

const struct op_work *torch_work(struct torch *t)
{
	return op_work_build(&t->arena, &torch_lead(t)->x, torch_steps(t));
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
