/* SPDX-License-Identifier: MIT
 * See paths.h. What a stack looks like follows from its caller's stack and one frame more, so each row of the recording is
 * worked out once. */
#include "analyze/samples/paths.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/calls/nodes.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static const uint32_t NO_FRAME = UINT32_MAX;

struct state { /* of a stack */
	uint32_t path;
	uint32_t outermost; /* where all frames were merged: that of the first */
	struct stack_filter_state shape;
	struct import_step import;
	bool is_known, has_frames; /* before the shape changed them */
};

struct builder {
	const struct stacks *s;
	VEC(struct path) v;
	VEC(struct stack_frame) frames;
	uint32_t *frame_of;   /* by row of the frame table: index + 1 */
	uint32_t unseen[2];   /* likewise of FRAMES_STOPPED and FRAMES_LATE */
	struct map leaves;    /* code and offset → index */
	struct state *states; /* by row; the first is that of no frames */
	size_t n_states;
	VEC(uint32_t) pending; /* rows from a leaf to the first that is known */
	uint32_t imports;      /* index of their frame + 1 */
	struct map import_of;  /* function of a module + 1 → index */
	VEC(struct imports_of) imported;
};

static uint32_t add_path(struct builder *b, uint32_t parent, uint32_t function, uint32_t frame)
{
	vec_push(&b->v, (struct path){ parent, function, frame });
	return (uint32_t)b->v.n - 1;
}

/* The path that stays when its last frames repeat those before them. */
static uint32_t without_repetition(const struct builder *b, uint32_t path)
{
	uint32_t functions[2 * CALLTREE_PERIOD];
	size_t n = 0, again;

	for (uint32_t at = path; at && n < 2 * CALLTREE_PERIOD; at = b->v.v[at].parent)
		functions[n++] = b->v.v[at].function;
	for (again = calltree_repeated(functions, n); again; again--)
		path = b->v.v[path].parent;
	return path;
}

static void step_shaped(struct builder *b, struct state *x, uint32_t function, uint32_t frame)
{
	unsigned step = stack_filter_step(b->s->shape, &x->shape, function);

	if (step & STACK_FILTER_BEGIN) {
		x->path = 0;
		x->outermost = add_path(b, 0, function, frame);
	}
	if (!(step & STACK_FILTER_ADD))
		return;
	/* The first frame that is added to a stack may be the outermost one. */
	x->path = !x->path && step & STACK_FILTER_BEGIN ? x->outermost
							: add_path(b, x->path, function, frame);
	if (stack_filter_collapses(b->s->shape))
		x->path = without_repetition(b, x->path);
}

static struct state step(struct builder *b, struct state x, uint32_t function, uint32_t frame)
{
	x.is_known = x.has_frames = true;
	if (b->s->shape)
		step_shaped(b, &x, function, frame);
	else
		x.path = add_path(b, x.path, function, frame);
	return x;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint32_t add_frame(struct builder *b, struct stack_frame f)
{
	vec_push(&b->frames, f);
	return (uint32_t)b->frames.n - 1;
}

static struct state step_frame(struct builder *b, struct state x, uint32_t frame)
{
	const struct stack_frame *f = &b->frames.v[frame];
	enum import_frame is = IMPORT_STAYS;

	x.is_known = true;
	if (b->s->imports != IMPORTS_WHOLE)
		is = imports_step(b->s->imports, &x.import, f);
	if (is == IMPORT_ENDS)
		x.path = 0;
	if (is != IMPORT_STAYS)
		return x;
	return b->s->only_mine && f->is_library ? x : step(b, x, f->function, frame);
}

static uint32_t frame_of_row(struct builder *b, uint32_t row)
{
	uint32_t known = row <= tables_count(b->s->tables, RECORD_frame) ? row : 0;

	if (!b->frame_of[known])
		b->frame_of[known] = add_frame(b, frames_get(b->s->frames, row)) + 1;
	return b->frame_of[known] - 1;
}

static uint32_t frame_of_leaf(struct builder *b, const struct stack_place *p)
{
	uint64_t key = (uint64_t)p->leaf_code << 32 | p->leaf_offset, index;

	if (!map_find(&b->leaves, key, &index)) {
		index = add_frame(b, frames_of_code(b->s->frames, p->leaf_code, p->leaf_offset));
		map_put(&b->leaves, key, index);
	}
	return (uint32_t)index;
}

static struct state state_of_stack(struct builder *b, uint32_t row)
{
	const struct rec_stack *r;
	uint32_t at = row;

