/* SPDX-License-Identifier: MIT
 * See stacks.h. */
#include "analyze/samples/stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/nodes.h"
#include "analyze/diff/time_blocks.h"
#include "analyze/origin.h"
#include "analyze/samples/looks.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/place_index.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks_idle.h"
#include "analyze/samples/weights.h"
#include "analyze/stretch.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct place_key {
	uint32_t stack, leaf_code, leaf_offset, thread;
	uint32_t is_off_cpu;
};

/* What is known of a thread while its samples come. Places are numbered from 0; NONE: it does not count. */
struct running {
	uint32_t index; /* in threads, + 1 */
	bool is_chosen;
	uint64_t t_ns;      /* of its last sample */
	size_t place;       /* of that */
	uint64_t before_ns; /* that sample has so far */
	double on_cpu;      /* the part of its time that it was */
	double part;        /* … that counts */
	uint16_t state;
	bool is_in_time;
	struct place_key key;
};

static const size_t NONE = SIZE_MAX;

struct builder {
	struct tables *t;
	const struct stacks_options *o;
	struct stacks *s;
	struct intern keys;
	VEC(struct stack_place) places;
	VEC(struct stack_thread) threads;
	struct running *running; /* by thread row */
	struct weights *weights;
	struct looks *looks;
	uint64_t zero_ns, from_ns, to_ns;
	uint64_t n_in_time; /* samples of all threads */
};

/* ---- gathering ------------------------------------------------------------------------------- */

double stacks_part(enum stacks_state state, const struct rec_sample *s, double on_cpu)
{
	bool is_running = s->state & SAMPLE_ON_CPU;

	switch (state) {
	case STACKS_WALL:
		return 1;
	case STACKS_CPU:
		return is_running || frames_is_unseen(s->stack) ? on_cpu : 0;
	case STACKS_GIL:
		return s->state & SAMPLE_HOLDS_GIL ? 1 : 0;
	case STACKS_WAIT:
		return is_running || frames_is_unseen(s->stack) ? 0 : 1;
	case STACKS_RUNNABLE:
		return is_running ? 1 - on_cpu : 0;
	case STACKS_STATES_:
		break;
	}
	return 0;
}

static bool is_chosen(const struct stacks_options *o, uint32_t row)
{
	for (size_t i = 0; i < o->n_threads; i++)
		if (o->threads[i] == row)
			return true;
	return o->n_threads == 0;
}

static struct running *running_of(struct builder *b, uint32_t row)
{
	struct running *r = &b->running[row];
	const struct rec_thread *thread;
	const struct rec_process *process;

	if (r->index || r->place == NONE)
		return r;
	r->place = NONE;
	r->is_chosen = is_chosen(b->o, row);
	if (!r->is_chosen)
		return r;
	thread = tables_row(b->t, RECORD_thread, row);
	process = thread ? tables_process(b->t, thread->process) : NULL;
	vec_push(&b->threads,
		(struct stack_thread){ .row = row,
			.tid = thread ? thread->tid : 0,
			.pid = process ? process->pid : 0,
			.parent_pid = process ? process->parent_pid : 0,
			.name = thread ? tables_string(b->t, thread->name) : "" });
	r->index = (uint32_t)b->threads.n;
	return r;
}

/* Without a leaf of its own a place has a short key, which is found without comparing bytes (intern.h). */
static size_t intern_place(struct builder *b, const struct place_key *key, bool *ret_added)
{
	uint32_t brief[] = { key->stack, key->thread << 1 | key->is_off_cpu };

	if (key->leaf_code || key->leaf_offset || key->thread >> 31)
		return intern_add(&b->keys, key, sizeof *key, ret_added);
	return intern_add(&b->keys, brief, sizeof brief, ret_added);
}

static struct place_key key_of(const struct running *r, const struct rec_sample *s)
{
	return (struct place_key){ s->stack, s->leaf_code, s->leaf_offset, r->index - 1,
		!(s->state & (SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL)) };
}

