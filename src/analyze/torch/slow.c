/* SPDX-License-Identifier: MIT
 * See slow.h. */
#include "analyze/torch/slow.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/torch/steps.h"
#include "analyze/torch/tree.h"
#include "analyze/torch/waited.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct sum {
	int64_t ns;
	int64_t waited_ns;
	uint64_t n_times;
};

struct comparing {
	struct ops_tree tree;
	const struct op_steps *steps;
	int64_t *self_ns;   /* by node */
	int64_t *waited_ns; /* by event, of its own time; NULL: nothing waited */
	size_t n_names;
};

static double length_of(const struct op_step *s)
{
	return (double)(s->end_ns - s->start_ns) / 1e9;
}

static void find_self(struct comparing *c)
{
	const struct ops_tree *t = &c->tree;

	c->self_ns = xcalloc(t->n_events + t->extra.n + 1, sizeof *c->self_ns);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i];
		const struct op_event *e = ops_node(t, node);

		c->self_ns[node] += e->duration_ns;
		if (!op_is_device(e) && t->parent[node] != OPS_NONE)
			c->self_ns[t->parent[node]] -= e->duration_ns;
	}
}

static void find_waited(struct comparing *c)
{
	if (c->tree.x->waited.n)
		c->waited_ns = op_waited_own(&c->tree);
}

/* Sums by name: first of the host, then of the device. On the host a step is as marked, on the device until its work has ended. */
static void sum_step(const struct comparing *c, const struct op_step *s, struct sum *sums)
{
	const struct ops_tree *t = &c->tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i];
		const struct op_event *e = ops_node(t, node);
		bool is_device = op_is_device(e);
		struct sum *to = &sums[e->name + (is_device ? c->n_names : 0)];

		if (e->start_ns < (is_device ? s->start_ns : s->host_start_ns) ||
			e->start_ns >= (is_device ? s->end_ns : s->host_end_ns) ||
			e->category == OP_DEVICE_ANNOTATION ||
			t->name_flags[e->name] & OPS_NAME_STEP)
			continue;
		to->ns += c->self_ns[node];
		if (c->waited_ns && node < t->n_events)
			to->waited_ns += c->waited_ns[node];
		to->n_times++;
	}
}

static int by_difference(const void *a, const void *b)
{
	const struct op_slow_row *x = a, *y = b;
	double p = x->seconds - x->median_s, q = y->seconds - y->median_s;

	return p > q ? -1 : p < q;
}

static void compare(
	struct comparing *c, struct arena *a, const struct sum *median, struct op_slow_step *to)
{
	size_t n = 2 * c->n_names;
	struct sum *own = xcalloc(n + 1, sizeof *own);
	VEC(struct op_slow_row) rows = VEC_INIT;

	sum_step(c, &c->steps->v[to->step], own);
	for (size_t i = 0; i < n; i++)
		if (own[i].ns > median[i].ns)
			vec_push(&rows,
				(struct op_slow_row){ .name = op_events_name(c->tree.x,
							      (uint32_t)(i % c->n_names)),
					.is_device = i >= c->n_names,
					.seconds = (double)own[i].ns / 1e9,
					.median_s = (double)median[i].ns / 1e9,
					.waited_s = (double)own[i].waited_ns / 1e9,
					.n_times = own[i].n_times,
					.n_median = median[i].n_times });
	if (rows.n)
		qsort(rows.v, rows.n, sizeof *rows.v, by_difference);
	to->n = rows.n < OP_SLOW_ROWS ? rows.n : OP_SLOW_ROWS;
	for (size_t i = 0; i < to->n; i++)
		rows.v[i].name = arena_strdup(a, rows.v[i].name);
	to->v = arena_copy(a, rows.v, to->n * sizeof *rows.v);
	vec_done(&rows);
	free(own);
}

static int by_length(const void *a, const void *b)
{
	const struct op_slow_step *x = a, *y = b;

	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static struct op_slow_step *choose(
	const struct op_steps *steps, struct arena *a, struct op_slow *to)
{
	struct op_slow_step *v = arena_new_n(a, struct op_slow_step, steps->n + 1);

	for (size_t i = 0; i < steps->n; i++) {
		double s = length_of(&steps->v[i]);

		if (fabs(s - steps->median_s) <
			fabs(length_of(&steps->v[to->median]) - steps->median_s))
			to->median = i;
		if (s > 1.2 * steps->median_s)
			v[to->n_slow++] = (struct op_slow_step){ .step = i, .seconds = s };
	}
	qsort(v, to->n_slow, sizeof *v, by_length);
	to->n = to->n_slow < OP_SLOW_STEPS ? to->n_slow : OP_SLOW_STEPS;
	to->v = v;
	to->median_s = length_of(&steps->v[to->median]);
	return v;
}

const struct op_slow *op_slow_build(
	struct arena *a, struct op_events *x, const struct op_steps *steps)
{
	struct op_slow *to = arena_new(a, struct op_slow);
	struct comparing c = { .steps = steps };
	struct op_slow_step *v;
	struct sum *median;

	if (steps->n < 3)
		return to;
	v = choose(steps, a, to);
	if (!to->n)
		return to;
	ops_tree_init(&c.tree, x, false);
	c.n_names = x->names.items.n;
	find_self(&c);
	find_waited(&c);
	median = xcalloc(2 * c.n_names + 1, sizeof *median);
	sum_step(&c, &steps->v[to->median], median);
	for (size_t i = 0; i < to->n; i++)
		compare(&c, a, median, &v[i]);
	free(median);
	free(c.self_ns);
	free(c.waited_ns);
	ops_tree_done(&c.tree);
	return to;
}