	vec_clear(&b->pending);
	while (at < b->n_states && !b->states[at].is_known) {
		r = tables_row(b->s->tables, RECORD_stack, at);
		vec_push(&b->pending, at);
		at = r && r->parent < at ? r->parent : 0; /* callers come first: no cycles */
	}
	while (b->pending.n) {
		uint32_t next = b->pending.v[--b->pending.n];

		r = tables_row(b->s->tables, RECORD_stack, next);
		b->states[next] =
			r ? step_frame(b, b->states[at], frame_of_row(b, r->frame)) : b->states[0];
		at = next;
	}
	return b->states[at < b->n_states ? at : 0];
}

static struct state state_of_sample(struct builder *b, const struct stack_place *p)
{
	struct state x;

	if (frames_is_unseen(p->stack)) {
		uint32_t *frame = &b->unseen[p->stack - FRAMES_STOPPED];

		if (!*frame)
			*frame = add_frame(b, frames_unseen(b->s->frames, p->stack)) + 1;
		return step_frame(b, state_of_stack(b, 0), *frame - 1);
	}
	x = state_of_stack(b, p->stack);
	if (p->leaf_code)
		x = step_frame(b, x, frame_of_leaf(b, p));
	return x;
}

/* ---- exactly traced calls -------------------------------------------------------------------- */

static struct state state_of_node(struct builder *b, uint32_t number)
{
	const struct node *v = b->s->nodes->v;
	uint32_t at = number;

	vec_clear(&b->pending);
	for (; !b->states[at].is_known; at = v[at - 1].parent)
		vec_push(&b->pending, at);
	while (b->pending.n) {
		uint32_t next = b->pending.v[--b->pending.n];

		b->states[next] = v[next - 1].is_thread
			? b->states[at]
			: step(b, b->states[at], v[next - 1].function, NO_FRAME);
		at = next;
	}
	return b->states[at];
}

/* ---- imports --------------------------------------------------------------------------------- */

static struct state end_in_imports(struct builder *b, struct state x)
{
	struct stack_frame f = frames_imports(b->s->frames);

