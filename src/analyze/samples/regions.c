/* SPDX-License-Identifier: MIT
 * See regions.h. */
#include "analyze/samples/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/ops.h"
#include "wire/records.h"
#include "base/banned.h"

struct builder {
	struct tables *t;
	struct map index;   /* name → region */
	struct map threads; /* name, thread → seen */
	VEC(struct region) regions;
};

/* "ProfilerStep#3": a step of torch's profiler, which has pages of its own. */
static bool is_step(const char *name)
{
	static const char step[] = "ProfilerStep#";

	return strncmp(name, step, sizeof step - 1) == 0;
}

void regions_each(
	struct tables *t, void (*call)(void *ctx, const struct region_span *span), void *ctx)
{
	struct record_iter it = record_iter(t, RECORD_region);

	for (const struct rec_region *r; (r = record_next(&it));)
		call(ctx, &(struct region_span){ r->t_ns, r->duration_ns, r->thread, r->name, 0 });
	record_iter_done(&it);
	it = record_iter(t, RECORD_op);
	for (const struct rec_op *r; (r = record_next(&it));)
		if (r->category == OP_ANNOTATION && !is_step(tables_string(t, r->name)))
			call(ctx,
				&(struct region_span){
					r->t_ns, r->duration_ns, r->thread, r->name, r->track });
	record_iter_done(&it);
}

static void add(void *ctx, const struct region_span *r)
{
	struct builder *b = ctx;
	uint64_t index, pair = (uint64_t)r->name << 32 | (r->thread ? r->thread : ~r->track);
	double seconds = (double)r->duration_ns / 1e9;
	struct region *x;

	if (!map_find(&b->index, r->name, &index)) {
		index = b->regions.n;
		map_put(&b->index, r->name, index);
		vec_push(&b->regions,
			((struct region){
				.name = tables_string(b->t, r->name), .min_s = seconds }));
	}
	x = &b->regions.v[index];
	x->n_times++;
	x->seconds += seconds;
	x->min_s = seconds < x->min_s ? seconds : x->min_s;
	x->max_s = seconds > x->max_s ? seconds : x->max_s;
	if (!map_find(&b->threads, pair, &index)) {
		map_put(&b->threads, pair, 1);
		x->n_threads++;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return x->seconds < y->seconds    ? 1
		: x->seconds > y->seconds ? -1
					  : strcmp(x->name, y->name);
}

const struct regions *regions_build(struct arena *a, struct tables *t)
{
	struct regions *ret = arena_new(a, struct regions);
	struct builder b = { .t = t };

	regions_each(t, add, &b);
	if (b.regions.n)
		qsort(b.regions.v, b.regions.n, sizeof *b.regions.v, by_time);
	ret->v = arena_copy(a, b.regions.v, b.regions.n * sizeof *b.regions.v);
	ret->n = b.regions.n;
	vec_done(&b.regions);
	map_done(&b.index);
	map_done(&b.threads);
	return ret;
}