static size_t place_of_key(struct builder *b, const struct place_key *key)
{
	bool added;
	size_t index = intern_place(b, key, &added);

	if (added)
		vec_push(&b->places,
			(struct stack_place){ .stack = key->stack,
				.leaf_code = key->leaf_code,
				.leaf_offset = key->leaf_offset,
				.thread = key->thread,
				.number = (uint32_t)index,
				.is_off_cpu = key->is_off_cpu });
	return index;
}

static size_t place_of(struct builder *b, struct running *r, const struct rec_sample *s)
{
	struct place_key key = key_of(r, s);

	if (r->place != NONE && memcmp(&key, &r->key, sizeof key) == 0)
		return r->place;
	r->key = key;
	return place_of_key(b, &key);
}

/* Gives the thread's sample before this one what is still missing of its weight. */
static void settle(struct builder *b, struct running *r, uint64_t behind_ns)
{
	double value = (double)(r->before_ns + behind_ns) / 1e9;
	struct stack_thread *t = &b->threads.v[r->index - 1];

	if (r->is_in_time) {
		t->all += value;
		t->cpu_s += value * r->on_cpu;
		t->runnable_s += r->state & SAMPLE_ON_CPU ? value * (1 - r->on_cpu) : 0;
		t->gil_s += r->state & SAMPLE_HOLDS_GIL ? value : 0;
	}
	if (r->place == NONE)
		return;
	value *= r->part;
	b->places.v[r->place].value += value;
	b->places.v[r->place].squares += value * value;
	looks_add(b->looks, r->t_ns, value);
	if (b->o->blocks)
		time_blocks_add(b->o->blocks, r->t_ns, (uint32_t)r->place, value);
}

bool stacks_is_within(const struct stacks_options *o, uint64_t t_ns)
{
	return !o->within || stretches_hold(o->within, o->n_within, (int64_t)t_ns);
}

static bool is_in_time(const struct builder *b, uint64_t t_ns)
{
	return t_ns >= b->from_ns && t_ns <= b->to_ns && stacks_is_within(b->o, t_ns);
}

/* Time of a thread that nobody looked at. It was measured, not sampled: no squares. */
static void add_unseen(struct builder *b, const struct running *r, uint32_t stack, uint64_t from_ns,
	uint64_t to_ns)
{
	struct stack_thread *t = &b->threads.v[r->index - 1];
	struct rec_sample s = weights_unseen(t->row, stack, from_ns, to_ns);
	double value = (double)(to_ns - from_ns) / 1e9, on_cpu = weights_on_cpu(b->weights, &s);
	struct place_key key = key_of(r, &s);
	size_t place;

	if (to_ns <= from_ns || !is_in_time(b, s.t_ns))
		return;
	t->all += value;
	t->cpu_s += value * on_cpu;
	value *= stacks_part(b->o->state, &s, on_cpu);
	if (!(value > 0))
		return;
	place = place_of_key(b, &key);
	b->places.v[place].value += value;
	if (b->o->blocks)
		time_blocks_add(b->o->blocks, s.t_ns, (uint32_t)place, value);
}

static void note_thread(struct stack_thread *t, const struct rec_sample *s)
{
	t->n_samples++;
	t->last_stack = s->stack;
	t->last_code = s->leaf_code;
	t->last_offset = s->leaf_offset;
	t->last_ns = s->t_ns;
}

/* What lies behind the thread's last sample, up to the next or its end. */
static void close_sample(struct builder *b, struct running *r, const struct weight_gap *g)
{
	if (!g->has_last)
		return;
	settle(b, r, g->last_end_ns - g->last_ns);
	add_unseen(b, r, g->unseen_stack, g->last_end_ns, g->gone_ns);
}