	if (b->s->imports == IMPORTS_ALONE && x.path)
		return x; /* in a module */
	if (!b->imports)
		b->imports = add_frame(b, f) + 1;
	return step(b, x, f.function, b->imports - 1);
}

static void add_import(struct builder *b, const struct state *x, const struct stack_place *p)
{
	uint64_t index;

	if (!map_find(&b->import_of, x->import.module, &index)) {
		index = b->imported.n;
		map_put(&b->import_of, x->import.module, index);
		vec_push(&b->imported, (struct imports_of){ .function = x->import.module });
	}
	b->imported.v[index].value += p->value;
	saturated_add(&b->imported.v[index].n_samples, p->n_samples);
}

/* ---- building -------------------------------------------------------------------------------- */

static uint32_t finish(struct builder *b, const struct state *x, uint32_t *library)
{
	struct state ended = *x;

	if (b->s->imports == IMPORTS_ALONE && !x->import.is_import)
		return 0;
	if (x->import.is_import)
		ended = end_in_imports(b, *x);
	else if (!x->has_frames && b->s->only_mine && !b->s->nodes->n) {
		struct stack_frame f = frames_library(b->s->frames);

		if (!*library)
			*library = add_frame(b, f) + 1;
		ended = step(b, *x, f.function, *library - 1);
	}
	if (!b->s->shape)
		return ended.path;
	if (!stack_filter_counts(b->s->shape, &ended.shape))
		return 0;
	return ended.path ? ended.path : ended.outermost;
}

/* Paths of stacks that turned out not to count, or were shortened: those that no place has go, the others keep their
 * order. */
static void prune(struct builder *b, uint32_t *of_place)
{
	uint32_t *now = xcalloc(b->v.n, sizeof *now);
	size_t kept = 1;

	for (size_t i = 0; i < b->s->n; i++)
		now[of_place[i]] = 1;
	for (size_t i = b->v.n; i-- > 1;)
		now[b->v.v[i].parent] |= now[i];
	now[0] = 0;
	for (size_t i = 1; i < b->v.n; i++) {
		if (!now[i])
			continue;
		now[i] = (uint32_t)kept;
		b->v.v[kept] = b->v.v[i];
		b->v.v[kept++].parent = now[b->v.v[i].parent];
	}
	b->v.n = kept;
	for (size_t i = 0; i < b->s->n; i++)
		of_place[i] = now[of_place[i]];
	free(now);
}

/* ---- shortening ------------------------------------------------------------------------------ */

enum { SHORTEST = 64 };

/* How deep a stack may be so that all of them together have no more frames. */
static size_t depth_for(const struct builder *b, const uint32_t *of_place, const uint32_t *depth,
	size_t frames_most)
{
	size_t *n_at = xcalloc(STACKS_DEPTH + 1, sizeof *n_at), n = b->s->n, sum = 0, most = 0;

	for (size_t i = 0; i < b->s->n; i++)
		n_at[depth[of_place[i]] < STACKS_DEPTH ? depth[of_place[i]] : STACKS_DEPTH]++;
	for (; most < STACKS_DEPTH && sum + (n -= n_at[most]) <= frames_most; most++)
		sum += n;
	free(n_at);
	return most > SHORTEST ? most : SHORTEST;
}

/* The outer half, one frame for the middle, the inner half, whose frames become a path of its own. */
static uint32_t shorten_one(
	struct builder *b, uint32_t path, uint32_t outer, uint32_t *left_out, size_t n_inner)
{
	struct stack_frame f = frames_left_out(b->s->frames);

