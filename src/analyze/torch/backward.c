/* SPDX-License-Identifier: MIT
 * See backward.h. */
#include "analyze/torch/backward.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/tree.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

static const char NODE[] = "autograd::engine::evaluate_function: ";

enum {
	DEPTH = 512,      /* callers looked at */
	THREADS = 256,    /* of torch's own count; is_backward holds no more */
	WINDOWS_MOST = 4, /* of operators that earlier nodes did not go back to */
	NOT_SURE = UINT32_MAX,
};

/* The span that is around all that a node does. */
static bool is_node_name(const char *name)
{
	return strncmp(name, NODE, sizeof NODE - 1) == 0;
}

/* ---- what names have in common --------------------------------------------------------------- */

/* "aten::_log_softmax", "LogSoftmaxBackward0" and "aten::nll_loss_forward", "NllLossBackward0": the letters and digits, in one case. */
static void add_class(struct buf *to, const char *name, bool is_node)
{
	const char *end = name + strlen(name), *tail;

	if (is_node) {
		while (end > name && isdigit((unsigned char)end[-1]))
			end--;
		if (end - name > 8 && memcmp(end - 8, "Backward", 8) == 0)
			end -= 8;
	} else if (strncmp(name, "aten::", 6) == 0) {
		name += 6;
		tail = strstr(name, "_forward");
		end = tail && !tail[8] ? tail : end;
	}
	for (; name < end; name++)
		if (isalnum((unsigned char)*name))
			buf_addc(to, (char)tolower((unsigned char)*name));
}

struct classes {
	struct intern texts;
	uint32_t *forward, *node; /* by name, + 1; 0: none */
	uint32_t as_strided;
	bool has_nodes;
};

static void classes_init(struct classes *c, const struct op_events *x)
{
	struct buf text = BUF_INIT;
	size_t n = x->names.items.n;

	*c = (struct classes){ .forward = xcalloc(n + 1, sizeof *c->forward),
		.node = xcalloc(n + 1, sizeof *c->node) };
	for (size_t i = 0; i < n; i++) {
		const char *name = op_events_name(x, (uint32_t)i);
		bool is_node = is_node_name(name);

		buf_clear(&text);
		add_class(&text, is_node ? name + sizeof NODE - 1 : name, is_node);
		if (!text.n)
			continue;
		(is_node ? c->node : c->forward)[i] =
			intern_add(&c->texts, text.data, text.n, NULL) + 1;
		c->has_nodes |= is_node;
	}
	c->as_strided = intern_add(&c->texts, "asstrided", 9, NULL) + 1;
	buf_done(&text);
}

static void classes_done(struct classes *c)
{
	intern_done(&c->texts);
	free(c->forward);
	free(c->node);
}

/* ---- by number ------------------------------------------------------------------------------- */

struct numbered {
	const struct ops_tree *t;
	struct map forward;  /* track and number → event */
	struct map track_of; /* torch's number of a thread → its track, NOT_SURE */
};

static uint64_t key_of(uint32_t track, uint32_t number)
{
	return (uint64_t)track << 32 | number;
}

/* Of operators that share a number the last one to begin is the one that autograd goes back to. */
static void number_forward(struct numbered *n)
{
	const struct op_event *events = n->t->x->v.v;

	vec_each (&n->t->x->sequences, s) {
		const struct op_event *e = &events[s->event];
		uint64_t other;

		if (!e->is_backward &&
			(!map_find(&n->forward, key_of(e->track, s->number), &other) ||
				events[other].start_ns <= e->start_ns))
			map_put(&n->forward, key_of(e->track, s->number), s->event);
	}
}

/* Which thread of the trace is torch's number so and so: the one that has operators with all the numbers its nodes go back to, and
 * of the same names where several have. Each candidate's score is how many it has of both. */