static void gather_one(struct builder *b, const struct rec_sample *s)
{
	struct running *r = running_of(b, s->thread);
	bool in_time = is_in_time(b, s->t_ns);
	struct weight_gap g;
	size_t place = NONE;

	b->n_in_time += in_time;
	if (!r->is_chosen)
		return;
	if (in_time)
		note_thread(&b->threads.v[r->index - 1], s);
	g = weights_gap(b->weights, s);
	close_sample(b, r, &g);
	add_unseen(b, r, g.unseen_stack, g.came_ns, g.begin_ns);
	r->on_cpu = weights_on_cpu(b->weights, s);
	r->part = stacks_part(b->o->state, s, r->on_cpu);
	if (in_time && r->part > 0) {
		place = place_of(b, r, s);
		b->places.v[place].n_samples++;
		b->s->n_shortened += (s->state & SAMPLE_SHORTENED) != 0;
	}
	r->t_ns = s->t_ns;
	r->state = s->state;
	r->is_in_time = in_time;
	r->place = place;
	r->before_ns = s->t_ns - g.begin_ns;
}

static void gather(struct builder *b)
{
	uint64_t begun_ns = tables_reader(b->t)->begun_monotonic_ns;
	struct record_iter it = record_iter(b->t, RECORD_sample);
	struct weight_gap g;
	bool is_first = true;

	b->weights = weights_load(b->t);
	for (const struct rec_sample *s; (s = record_next(&it)); is_first = false) {
		if (is_first) {
			/* A file that was put together may have begun later than its samples. */
			uint64_t zero = begun_ns <= s->t_ns ? begun_ns : s->t_ns;

			b->zero_ns = zero;
			b->from_ns = zero + (uint64_t)(b->o->from_s * 1e9);
			b->to_ns =
				b->o->to_s > 0 ? zero + (uint64_t)(b->o->to_s * 1e9) : UINT64_MAX;
		}
		gather_one(b, s);
	}
	record_iter_done(&it);
	for (uint32_t i = 0; i <= tables_count(b->t, RECORD_thread); i++)
		if (b->running[i].index && weights_end(b->weights, i, true, &g))
			close_sample(b, &b->running[i], &g);
	weights_free(b->weights);
}

/* What the samples that still count after folding and shaping weigh, look by look: known only now. */
static void look_again(struct builder *b)
{
	struct {
		uint64_t t_ns, before_ns;
		double part; /* 0: it does not count */
	} *last = xcalloc(tables_count(b->t, RECORD_thread) + 1, sizeof *last);
	struct record_iter it = record_iter(b->t, RECORD_sample);
	struct weights *w = weights_load(b->t);
	struct weight_gap g;
	struct place_index places;
	size_t place;

	place_index_init(&places, b->s, b->o, b->zero_ns);
	*b->looks = (struct looks){ 0 };
	for (const struct rec_sample *s; (s = record_next(&it));) {
		__auto_type x = &last[s->thread];

		g = weights_gap(w, s);
		if (g.has_last && x->part > 0)
			looks_add(b->looks, x->t_ns,
				(double)(x->before_ns + g.last_end_ns - g.last_ns) / 1e9 * x->part);
		x->t_ns = s->t_ns;
		x->before_ns = s->t_ns - g.begin_ns;
		if (!place_index_of_sample(&places, s, weights_on_cpu(w, s), &place, &x->part))
			x->part = 0;
	}
	record_iter_done(&it);
	for (uint32_t i = 0; i <= tables_count(b->t, RECORD_thread); i++)
		if (weights_end(w, i, true, &g) && last[i].part > 0)
			looks_add(b->looks, last[i].t_ns,
				(double)(last[i].before_ns + g.last_end_ns - g.last_ns) / 1e9 *
					last[i].part);
	place_index_done(&places);
	weights_free(w);
	free(last);
}

/* One thread's looks are its samples. */
static bool has_several_threads(const struct stacks *s)
{
	for (size_t i = 1; i < s->n; i++)
		if (s->v[i].thread != s->v[0].thread)
			return true;
	return false;
}

static void count_looks(struct builder *b)
{
	struct stacks *s = b->s;

	if (s->nodes->n || s->is_foreign || !has_several_threads(s)) {
		s->look_squares = s->squares;
		return;
	}
	if (s->n_folded || s->shape)
		look_again(b);
	s->look_squares = looks_squares(b->looks);
}

