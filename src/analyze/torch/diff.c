/* SPDX-License-Identifier: MIT
 * See diff.h. */
#include "analyze/torch/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/banned.h"

const char *const ops_diff_scales[] = { "absolute", "run", "step" };

static const char no_operator[] = "(no operator)";

static void add(struct ops_diff_side *to, const struct ops_diff_side *x)
{
	to->calls += x->calls;
	to->self_cpu_s += x->self_cpu_s;
	to->self_device_s += x->self_device_s;
}

/* On the device, without what annotations span there. */
static double device_seconds(const struct op_events *x)
{
	double ns = 0;

	for (size_t i = 0; i < x->v.n; i++)
		if (op_is_device(&x->v.v[i]) && x->v.v[i].category != OP_DEVICE_ANNOTATION)
			ns += (double)x->v.v[i].duration_ns;
	return ns / 1e9;
}

struct ops_diff_source ops_diff_take(struct arena *a, const char *path, struct op_events *x)
{
	const struct op_steps *steps = op_steps_build(a, x);
	/* Operators are those of all processes, each of which makes its steps. */
	size_t n_processes = steps->n_processes > 1 ? steps->n_processes : 1;
	double device_s = device_seconds(x);
	const struct ops *ops = ops_count(a, x, &(struct ops_options){ 0 });
	struct ops_diff_row *rows = arena_new_n(a, struct ops_diff_row, ops->n + 1);
	struct ops_diff_trace trace = { .path = path,
		.missing = arena_strdup(a, op_events_missing(x)),
		.n_steps = steps->how == OP_STEPS_ALL ? 0 : steps->n * n_processes,
		.step_s = steps->how == OP_STEPS_ALL ? NAN : steps->median_s };
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++) {
		const struct ops_row *r = &ops->v[i];

		rows[n++] = (struct ops_diff_row){ .name = arena_strdup(a, r->name),
			.is_annotation = r->is_annotation,
			.side[0] = { (double)r->n_calls, r->self_cpu_us / 1e6,
				r->self_device_us / 1e6 } };
		add(&trace.total, &rows[n - 1].side[0]);
	}
	if (device_s - trace.total.self_device_s > 1e-9) {
		rows[n] = (struct ops_diff_row){ .name = no_operator,
			.side[0] = { .self_device_s = device_s - trace.total.self_device_s } };
		add(&trace.total, &rows[n++].side[0]);
	}
	return (struct ops_diff_source){ trace, rows, n };
}

/* Whether something is a region or an operator is no part of its name: collectors do not always agree on it. */
static int by_name(const void *a, const void *b)
{
	const struct ops_diff_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static double size_of(const struct ops_diff_row *r)
{
	return fabs(r->side[1].self_cpu_s - r->side[0].self_cpu_s) +
		fabs(r->side[1].self_device_s - r->side[0].self_device_s);
}

static int by_change(const void *a, const void *b)
{
	double x = size_of(a), y = size_of(b);

	return x != y ? (x < y) - (x > y) : by_name(a, b);
}

/* What the sides are multiplied by: calls and times. */
static struct ops_diff_side factor(const struct ops_diff_source *s, enum ops_diff_scale scale)
{
	const struct ops_diff_side *t = &s->trace.total;
	double n = scale == OPS_DIFF_STEP ? 1 / (double)s->trace.n_steps : 1;

	if (scale != OPS_DIFF_RUN)
		return (struct ops_diff_side){ n, n, n };
	return (struct ops_diff_side){ t->calls > 0 ? 1 / t->calls : 0,
		t->self_cpu_s > 0 ? 1 / t->self_cpu_s : 0,
		t->self_device_s > 0 ? 1 / t->self_device_s : 0 };
}

static struct ops_diff_side scaled(const struct ops_diff_side *x, const struct ops_diff_side *by)
{
	return (struct ops_diff_side){ x->calls * by->calls, x->self_cpu_s * by->self_cpu_s,
		x->self_device_s * by->self_device_s };
}

/* Rows of both, each with its side filled, sorted by name: those of one name become one. */
static size_t join(struct ops_diff_row *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof *v, by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_name(&v[kept - 1], &v[i]) == 0) {
			add(&v[kept - 1].side[0], &v[i].side[0]);
			add(&v[kept - 1].side[1], &v[i].side[1]);
			v[kept - 1].is_annotation |= v[i].is_annotation;
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

struct ops_diff *ops_diff_build(
	struct arena *a, const struct ops_diff_source source[2], enum ops_diff_scale scale)
{
	struct ops_diff *d = arena_new(a, struct ops_diff);
	size_t n = 0;

	if (scale == OPS_DIFF_STEP && (!source[0].trace.n_steps || !source[1].trace.n_steps))
		scale = OPS_DIFF_ABSOLUTE;
	*d = (struct ops_diff){ .scale = scale,
		.v = arena_new_n(a, struct ops_diff_row, source[0].n + source[1].n) };
	for (size_t k = 0; k < 2; k++) {
		struct ops_diff_side by = factor(&source[k], scale);

		d->trace[k] = source[k].trace;
		d->trace[k].total = scaled(&source[k].trace.total, &by);
		d->has_device |= source[k].trace.total.self_device_s > 0;
		for (size_t i = 0; i < source[k].n; i++, n++) {
			d->v[n] = (struct ops_diff_row){ .name = source[k].v[i].name,
				.is_annotation = source[k].v[i].is_annotation };
			d->v[n].side[k] = scaled(&source[k].v[i].side[0], &by);
		}
	}
	d->n = join(d->v, n);
	if (d->n)
		qsort(d->v, d->n, sizeof *d->v, by_change);
	return d;
}