static uint32_t find_track(const struct numbered *n, const struct classes *c, unsigned thread)
{
	size_t n_tracks = n->t->x->tracks.items.n, best = 0, n_best = 0;
	const struct op_event *events = n->t->x->v.v;
	uint64_t *score = xcalloc(n_tracks + 1, sizeof *score);

	vec_each (&n->t->x->sequences, s) {
		uint32_t node = c->node[events[s->event].name];
		uint64_t forward;

		if (events[s->event].is_backward != thread)
			continue;
		for (size_t i = 0; i < n_tracks; i++)
			if (map_find(&n->forward, key_of((uint32_t)i, s->number), &forward))
				score[i] +=
					1 + 4 * (node && c->forward[events[forward].name] == node);
	}
	for (size_t i = 0; i < n_tracks; i++) {
		n_best = score[i] > score[best] ? 1 : n_best + (score[i] == score[best]);
		best = score[i] > score[best] ? i : best;
	}
	n_best = score[best] ? n_best : 0;
	free(score);
	return n_best == 1 ? (uint32_t)best : NOT_SURE;
}

static void find_by_number(
	const struct ops_tree *t, const struct classes *c, uint32_t *to, bool *is_one)
{
	struct numbered n = { .t = t };
	const struct op_event *events = t->x->v.v;

	number_forward(&n);
	vec_each (&t->x->sequences, s) {
		unsigned thread = events[s->event].is_backward;
		uint64_t track, forward;

		if (!thread)
			continue;
		if (!map_find(&n.track_of, thread, &track)) {
			track = find_track(&n, c, thread);
			map_put(&n.track_of, thread, track);
		}
		if (track == NOT_SURE ||
			!map_find(&n.forward, key_of((uint32_t)track, s->number), &forward))
			continue;
		to[s->event] = (uint32_t)forward + 1;
		is_one[s->event] = true;
	}
	map_done(&n.forward);
	map_done(&n.track_of);
}

/* ---- by order -------------------------------------------------------------------------------- */

struct candidate {
	uint32_t node, class;
	bool is_taken;
	bool is_spoiled; /* it may be: a node went back to this one or to another */
};

struct window {
	VEC(struct candidate) v; /* operators forward, by time */
};

struct ordered {
	const struct ops_tree *t;
	const struct classes *c;
	uint32_t *to;
	bool *is_one;
	bool *is_wanted;     /* by class: nodes of these are looked for */
	VEC(uint32_t) nodes; /* autograd's, of one backward() */
	struct window *last; /* [WINDOWS_MOST], the newest first */
	VEC(struct candidate *) reversed;
	VEC(uint32_t) late, early; /* in reversed, by wanted node */
	VEC(uint32_t) wanted;
};

/* Below one that makes a node autograd does not look. */
static bool is_below(const struct ordered *o, const struct candidate *x)
{
	uint32_t up = o->t->parent[x->node];

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = o->t->parent[up]) {
		const struct op_event *e = ops_node(o->t, up);
		uint32_t class = e->category == OP_CPU ? o->c->forward[e->name] : 0;

		if (class && class != x->class && o->is_wanted[class])
			return true;
	}
	return false;
}

/* One that calls another with the same name, as softmax does _softmax: that is the one. `x` comes before `next`. */
static bool is_outer(
	const struct ordered *o, const struct candidate *x, const struct candidate *next)
{
	uint32_t up = next->node;

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE && next->class == x->class; i++) {
		up = o->t->parent[up];
		if (up == x->node)
			return true;
	}
	return false;
}

/* Newest first, of the n newest windows: those that a node may go back to. */
static void reverse(struct ordered *o, size_t n)
{
	o->reversed.n = 0;
	for (size_t w = 0; w < n; w++) {
		struct candidate *inner = NULL;

		for (size_t i = o->last[w].v.n; i-- > 0;) {
			struct candidate *x = &o->last[w].v.v[i];

			if (x->is_taken || !o->is_wanted[x->class] || is_below(o, x) ||
				(inner && is_outer(o, x, inner)))
				continue;
			inner = x;
			vec_push(&o->reversed, x);
		}
	}
}

static uint32_t class_of(const struct ordered *o, size_t wanted)
{
	return o->c->node[ops_node(o->t, o->wanted.v[wanted])->name];
}

/* Each node's operator, as late in the program as can be; false: there are not enough of them. */
static bool lay_late(struct ordered *o)
{
	size_t at = 0;

	o->late.n = 0;
	for (size_t i = 0; i < o->wanted.n; i++, at++) {
		while (at < o->reversed.n && o->reversed.v[at]->class != class_of(o, i))
			at++;
		if (at == o->reversed.n)
			return false;
		vec_push(&o->late, (uint32_t)at);
	}
	return true;
}