	vec_clear(&b->pending);
	for (; n_inner; n_inner--, path = b->v.v[path].parent)
		vec_push(&b->pending, path);
	if (!*left_out)
		*left_out = add_path(b, outer, f.function, NO_FRAME);
	path = *left_out;
	while (b->pending.n) {
		struct path x = b->v.v[b->pending.v[--b->pending.n]];

		path = add_path(b, path, x.function, x.frame);
	}
	return path;
}

/* Whether any stack was. */
static bool shorten(struct builder *b, uint32_t *of_place, size_t frames_most)
{
	size_t n = b->v.n, most, n_outer;
	uint32_t *depth = xcalloc(n, sizeof *depth), *outer = xcalloc(n, sizeof *outer),
		 *left_out = xcalloc(n, sizeof *left_out);
	bool is_any = false;

	for (size_t i = 1; i < n; i++)
		depth[i] = depth[b->v.v[i].parent] + 1;
	most = depth_for(b, of_place, depth, frames_most);
	n_outer = most / 2;
	for (size_t i = 1; i < n; i++)
		outer[i] = depth[i] <= n_outer ? (uint32_t)i : outer[b->v.v[i].parent];
	for (size_t i = 0; i < b->s->n; i++) {
		uint32_t path = of_place[i];

		if (depth[path] <= most)
			continue;
		is_any = true;
		of_place[i] = shorten_one(
			b, path, outer[path], &left_out[outer[path]], most - n_outer - 1);
	}
	free(depth);
	free(outer);
	free(left_out);
	return is_any;
}

const struct paths *paths_build(struct arena *a, const struct stacks *s, size_t frames_most)
{
	struct builder b = { .s = s,
		.n_states =
			1 + (s->nodes->n ? s->nodes->n : tables_count(s->tables, RECORD_stack)) };
	struct paths *p = arena_new(a, struct paths);
	uint32_t *of_place = arena_new_n(a, uint32_t, s->n + 1), library = 0;

	b.states = xcalloc(b.n_states, sizeof *b.states);
	b.states[0].is_known = true;
	if (!s->nodes->n)
		b.frame_of = xcalloc(tables_count(s->tables, RECORD_frame) + 1, sizeof *b.frame_of);
	vec_push(&b.v, (struct path){ 0, UINT32_MAX, NO_FRAME });
	for (size_t i = 0; i < s->n; i++) {
		struct state x = s->nodes->n ? state_of_node(&b, s->v[i].stack)
					     : state_of_sample(&b, &s->v[i]);

		of_place[i] = finish(&b, &x, &library);
		if (x.import.is_import && of_place[i])
			add_import(&b, &x, &s->v[i]);
	}
	if ((frames_most && shorten(&b, of_place, frames_most)) || s->shape ||
		s->imports == IMPORTS_ALONE)
		prune(&b, of_place);
	*p = (struct paths){ .v = arena_copy(a, b.v.v, b.v.n * sizeof *b.v.v),
		.n = b.v.n,
		.of_place = of_place,
		.frames = arena_copy(a, b.frames.v, b.frames.n * sizeof *b.frames.v),
		.imports = imports_build(a, s->frames, b.imported.v, b.imported.n) };
	vec_done(&b.v);
	vec_done(&b.frames);
	vec_done(&b.pending);
	map_done(&b.leaves);
	map_done(&b.import_of);
	vec_done(&b.imported);
	free(b.frame_of);
	free(b.states);
	return p;
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct stack_frame paths_frame(const struct stacks *s, uint32_t path)
{
	const struct path *x = &s->paths->v[path];

	return x->frame == NO_FRAME ? frames_of_function(s->frames, x->function)
				    : s->paths->frames[x->frame];
}

/* The sum of all sizes has 125 binary digits at most. */
static int exponent_for(const struct stacks *s)
{
	double all = 0;
	int digits = 0;

	for (size_t i = 0; i < s->n; i++)
		all += fabs(s->v[i].value);
	if (isfinite(all))
		frexp(all, &digits);
	return digits - 124;
}

path_time paths_time(const struct paths_sums *sums, double seconds)
{
	return isfinite(seconds) ? (path_time)ldexp(seconds, -sums->exponent) : 0;
}

double paths_value(const struct paths_sums *sums, path_time time)
{
	return ldexp((double)time, sums->exponent);
}

struct paths_sums paths_sums(const struct stacks *s)
{
	const struct paths *p = s->paths;
	struct paths_sums sums = { xcalloc(p->n, sizeof *sums.v), exponent_for(s) };

	for (size_t i = 0; i < s->n; i++) {
		struct path_sum *x = &sums.v[p->of_place[i]];

		x->self += paths_time(&sums, s->v[i].value);
		saturated_add(&x->self_n, s->v[i].n_samples);
	}
	for (size_t i = p->n; i-- > 0;) {
		struct path_sum *x = &sums.v[i], *parent = &sums.v[p->v[i].parent];

		x->total += x->self;
		saturated_add(&x->total_n, x->self_n);
		if (!i)
			break;
		parent->total += x->total;
		saturated_add(&parent->total_n, x->total_n);
	}
	return sums;
}

void paths_sums_done(struct paths_sums *sums)
{
	free(sums->v);
}

struct paths_walk paths_walk(const struct paths *p)
{
	struct paths_walk w = { .p = p,
		.first = xcalloc(p->n, sizeof *w.first),
		.next = xcalloc(p->n, sizeof *w.next),
		.is_entering = true };

	for (uint32_t i = (uint32_t)p->n; i-- > 1;) {
		w.next[i] = w.first[p->v[i].parent];
		w.first[p->v[i].parent] = i;
	}
	return w;
}

/* From where it stands: to the first child, or out; from what it left to the next sibling, or out of the parent. */
bool paths_next(struct paths_walk *w, uint32_t *ret_path)
{
	uint32_t child = w->is_entering ? w->first[w->at] : w->next[w->at];

	if (!w->at && !child)
		return false;
	if (child) {
		w->at = child;
		w->is_entering = true;
	} else if (w->is_entering) {
		w->is_entering = false;
	} else {
		w->at = w->p->v[w->at].parent;
	}
	*ret_path = w->at;
	return w->at != 0;
}

void paths_walk_done(struct paths_walk *w)
{
	free(w->first);
	free(w->next);
}
