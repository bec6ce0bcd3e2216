/* SPDX-License-Identifier: MIT
 * See neighbours.h. */
#include "analyze/neighbours.h"

#include <stdlib.h>

#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct side {
	struct map index; /* function + 1, 0: none → index */
	VEC(struct neighbour) v;
};

static void charge(
	struct side *side, const struct stack_frame *f, const struct stack_place *p, double scale)
{
	uint64_t key = f ? (uint64_t)f->function + 1 : 0, index;

	if (!map_find(&side->index, key, &index)) {
		index = side->v.n;
		map_put(&side->index, key, index);
		vec_push(&side->v,
			(struct neighbour){ .function = f ? f->function : 0, .is_none = !f });
	}
	side->v.v[index].n += p->n_samples;
	side->v.v[index].seconds += p->seconds * scale;
}

static int by_time(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

void neighbours_sort(struct neighbour *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, by_time);
}

static const struct neighbour *finish(struct arena *a, struct side *side, size_t *ret_n)
{
	const struct neighbour *list;

	neighbours_sort(side->v.v, side->v.n);
	list = arena_copy(a, side->v.v, side->v.n * sizeof *side->v.v);
	*ret_n = side->v.n;
	map_done(&side->index);
	vec_done(&side->v);
	return list;
}

const struct neighbours *neighbours_build(
	struct arena *a, const struct stacks *s, double lost_share, uint32_t function)
{
	struct neighbours *r = arena_new(a, struct neighbours);
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);
	struct side callers = { 0 }, callees = { 0 };
	double scale = 1 - lost_share;

	r->function = function;
	for (size_t i = 0; i < s->n; i++) {
		size_t n = stacks_frames(s, i, frames), first = SIZE_MAX, last = 0;

		for (size_t k = 0; k < n; k++) /* leaf first */
			if (frames[k].function == function) {
				last = k;
				first = first == SIZE_MAX ? k : first;
			}
		if (first == SIZE_MAX)
			continue;
		r->total_n += s->v[i].n_samples;
		r->total_s += s->v[i].seconds * scale;
		charge(&callers, last + 1 < n ? &frames[last + 1] : NULL, &s->v[i], scale);
		charge(&callees, first ? &frames[first - 1] : NULL, &s->v[i], scale);
	}
	r->callers = finish(a, &callers, &r->n_callers);
	r->callees = finish(a, &callees, &r->n_callees);
	free(frames);
	return r;
}