static void lay_early(struct ordered *o)
{
	size_t at = o->reversed.n;

	o->early.n = 0;
	for (size_t i = 0; i < o->wanted.n; i++)
		vec_push(&o->early, 0);
	for (size_t i = o->wanted.n; i-- > 0;) {
		while (o->reversed.v[--at]->class != class_of(o, i))
			;
		o->early.v[i] = (uint32_t)at;
	}
}

static uint32_t asked_by(const struct ordered *o, uint32_t node)
{
	return node < o->t->x->sources.n ? o->t->x->sources.v[node] : 0;
}

static uint32_t ran_in(const struct ordered *o, uint32_t node)
{
	return node < o->t->x->modules.n ? o->t->x->modules.v[node] : 0;
}

/* Of operators that a node may have gone back to nobody knows which ones are left for later. */
static void spoil(struct ordered *o, uint32_t class)
{
	vec_each (&o->reversed, x)
		(*x)->is_spoiled |= (*x)->class == class;
}

static void pair(struct ordered *o)
{
	for (size_t i = 0; i < o->wanted.n; i++) {
		struct candidate *late = o->reversed.v[o->late.v[i]],
				 *early = o->reversed.v[o->early.v[i]];

		o->is_one[o->wanted.v[i]] = late == early ||
			(ran_in(o, late->node) && ran_in(o, late->node) == ran_in(o, early->node));
		if (late == early ||
			(asked_by(o, late->node) &&
				asked_by(o, late->node) == asked_by(o, early->node)))
			o->to[o->wanted.v[i]] = late->node + 1;
	}
	for (size_t i = 0; i < o->wanted.n; i++) {
		o->reversed.v[o->late.v[i]]->is_taken = true;
		if (o->late.v[i] != o->early.v[i])
			spoil(o, class_of(o, i));
	}
}

/* Nodes that are looked for in the n newest windows: not those of parameters, nor of what has another name forward, is not there as often,
 * or may have been gone back to before. Views that autograd makes by itself have as_strided's name, which most others call. */
static void want(struct ordered *o, size_t n)
{
	size_t n_classes = o->c->texts.items.n + 2;
	int64_t *n_left = xcalloc(n_classes, sizeof *n_left);
	bool *is_spoiled = xcalloc(n_classes, sizeof *is_spoiled);

	for (size_t w = 0; w < WINDOWS_MOST; w++)
		vec_each (&o->last[w].v, x) {
			n_left[x->class] += !x->is_taken;
			is_spoiled[x->class] |= x->is_spoiled && w <= n;
		}
	vec_each (&o->nodes, node)
		n_left[o->c->node[ops_node(o->t, *node)->name]]--;
	o->wanted.n = 0;
	memset(o->is_wanted, 0, n_classes * sizeof *o->is_wanted);
	vec_each (&o->nodes, node) {
		uint32_t class = o->c->node[ops_node(o->t, *node)->name];

		if (!class || n_left[class] < 0 || is_spoiled[class] || class == o->c->as_strided)
			continue;
		o->is_wanted[class] = true;
		vec_push(&o->wanted, *node);
	}
	free(n_left);
	free(is_spoiled);
}

/* The end of a backward(): its nodes find their operators, in the last window or also in those before. */
static void settle(struct ordered *o)
{
	struct window oldest;

	if (!o->nodes.n)
		return;
	for (size_t n = 1; n <= WINDOWS_MOST; n++) {
		want(o, n);
		reverse(o, n);
		if (!lay_late(o))
			continue;
		lay_early(o);
		pair(o);
		break;
	}
	o->nodes.n = 0;
	oldest = o->last[WINDOWS_MOST - 1];
	memmove(o->last + 1, o->last, (WINDOWS_MOST - 1) * sizeof *o->last);
	oldest.v.n = 0;
	o->last[0] = oldest;
}

static uint32_t outer_node(const struct ordered *o, uint32_t node)
{
	uint32_t up = o->t->parent[node], found = OPS_NONE;

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = o->t->parent[up])
		if (o->c->node[ops_node(o->t, up)->name])
			found = up;
	return found;
}

