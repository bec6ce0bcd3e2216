/* SPDX-License-Identifier: MIT
 * See nodes_window.h. */
#include "analyze/calls/nodes_window.h"

#include <stdlib.h>

#include "analyze/calls/nodes.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "wire/events.h"
#include "base/banned.h"

struct open {        /* a call that has begun */
	size_t node; /* index + 1; 0: not known */
	uint64_t t_ns;
	uint64_t inner_ns; /* of what it called */
};

struct cutting {
	struct node *v;
	struct map at_place;  /* → index */
	struct map of_thread; /* row → index of the thread's own */
	uint64_t from_ns;
	uint32_t thread; /* row of the one that is gone through */
	VEC(struct open) open;
	uint64_t outer_ns; /* of calls that nobody called */
};

static bool has_all_calls(const struct timeline *l)
{
	for (size_t i = 0; l && i < l->n_threads; i++)
		if (l->threads[i].n_gaps)
			return false;
	return l && !l->min_duration_ns;
}

static size_t node_at(const struct cutting *c, uint64_t place)
{
	uint64_t index;

	return map_find(&c->at_place, place, &index) && c->v[index].thread == c->thread ? index + 1
											: 0;
}

static bool is_in_itself(const struct cutting *c)
{
	size_t n = c->open.n;

	return n > 1 && c->open.v[n - 1].node == c->open.v[n - 2].node;
}

static void begin_call(void *ctx, uint64_t place, unsigned how, uint64_t t_ns)
{
	struct cutting *c = ctx;
	size_t node = node_at(c, place);
	bool is_in = t_ns >= c->from_ns;

	vec_push(&c->open, ((struct open){ .node = node, .t_ns = is_in ? t_ns : c->from_ns }));
	if (!node || !is_in)
		return;
	c->v[node - 1].calls += how == EVENT_CALL;
	c->v[node - 1].recursive_calls += how == EVENT_CALL && is_in_itself(c);
	c->v[node - 1].resumes += how == EVENT_RESUME;
}

static void end_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct cutting *c = ctx;
	struct open x = c->open.v[c->open.n - 1];
	uint64_t ns = t_ns > x.t_ns ? t_ns - x.t_ns : 0;

	(void)function;
	if (x.node) {
		c->v[x.node - 1].raw.self_s +=
			(double)(ns > x.inner_ns ? ns - x.inner_ns : 0) / 1e9;
		c->v[x.node - 1].raw.total_s += is_in_itself(c) ? 0 : (double)ns / 1e9;
	}
	c->open.n--;
	*(c->open.n ? &c->open.v[c->open.n - 1].inner_ns : &c->outer_ns) += ns;
}

/* What is left of a thread when its calls are taken off. */
static void end_thread(
	struct cutting *c, const struct timeline_thread *thread, const struct timeline_window *w)
{
	uint64_t begin = thread->t_ns > w->from_ns ? thread->t_ns : w->from_ns,
		 end = w->to_ns && w->to_ns < thread->end_ns ? w->to_ns : thread->end_ns,
		 life = end > begin ? end - begin : 0, index;

	if (!map_find(&c->of_thread, thread->row, &index))
		return;
	c->v[index].raw.self_s = (double)(life > c->outer_ns ? life - c->outer_ns : 0) / 1e9;
	c->v[index].raw.total_s = (double)life / 1e9;
}

bool nodes_window_cut(struct arena *a, struct tables *t, struct frames *f,
	const struct timeline_window *w, struct node *v, const uint64_t *places, size_t n)
{
	const struct timeline *l = timeline_build(a, t, f);
	struct cutting c = { .v = v, .from_ns = w->from_ns };
	double *events;

	if (!has_all_calls(l))
		return false;
	events = xcalloc(n + 1, sizeof *events);
	for (size_t i = 0; i < n; i++) {
		if (places[i])
			map_put(&c.at_place, places[i], i);
		if (v[i].is_thread)
			map_put(&c.of_thread, v[i].thread, i);
		events[i] = (double)v[i].calls + (double)v[i].resumes;
		v[i].calls = v[i].resumes = v[i].recursive_calls = 0;
		v[i].raw = (struct node_times){ 0 };
		v[i].awaited_s = v[i].min_s = v[i].max_s = UNITS_UNKNOWN;
		v[i].n_histogram = 0;
	}
	for (size_t i = 0; i < l->n_threads; i++) {
		c.thread = l->threads[i].row;
		c.outer_ns = 0;
		timeline_visit(l, c.thread, w,
			&(struct timeline_visitor){
				.ctx = &c, .begin_at = begin_call, .end = end_call });
		end_thread(&c, &l->threads[i], w);
	}
	for (size_t i = 0; i < n; i++)
		v[i].cost.self_s *=
			events[i] > 0 ? ((double)v[i].calls + (double)v[i].resumes) / events[i] : 0;
	vec_done(&c.open);
	map_done(&c.at_place);
	map_done(&c.of_thread);
	free(events);
	return true;
}