/* ---- another tool's figures ------------------------------------------------------------------ */

static void weigh_one(struct builder *b, const struct rec_weight *w, double per_value)
{
	struct running *r = running_of(b, w->thread);
	const struct rec_sample as_sample = { .t_ns = w->t_ns, .stack = w->stack };
	double value = (double)w->value * per_value;
	struct stack_thread *t;
	struct stack_place *p;

	if (!r->is_chosen || w->t_ns < b->from_ns || w->t_ns > b->to_ns)
		return;
	t = &b->threads.v[r->index - 1];
	note_thread(t, &as_sample);
	t->n_samples += w->samples - 1; /* it was counted as one */
	t->all += value;
	t->cpu_s = t->runnable_s = t->gil_s = UNITS_UNKNOWN;
	r->place = place_of(b, r, &as_sample);
	p = &b->places.v[r->place];
	p->is_off_cpu = false;
	p->n_samples += w->samples;
	p->value += value;
	p->squares += w->samples ? value * value / (double)w->samples : 0;
	if (b->o->blocks)
		time_blocks_add(b->o->blocks, w->t_ns, (uint32_t)r->place, value);
}

static void weigh(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_weight);
	double per_value = b->s->unit == UNIT_SECONDS ? 1e-9 : 1;

	b->from_ns = (uint64_t)(b->o->from_s * 1e9);
	b->to_ns = b->o->to_s > 0 ? (uint64_t)(b->o->to_s * 1e9) : UINT64_MAX;
	for (const struct rec_weight *w; (w = record_next(&it));) {
		b->s->has_times |= w->t_ns > 0;
		weigh_one(b, w, per_value);
	}
	record_iter_done(&it);
}

/* ---- weights that were worked out before ------------------------------------------------------ */

static void take_weights(struct builder *b, struct arena *a)
{
	struct sampled_sum *sums = arena_new_n(a, struct sampled_sum, b->o->n_weights + 1);

	for (size_t i = 0; i < b->o->n_weights; i++) {
		const struct stack_weight *w = &b->o->weights[i];
		struct running *r = running_of(b, w->thread);
		const struct rec_sample as_sample = { .stack = w->stack };
		struct stack_thread *t;
		struct stack_place *p;

		if (!r->is_chosen || !w->sum.n)
			continue;
		t = &b->threads.v[r->index - 1];
		note_thread(t, &as_sample);
		t->n_samples += w->sum.n - 1; /* it was counted as one */
		t->all += w->sum.value;
		t->cpu_s = t->runnable_s = t->gil_s = UNITS_UNKNOWN;
		r->place = place_of(b, r, &as_sample);
		p = &b->places.v[r->place];
		p->is_off_cpu = false;
		p->n_samples += w->sum.n;
		p->value += w->sum.value;
		p->squares += w->sum.variance;
		sampled_sum_merge(&sums[p->number], &w->sum, 1);
	}
	b->s->sums = sums;
}

/* ---- exactly traced calls -------------------------------------------------------------------- */

static void take_nodes(struct builder *b)
{
	vec_reserve(&b->places, b->s->nodes->n); /* millions, maybe: not twice as many */
	for (size_t i = 0; i < b->s->nodes->n; i++) {
		const struct node *x = &b->s->nodes->v[i];
		struct running *r = running_of(b, x->thread);
		struct stack_thread *t;

		if (!r->is_chosen)
			continue;
		t = &b->threads.v[r->index - 1];
		t->all += x->raw.self_s;
		t->cpu_s = t->runnable_s = t->gil_s = UNITS_UNKNOWN;
		if (!x->is_thread)
			vec_push(&b->places,
				(struct stack_place){ .stack = (uint32_t)i + 1,
					.thread = r->index - 1,
					.n_calls = x->calls, /* resumptions are none */
					.value = x->raw.self_s - x->cost.self_s });
	}
}

