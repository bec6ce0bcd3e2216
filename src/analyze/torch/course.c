/* SPDX-License-Identifier: MIT
 * See course.h. */
#include "analyze/torch/course.h"

#include <string.h>

#include "analyze/torch/processes.h"
#include "analyze/torch/tree.h"
#include "base/bisect.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

uint8_t op_sign_of(const char *name)
{
	if (begins(name, "Optimizer.step#"))
		return OP_SIGN_OPTIMIZER;
	if (begins(name, "Optimizer.zero_grad#"))
		return OP_SIGN_ZERO_GRAD;
	if (begins(name, "enumerate(DataLoader)#"))
		return OP_SIGN_BATCH;
	if (begins(name, "autograd::engine::evaluate_function") ||
		text_ends_with(name, "Backward0"))
		return OP_SIGN_BACKWARD;
	return 0;
}

/* Nothing that it calls is looked at. */
static bool is_whole(const struct op_course *c, const struct op_event *e)
{
	return e->category == OP_CPU ||
		c->signs[e->name] & (OP_SIGN_OPTIMIZER | OP_SIGN_ZERO_GRAD | OP_SIGN_BATCH);
}

static bool is_action(const struct op_course *c, uint32_t node)
{
	const struct op_event *e = ops_node(c->t, node);
	uint32_t up = c->t->parent[node];

	if (!is_whole(c, e) || c->t->name_flags[e->name] & OPS_NAME_HIDDEN)
		return false;
	while (up != OPS_NONE && !is_whole(c, ops_node(c->t, up)))
		up = c->t->parent[up];
	return up == OPS_NONE;
}

static void take_nodes(struct op_course *c, const struct op_processes *p, uint32_t process)
{
	const struct ops_tree *t = c->t;

	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		if (t->order[i] < t->n_events && e->category <= OP_ANNOTATION &&
			p->of_track[e->track] == process)
			vec_push(&c->nodes, t->order[i]);
	}
}

/* Calls of optimizers come first, then batches, then operators. */
static uint16_t track_of(const struct op_course *c)
{
	size_t n_tracks = c->t->x->tracks.items.n, best = 0;
	uint64_t *n = xcalloc(n_tracks + 1, sizeof *n);

	for (size_t i = 0; i < c->nodes.n; i++) {
		const struct op_event *e = ops_node(c->t, c->nodes.v[i]);
		uint8_t signs = c->signs[e->name];

		n[e->track] += signs & OP_SIGN_OPTIMIZER ? UINT64_C(1) << 48
			: signs & OP_SIGN_BATCH          ? UINT64_C(1) << 32
							 : e->category == OP_CPU;
	}
	for (size_t i = 0; i < n_tracks; i++)
		best = n[i] > n[best] ? i : best;
	free(n);
	return (uint16_t)best;
}

void op_course_init(struct op_course *c, const struct ops_tree *t, const struct op_processes *p,
	uint32_t process)
{
	size_t n = t->x->names.items.n;
	uint16_t track;

	*c = (struct op_course){ .t = t, .signs = xcalloc(n + 1, 1) };
	for (size_t i = 0; i < n; i++)
		c->signs[i] = op_sign_of(op_events_name(t->x, (uint32_t)i));
	take_nodes(c, p, process);
	track = track_of(c);
	vec_each (&c->nodes, node) {
		const struct op_event *e = ops_node(t, *node);
		int64_t end = e->start_ns + e->duration_ns;

		if (c->signs[e->name] & OP_SIGN_BACKWARD)
			vec_push(&c->backward, (struct op_backward){ e->start_ns, end });
		if (e->track == track && is_action(c, *node))
			vec_push(&c->v,
				(struct op_action){
					e->start_ns, end, *node, e->name, c->signs[e->name] });
	}
}

void op_course_done(struct op_course *c)
{
	free(c->signs);
	vec_done(&c->nodes);
	vec_done(&c->v);
	vec_done(&c->backward);
}

static size_t backward_before(const struct op_course *c, int64_t t_ns)
{
	return bisect(i, c->backward.n, c->backward.v[i].start_ns < t_ns);
}

size_t op_course_backward(const struct op_course *c, int64_t from_ns, int64_t until_ns)
{
	return until_ns > from_ns ? backward_before(c, until_ns) - backward_before(c, from_ns) : 0;
}

size_t op_course_at(const struct op_course *c, int64_t t_ns)
{
	return bisect(i, c->v.n, c->v.v[i].start_ns < t_ns);
}
