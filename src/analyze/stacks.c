/* SPDX-License-Identifier: MIT
 * See stacks.h. */
#include "analyze/stacks.h"

#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct place_key {
	uint32_t stack, leaf_code, leaf_offset;
};

struct last_sample {   /* of one thread */
	uint64_t t_ns; /* 0: none yet */
	size_t place;  /* SIZE_MAX: it did not count */
};

struct builder {
	struct tables *t;
	const struct stacks_options *o;
	struct stacks *s;
	struct intern keys;
	VEC(struct stack_place) places;
	VEC(struct stack_thread) threads;
	struct map thread_index;  /* row → index in threads */
	struct last_sample *last; /* by thread row */
};

/* ---- gathering ------------------------------------------------------------------------------- */

static bool counts(const struct stacks_options *o, const struct rec_sample *s, double t_s)
{
	if ((o->thread && s->thread != o->thread) || t_s < o->from_s ||
		(o->to_s > 0 && t_s > o->to_s))
		return false;
	switch (o->state) {
	case STACKS_WALL:
		return true;
	case STACKS_CPU:
		return s->state & SAMPLE_ON_CPU;
	case STACKS_GIL:
		return s->state & SAMPLE_HOLDS_GIL;
	case STACKS_WAIT:
		return !(s->state & SAMPLE_ON_CPU);
	}
	return false;
}

static struct stack_thread *thread_of(struct builder *b, uint32_t row)
{
	uint64_t index;

	if (!map_find(&b->thread_index, row, &index)) {
		const struct rec_thread *thread = tables_row(b->t, RECORD_thread, row);
		const struct rec_process *process =
			thread ? tables_process(b->t, thread->process) : NULL;

		index = b->threads.n;
		map_put(&b->thread_index, row, index);
		vec_push(&b->threads,
			(struct stack_thread){ .row = row,
				.tid = thread ? thread->tid : 0,
				.pid = process ? process->pid : 0,
				.name = thread ? tables_string(b->t, thread->name) : "" });
	}
	return &b->threads.v[index];
}

/* Seconds since the thread's sample before, 0 for its first; *ret_before is that sample's place, or
 * SIZE_MAX when it did not count. The place of this sample is set by the caller. */
static double since_last(struct builder *b, const struct rec_sample *s, size_t *ret_before)
{
	struct last_sample *last = &b->last[s->thread];
	double seconds =
		last->t_ns && s->t_ns > last->t_ns ? (double)(s->t_ns - last->t_ns) / 1e9 : 0;

	*ret_before = last->t_ns ? last->place : SIZE_MAX;
	*last = (struct last_sample){ .t_ns = s->t_ns, .place = SIZE_MAX };
	return seconds;
}

static void add_seconds(struct builder *b, size_t place, uint32_t thread, double seconds)
{
	if (place == SIZE_MAX)
		return;
	b->places.v[place].seconds += seconds;
	b->s->seconds += seconds;
	thread_of(b, thread)->seconds += seconds;
}

static size_t gather_one(struct builder *b, const struct rec_sample *r)
{
	struct place_key key = { r->stack, r->leaf_code, r->leaf_offset };
	struct stack_thread *thread = thread_of(b, r->thread);
	bool added;
	uint32_t index = intern_add(&b->keys, &key, sizeof key, &added);

	if (added)
		vec_push(&b->places,
			(struct stack_place){ .stack = r->stack,
				.leaf_code = r->leaf_code,
				.leaf_offset = r->leaf_offset });
	b->places.v[index].n_samples++;
	b->s->n_samples++;
	b->s->n_shortened += (r->state & SAMPLE_SHORTENED) != 0;
	thread->n_samples++;
	thread->n_cpu += (r->state & SAMPLE_ON_CPU) != 0;
	thread->n_gil += (r->state & SAMPLE_HOLDS_GIL) != 0;
	return index;
}

static void gather(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_sample);
	uint64_t start_ns = 0;

	for (const struct rec_sample *r; (r = record_next(&it));) {
		size_t before, place = SIZE_MAX;
		double seconds = since_last(b, r, &before);

		start_ns = start_ns ? start_ns : r->t_ns;
		if (counts(b->o, r, (double)(r->t_ns - start_ns) / 1e9))
			place = gather_one(b, r);
		b->last[r->thread].place = place;
		add_seconds(b, before, r->thread, seconds / 2);
		add_seconds(b, place, r->thread, seconds / 2);
	}
	record_iter_done(&it);
}

static void count_lost(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_loss);

	for (const struct rec_loss *l; (l = record_next(&it));)
		if (strcmp(tables_string(b->t, l->what), "sample") == 0)
			b->s->n_lost += l->count;
	record_iter_done(&it);
}

const struct stacks *stacks_build(struct arena *a, struct tables *t, const struct stacks_options *o)
{
	struct stacks *s = arena_new(a, struct stacks);
	struct builder b = { .t = t,
		.o = o,
		.s = s,
		.last = arena_new_n(a, struct last_sample, tables_count(t, RECORD_thread) + 1) };

	gather(&b);
	count_lost(&b);
	s->v = arena_copy(a, b.places.v, b.places.n * sizeof *b.places.v);
	s->n = b.places.n;
	s->threads = arena_copy(a, b.threads.v, b.threads.n * sizeof *b.threads.v);
	s->n_threads = b.threads.n;
	s->frames = frames_new(a, t);
	s->tables = t;
	intern_done(&b.keys);
	vec_done(&b.places);
	vec_done(&b.threads);
	map_done(&b.thread_index);
	return s;
}

/* ---- frames ---------------------------------------------------------------------------------- */

size_t stacks_frames(const struct stacks *s, size_t place, struct stack_frame to[STACKS_DEPTH])
{
	const struct stack_place *p = &s->v[place];
	uint32_t at = p->stack;
	size_t n = 0;

	if (p->leaf_code)
		to[n++] = frames_of_code(s->frames, p->leaf_code, p->leaf_offset);
	while (at && n < STACKS_DEPTH) {
		const struct rec_stack *stack = tables_row(s->tables, RECORD_stack, at);

		if (!stack)
			break;
		to[n++] = frames_get(s->frames, stack->frame);
		at = stack->parent < at ? stack->parent : 0; /* parents come first: no cycles */
	}
	return n;
}