static const struct nodes *nodes_of(struct arena *a, const struct builder *b)
{
	const struct stacks_options *o = b->o;
	uint64_t begun_ns = tables_reader(b->t)->begun_monotonic_ns;

	return nodes_build(a, b->t, b->s->frames,
		&(struct nodes_options){ .threads = o->n_threads ? o->threads : NULL,
			.n_threads = o->n_threads,
			.from_ns = o->from_s > 0 ? begun_ns + (uint64_t)(o->from_s * 1e9) : 0,
			.to_ns = o->to_s > 0 ? begun_ns + (uint64_t)(o->to_s * 1e9) : 0,
			.only_mine = o->only_mine });
}

static size_t walk_nodes(const struct stacks *s, uint32_t at, struct stack_frame to[STACKS_DEPTH])
{
	size_t n = 0;

	for (; at && n < STACKS_DEPTH; at = s->nodes->v[at - 1].parent)
		if (!s->nodes->v[at - 1].is_thread)
			to[n++] = frames_of_function(s->frames, s->nodes->v[at - 1].function);
	return n;
}

/* Losses name no thread: those that were chosen get their part of them. */
static void count_lost(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_loss);
	uint64_t n = 0, n_chosen = 0;

	for (const struct rec_loss *l; (l = record_next(&it));)
		if (l->t_ns >= b->from_ns && l->t_ns <= b->to_ns &&
			strcmp(tables_string(b->t, l->what), "sample") == 0)
			n += l->count;
	record_iter_done(&it);
	vec_each (&b->threads, t)
		n_chosen += t->n_samples;
	if (b->n_in_time && n_chosen < b->n_in_time)
		n = (uint64_t)llround((double)n * (double)n_chosen / (double)b->n_in_time);
	b->s->n_lost = n;
}

static double lost_share(const struct stacks *s)
{
	uint64_t n = s->n_lost;

	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].n_samples;
	return n ? (double)s->n_lost / (double)n : 0;
}

/* Leaves out the places whose stacks do not count in this shape, and as large a part of the losses. */
static void drop_places(struct stacks *s, struct stack_place *places, uint32_t *of_place)
{
	uint64_t n_all = 0, n_kept = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		n_all += places[i].n_samples;
		if (!of_place[i])
			continue;
		n_kept += places[i].n_samples;
		of_place[n] = of_place[i];
		places[n++] = places[i];
	}
	s->n = n;
	if (n_all)
		s->n_lost = (uint64_t)llround((double)s->n_lost * (double)n_kept / (double)n_all);
}

static void add_up(struct stacks *s, struct stack_thread *threads)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_place *p = &s->v[i];

		s->n_samples += p->n_samples;
		s->value += p->value;
		s->squares += p->squares;
		threads[p->thread].value += p->value;
	}
	for (size_t i = 0; i < s->n_threads; i++)
		s->n_idle_threads += threads[i].is_idle;
}

