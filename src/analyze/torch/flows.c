/* SPDX-License-Identifier: MIT
 * See flows.h. */
#include "analyze/torch/flows.h"

#include "analyze/torch/events.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/banned.h"

typedef VEC(struct op_flow) flow_list;

static void add_launches(flow_list *to, const struct op_events *x)
{
	struct map launch_of = MAP_INIT; /* correlation → event */
	uint64_t from;

	for (size_t i = 0; i < x->v.n; i++)
		if (x->v.v[i].category == OP_RUNTIME && x->v.v[i].detail)
			map_put(&launch_of, x->v.v[i].detail, i);
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];

		if (op_is_device(e) && e->category != OP_DEVICE_ANNOTATION && e->detail &&
			e->detail <= x->device.n &&
			map_find(&launch_of, x->device.v[e->detail - 1].correlation, &from))
			vec_push(to, (struct op_flow){ .from = (uint32_t)from, .to = (uint32_t)i });
	}
	map_done(&launch_of);
}

/* Of two with one number the one that began later; of those that began together the inner one. */
static bool is_later(const struct op_events *x, uint64_t event, uint64_t than)
{
	const struct op_event *a = &x->v.v[event], *b = &x->v.v[than];

	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns
					  : a->duration_ns <= b->duration_ns;
}

static void add_backward(flow_list *to, const struct op_events *x)
{
	struct map last[2] = { MAP_INIT, MAP_INIT }; /* forward, backward: number → event */
	uint64_t from, event;

	for (size_t i = 0; i < x->sequences.n; i++) {
		const struct op_sequence *s = &x->sequences.v[i];
		struct map *side = &last[x->v.v[s->event].is_backward != 0];

		if (!map_find(side, s->number, &event) || is_later(x, s->event, event))
			map_put(side, s->number, s->event);
	}
	for (size_t i = 0; i < x->sequences.n; i++) {
		const struct op_sequence *s = &x->sequences.v[i];

		if (map_find(&last[1], s->number, &event) && event == s->event &&
			map_find(&last[0], s->number, &from))
			vec_push(to,
				(struct op_flow){ .from = (uint32_t)from,
					.to = s->event,
					.is_backward = true });
	}
	map_done(&last[0]);
	map_done(&last[1]);
}

const struct op_flows *op_flows_build(struct arena *a, const struct op_events *x)
{
	struct op_flows *f = arena_new(a, struct op_flows);
	flow_list all = VEC_INIT;

	add_launches(&all, x);
	add_backward(&all, x);
	f->v = arena_copy(a, all.v, all.n * sizeof *all.v);
	f->n = all.n;
	vec_done(&all);
	return f;
}

static bool is_within(const struct op_event *inner, const struct op_event *outer)
{
	return inner->track == outer->track && inner->start_ns >= outer->start_ns &&
		inner->start_ns + inner->duration_ns <= outer->start_ns + outer->duration_ns;
}

size_t op_flows_of(const struct op_flows *f, const struct op_events *x, uint32_t event, size_t most,
	uint32_t *to)
{
	const struct op_event *e = &x->v.v[event];
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct op_flow *one = &f->v[i];

		if (one->from != event && one->to != event && !is_within(&x->v.v[one->from], e) &&
			!is_within(&x->v.v[one->to], e))
			continue;
		if (n < most)
			to[n] = (uint32_t)i;
		n++;
	}
	return n;
}
