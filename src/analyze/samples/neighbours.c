/* SPDX-License-Identifier: MIT
 * See neighbours.h. */
#include "analyze/samples/neighbours.h"

#include <stdlib.h>

#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/banned.h"

struct side {
	struct map index; /* function + 1, 0: none → index */
	VEC(struct neighbour) v;
	VEC(path_time) times; /* beside them */
};

/* function NULL: none. */
static void charge(struct side *side, const uint32_t *function, uint64_t n_samples, path_time time)
{
	uint64_t key = function ? (uint64_t)*function + 1 : 0, index;

	if (!map_find(&side->index, key, &index)) {
		index = side->v.n;
		map_put(&side->index, key, index);
		vec_push(&side->v,
			(struct neighbour){ .function = function ? *function : 0,
				.is_none = !function,
				.interval = { UNITS_UNKNOWN, UNITS_UNKNOWN } });
		vec_push(&side->times, 0);
	}
	saturated_add(&side->v.v[index].n, n_samples);
	side->times.v[index] += time;
}

static int by_time(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

void neighbours_sort(struct neighbour *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, by_time);
}

static const struct neighbour *finish(struct arena *a, struct side *side,
	const struct paths_sums *sums, double scale, size_t *ret_n)
{
	const struct neighbour *list;

	for (size_t i = 0; i < side->v.n; i++)
		side->v.v[i].value = paths_value(sums, side->times.v[i]) * scale;
	neighbours_sort(side->v.v, side->v.n);
	list = arena_copy(a, side->v.v, side->v.n * sizeof *side->v.v);
	*ret_n = side->v.n;
	map_done(&side->index);
	vec_done(&side->v);
	vec_done(&side->times);
	return list;
}

/* Those of the outermost calls of the function. */
static path_time add_callers(const struct stacks *s, const struct paths_sums *sums,
	struct neighbours *r, struct side *callers)
{
	const struct path *v = s->paths->v;
	bool *is_in = xcalloc(s->paths->n, sizeof *is_in); /* the function, or below it */
	path_time total = 0;

	for (size_t i = 1; i < s->paths->n; i++) {
		uint32_t parent = v[i].parent;

		is_in[i] = is_in[parent] || v[i].function == r->function;
		if (!is_in[i] || is_in[parent])
			continue;
		saturated_add(&r->total_n, sums->v[i].total_n);
		total += sums->v[i].total;
		charge(callers, parent ? &v[parent].function : NULL, sums->v[i].total_n,
			sums->v[i].total);
	}
	free(is_in);
	return total;
}

struct below { /* a path, as far down as no further call of the function */
	uint64_t n;
	path_time time;
	bool has_own, has_any; /* places */
};

/* Those of the innermost calls of the function. Children before parents. */
static void add_callees(const struct stacks *s, const struct paths_sums *sums,
	const struct neighbours *r, struct side *callees)
{
	const struct path *v = s->paths->v;
	struct below *below = xcalloc(s->paths->n, sizeof *below);

	for (size_t i = 0; i < s->n; i++)
		below[s->paths->of_place[i]].has_own = true;
	for (size_t i = s->paths->n; i-- > 1;) {
		struct below *x = &below[i], *parent = &below[v[i].parent];

		x->time += sums->v[i].self;
		saturated_add(&x->n, sums->v[i].self_n);
		x->has_any |= x->has_own;
		if (v[i].function == r->function && x->has_own)
			charge(callees, NULL, sums->v[i].self_n, sums->v[i].self);
		if (v[i].function == r->function || !x->has_any)
			continue;
		if (v[i].parent && v[v[i].parent].function == r->function) {
			charge(callees, &v[i].function, x->n, x->time);
			continue;
		}
		parent->has_any = true;
		parent->time += x->time;
		saturated_add(&parent->n, x->n);
	}
	free(below);
}

const struct neighbours *neighbours_build(
	struct arena *a, const struct stacks *s, double lost_share, uint32_t function)
{
	struct neighbours *r = arena_new(a, struct neighbours);
	struct side callers = { 0 }, callees = { 0 };
	struct paths_sums sums = paths_sums(s);
	double scale = 1 - lost_share;

	r->function = function;
	r->total = paths_value(&sums, add_callers(s, &sums, r, &callers)) * scale;
	add_callees(s, &sums, r, &callees);
	r->callers = finish(a, &callers, &sums, scale, &r->n_callers);
	r->callees = finish(a, &callees, &sums, scale, &r->n_callees);
	paths_sums_done(&sums);
	return r;
}