/* Operators in `forward`, nodes in `backward`: two threads, or the same. */
static void follow(struct ordered *o, uint32_t forward, uint32_t backward)
{
	for (size_t i = 0; i < o->t->n; i++) {
		uint32_t node = o->t->order[i];
		const struct op_event *e = ops_node(o->t, node);
		bool is_node = o->c->node[e->name] != 0;

		if (node >= o->t->n_events || e->category != OP_CPU ||
			e->track != (is_node ? backward : forward) ||
			outer_node(o, node) != OPS_NONE)
			continue;
		if (!is_node || (o->nodes.n && asked_by(o, node) != asked_by(o, o->nodes.v[0])))
			settle(o); /* another backward() begins, or the program goes on */
		if (is_node) {
			vec_push(&o->nodes, node);
			continue;
		}
		if (o->c->forward[e->name])
			vec_push(&o->last[0].v,
				(struct candidate){
					.node = node, .class = o->c->forward[e->name] });
	}
	settle(o);
	for (size_t w = 0; w < WINDOWS_MOST; w++)
		o->last[w].v.n = 0;
}

static bool is_same_process(const struct op_events *x, uint32_t a, uint32_t b)
{
	return strcmp(intern_get(&x->tracks, a)->p, intern_get(&x->tracks, b)->p) == 0;
}

/* The thread whose operators a thread's nodes go back to: itself, else the only other one of its process; NOT_SURE. */
static uint32_t find_forward(const struct op_events *x, const bool *has_forward, uint32_t backward)
{
	uint32_t found = NOT_SURE;

	if (has_forward[backward])
		return backward;
	for (uint32_t i = 0; i < x->tracks.items.n; i++) {
		if (!has_forward[i] || !is_same_process(x, i, backward))
			continue;
		if (found != NOT_SURE)
			return NOT_SURE;
		found = i;
	}
	return found;
}

static void find_by_order(
	const struct ops_tree *t, const struct classes *c, uint32_t *to, bool *is_one)
{
	size_t n_tracks = t->x->tracks.items.n;
	bool *has_forward = xcalloc(n_tracks + 1, sizeof *has_forward),
	     *has_nodes = xcalloc(n_tracks + 1, sizeof *has_nodes);
	struct ordered o = { .t = t, .c = c, .to = to, .is_one = is_one };

	o.is_wanted = xcalloc(c->texts.items.n + 2, sizeof *o.is_wanted);
	o.last = xcalloc(WINDOWS_MOST, sizeof *o.last);
	for (uint32_t i = 0; i < t->n_events; i++) {
		const struct op_event *e = &t->x->v.v[i];

		if (e->category != OP_CPU)
			continue;
		if (c->node[e->name])
			has_nodes[e->track] = true;
		else if (outer_node(&o, i) == OPS_NONE)
			has_forward[e->track] = true;
	}
	for (uint32_t i = 0; i < n_tracks; i++) {
		uint32_t forward = has_nodes[i] ? find_forward(t->x, has_forward, i) : NOT_SURE;

		if (forward != NOT_SURE)
			follow(&o, forward, i);
	}
	for (size_t w = 0; w < WINDOWS_MOST; w++)
		vec_done(&o.last[w].v);
	free(o.last);
	free(o.is_wanted);
	vec_done(&o.nodes);
	vec_done(&o.reversed);
	vec_done(&o.late);
	vec_done(&o.early);
	vec_done(&o.wanted);
	free(has_forward);
	free(has_nodes);
}

/* ---- the interface --------------------------------------------------------------------------- */

uint32_t *op_backward_find(const struct ops_tree *t, bool **ret_is_one)
{
	struct classes c;
	uint32_t *to = NULL;
	bool is_numbered = false;

	vec_each (&t->x->sequences, s)
		is_numbered |= t->x->v.v[s->event].is_backward != 0;
	classes_init(&c, t->x);
	*ret_is_one = NULL;
	if (is_numbered || c.has_nodes) {
		to = xcalloc(t->n_events + 1, sizeof *to);
		*ret_is_one = xcalloc(t->n_events + 1, sizeof **ret_is_one);
	}
	if (is_numbered)
		find_by_number(t, &c, to, *ret_is_one);
	else if (c.has_nodes)
		find_by_order(t, &c, to, *ret_is_one);
	classes_done(&c);
	return to;
}