const struct stacks *stacks_build(struct arena *a, struct tables *t, const struct stacks_options *o)
{
	struct stacks *s = arena_new(a, struct stacks);
	struct builder b = { .t = t,
		.o = o,
		.s = s,
		.looks = xcalloc(1, sizeof *b.looks),
		.running = arena_new_n(a, struct running, tables_count(t, RECORD_thread) + 1) };
	struct origin origin = origin_build(a, t);
	struct stack_place *places;
	struct stack_thread *threads;
	size_t n_places;

	s->unit = o->weights ? o->weights_unit : origin.unit;
	s->is_foreign = o->weights || origin.is_foreign;
	s->has_times = o->weights || !origin.is_foreign;
	s->frames = o->frames ? o->frames : frames_new(a, t);
	s->nodes = o->weights ? arena_new(a, struct nodes) : nodes_of(a, &b);
	if (o->weights)
		take_weights(&b, a);
	else if (s->nodes->n)
		take_nodes(&b);
	else if (!s->is_foreign)
		gather(&b);
	else if (o->state == STACKS_WALL)
		weigh(&b);
	if (!o->weights)
		count_lost(&b);
	n_places = b.places.n;
	intern_done(&b.keys); /* large; not while places stand twice */
	places = arena_copy(a, b.places.v, b.places.n * sizeof *b.places.v);
	vec_done(&b.places);
	threads = arena_copy(a, b.threads.v, b.threads.n * sizeof *b.threads.v);
	s->v = places;
	s->n = n_places;
	s->threads = threads;
	s->n_threads = b.threads.n;
	s->only_mine = o->only_mine;
	s->imports = s->nodes->n || origin.is_foreign ? IMPORTS_WHOLE : o->imports;
	s->shape = o->shape;
	s->tables = t;
	if (!s->nodes->n) {
		stacks_find_idle(s, threads);
		if (o->fold_idle)
			stacks_fold_idle(s, places);
	}
	s->lost_share = lost_share(s);
	s->paths = paths_build(a, s, o->frames_most);
	if (s->shape || s->imports == IMPORTS_ALONE)
		drop_places(s, places, (uint32_t *)s->paths->of_place);
	add_up(s, threads);
	count_looks(&b);
	vec_done(&b.threads);
	free(b.looks);
	return s;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static size_t walk(const struct stacks *s, const struct stack_place *p, bool only_mine,
	struct stack_frame to[STACKS_DEPTH])
{
	uint32_t at = p->stack;
	size_t n = 0;

	if (frames_is_unseen(at)) {
		to[n++] = frames_unseen(s->frames, at);
		at = 0;
	}
	if (p->leaf_code) {
		to[n] = frames_of_code(s->frames, p->leaf_code, p->leaf_offset);
		n += !(only_mine && to[n].is_library);
	}
	while (at && n < STACKS_DEPTH) {
		const struct rec_stack *stack = tables_row(s->tables, RECORD_stack, at);

		if (!stack)
			break;
		to[n] = frames_get(s->frames, stack->frame);
		n += !(only_mine && to[n].is_library);
		at = stack->parent < at ? stack->parent : 0; /* parents come first: no cycles */
	}
	if (n == 0 && only_mine)
		to[n++] = frames_library(s->frames);
	return n;
}

/* As the paths have it: imports first, then whose code is shown. */
static size_t walk_chosen(
	const struct stacks *s, const struct stack_place *p, struct stack_frame to[STACKS_DEPTH])
{
	size_t n, kept = 0;

	if (s->imports == IMPORTS_WHOLE)
		return walk(s, p, s->only_mine, to);
	n = imports_apply(s->frames, s->imports, to, walk(s, p, false, to));
	for (size_t i = 0; i < n; i++)
		if (!s->only_mine || !to[i].is_library)
			to[kept++] = to[i];
	if (n && !kept)
		to[kept++] = frames_library(s->frames);
	return kept;
}

size_t stacks_frames(const struct stacks *s, size_t place, struct stack_frame to[STACKS_DEPTH])
{
	size_t n = 0;

	for (uint32_t at = s->paths->of_place[place]; at && n < STACKS_DEPTH;
		at = s->paths->v[at].parent)
		to[n++] = paths_frame(s, at);
	return n;
}

size_t stacks_frames_at(const struct stacks *s, uint32_t stack, uint32_t leaf_code,
	uint32_t leaf_offset, struct stack_frame to[STACKS_DEPTH])
{
	struct stack_place p = {
		.stack = stack, .leaf_code = leaf_code, .leaf_offset = leaf_offset
	};
	size_t n = s->nodes->n ? walk_nodes(s, stack, to) : walk_chosen(s, &p, to);

	return s->shape ? stack_filter_apply(s->shape, to, n) : n;
}

size_t stacks_last_frames(
	const struct stacks *s, size_t thread, struct stack_frame to[STACKS_DEPTH])
{
	const struct stack_thread *t = &s->threads[thread];
	struct stack_place p = {
		.stack = t->last_stack, .leaf_code = t->last_code, .leaf_offset = t->last_offset
	};

	return walk(s, &p, false, to);
}
