/* SPDX-License-Identifier: MIT
 * See timeline.h. The bytes of a recording may say anything: every event is bounded by them, and what ends
 * without having begun is left out. */
#include "analyze/calls/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/events.h"
#include "wire/records.h"
#include "base/banned.h"

enum { DEPTH_MOST = 1 << 20 }; /* calls open at once that are believed */

/* Of functions: none, so not to be shown. */
static const uint32_t HIDDEN = UINT32_MAX;

struct placed {
	uint64_t place; /* 0: unused */
	uint32_t function;
};

struct timeline_source {
	struct tables *t;
	const struct placed *placed; /* open addressing */
	size_t n_slots;              /* power of two */
};

struct open_call {
	uint32_t function;
	uint8_t how;
	bool is_told;
	uint64_t t_ns, place;
};

/* One thread while its blocks are read. */
struct replay {
	const struct timeline *l;
	struct timeline_thread *sums; /* NULL: not wanted */
	struct timeline_window window;
	const struct timeline_visitor *v; /* NULL: nobody */
	VEC(struct open_call) open;
	size_t n_told; /* of open, from the bottom on; HIDDEN ones count */
	uint64_t now_ns;
	uint64_t sequence;
	uint32_t image;
	bool is_over; /* past the window */
};

/* ---- which function -------------------------------------------------------------------------- */

static size_t slot_of(const struct placed *v, size_t n_slots, uint64_t place)
{
	size_t i = hash_place(place) & (n_slots - 1);

	while (v[i].place && v[i].place != place)
		i = (i + 1) & (n_slots - 1);
	return i;
}

static void read_functions(
	struct arena *a, struct timeline_source *s, struct tables *t, struct frames *f)
{
	struct record_iter it = record_iter(t, RECORD_node);
	struct map found = MAP_INIT;
	struct placed *v;
	uint64_t place, function;

	for (const struct rec_node *n; (n = record_next(&it));)
		if (n->place && (n->code || n->builtin))
			map_put(&found, n->place,
				n->code ? frames_of_code(f, n->code, 0).function
					: frames_of_builtin(f, n->builtin).function);
	record_iter_done(&it);
	for (s->n_slots = 16; s->n_slots < 2 * found.n;)
		s->n_slots *= 2;
	s->placed = v = arena_new_n(a, struct placed, s->n_slots);
	for (size_t i = 0; map_next(&found, &i, &place, &function);)
		v[slot_of(v, s->n_slots, place)] =
			(struct placed){ .place = place, .function = (uint32_t)function };
	map_done(&found);
}

static uint32_t function_at(const struct timeline_source *s, uint64_t place)
{
	const struct placed *p = &s->placed[slot_of(s->placed, s->n_slots, place)];

	return p->place ? p->function : HIDDEN;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_begins(struct replay *r)
{
	for (; r->n_told < r->open.n; r->n_told++) {
		struct open_call *c = &r->open.v[r->n_told];

		c->is_told = true;
		if (c->function != HIDDEN && r->v->begin_at)
			r->v->begin_at(r->v->ctx, c->place, c->how, c->t_ns);
		else if (c->function != HIDDEN)
			r->v->begin(r->v->ctx, c->function, c->t_ns);
	}
}

static void tell_end(struct replay *r, uint64_t t_ns)
{
	struct open_call c = r->open.v[r->open.n - 1];

	if (c.is_told && c.function != HIDDEN)
		r->v->end(r->v->ctx, c.function, t_ns);
	r->open.n--;
	if (r->n_told > r->open.n)
		r->n_told = r->open.n;
}

static void end_all(struct replay *r, uint64_t t_ns)
{
	while (r->open.n)
		tell_end(r, t_ns);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void begin_call(struct replay *r, uint32_t ref, unsigned how)
{
	uint64_t place = (uint64_t)r->image << 32 | ref;

	if (r->sums) {
		r->sums->n_calls += how == EVENT_CALL;
		r->sums->n_resumes += how == EVENT_RESUME;
		r->sums->n_seen += how == EVENT_SEEN;
	}
	if (r->open.n >= DEPTH_MOST)
		return;
	vec_push(&r->open,
		((struct open_call){ .function = function_at(r->l->source, place),
			.how = (uint8_t)how,
			.place = place,
			.t_ns = r->now_ns }));
	if (r->sums && r->open.n > r->sums->deepest)
		r->sums->deepest = (uint32_t)r->open.n;
	if (r->v && r->now_ns >= r->window.from_ns)
		tell_begins(r);
}

static void end_call(struct replay *r)
{
	if (r->sums)
		r->sums->n_ends++;
	if (!r->open.n)
		return;
	if (r->v && r->now_ns >= r->window.from_ns)
		tell_begins(r);
	tell_end(r, r->now_ns);
}

/* The window is over: what is open ends with it. */
static bool is_behind(struct replay *r, uint64_t t_ns)
{
	if (!r->window.to_ns || t_ns < r->window.to_ns)
		return false;
	if (r->v)
		tell_begins(r);
	end_all(r, r->window.to_ns);
	return r->is_over = true;
}

static uint64_t time_of(const struct rec_call_events *b, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * b->tick >> 32;

	return ns > UINT64_MAX - b->t_ns ? UINT64_MAX : b->t_ns + (uint64_t)ns;
}

static void read_events(struct replay *r, const struct rec_call_events *b)
{
	const unsigned char *at = b->events.p, *end = at + b->events.n;
	uint64_t ticks = 0, v, call;
	uint32_t ref = b->ref;

	while (event_get_varint(&at, end, &v)) {
		uint64_t t_ns;

		ticks += v & ~(uint64_t)1;
		t_ns = time_of(b, ticks);
		if (is_behind(r, t_ns))
			return;
		r->now_ns = t_ns > r->now_ns ? t_ns : r->now_ns;
		if (v & 1) {
			end_call(r);
			continue;
		}
		if (!event_get_varint(&at, end, &call))
			return;
		ref += (uint32_t)event_unzigzag((uint32_t)(call >> EVENT_HOW_BITS));
		begin_call(r, ref, call & ((1 << EVENT_HOW_BITS) - 1));
	}
}

/* The calls that are open are others than those that were: blocks are missing, or it is another program. */
static void start_anew(struct replay *r, const struct rec_call_events *b)
{
	bool is_next_image = b->image != r->image;

	end_all(r, r->now_ns);
	if (r->sums)
		r->sums->n_gaps += !is_next_image || b->sequence != 1;
	for (uint32_t i = 0; i < b->depth && i < DEPTH_MOST; i++)
		vec_push(&r->open, ((struct open_call){ .function = HIDDEN, .t_ns = b->t_ns }));
}

static void read_block(struct replay *r, const struct rec_call_events *b)
{
	if (b->image != r->image || b->sequence != r->sequence + 1)
		start_anew(r, b);
	r->image = b->image;
	r->sequence = b->sequence;
	if (r->sums && !r->sums->end_ns)
		r->sums->t_ns = b->t_ns;
	if (!r->is_over)
		read_events(r, b);
	if (r->sums)
		r->sums->end_ns = r->now_ns;
}

static void replay_done(struct replay *r)
{
	if (r->v && r->now_ns >= r->window.from_ns)
		tell_begins(r);
	end_all(r, r->now_ns);
	vec_done(&r->open);
}

void timeline_visit(const struct timeline *l, uint32_t thread_row,
	const struct timeline_window *window, const struct timeline_visitor *v)
{
	struct replay r = { .l = l, .window = *window, .v = v };
	struct record_iter it = { 0 };
	size_t first = 0;

	for (size_t i = 0; i < l->n_threads; i++)
		if (l->threads[i].row == thread_row)
			first = l->threads[i].first;
	it = record_iter_from(l->source->t, RECORD_call_events, first);
	for (const struct rec_call_events *b; !r.is_over && (b = record_next(&it));)
		if (b->thread == thread_row)
			read_block(&r, b);
	record_iter_done(&it);
	replay_done(&r);
}

/* ---- building -------------------------------------------------------------------------------- */

static uint64_t read_min_duration(struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_meta);
	uint64_t ns = 0;

	for (const struct rec_meta *m; (m = record_next(&it));) {
		char text[24] = "";

		if (strcmp(tables_string(t, m->key), "min_duration_ns") != 0)
			continue;
		memcpy(text, m->value.p, m->value.n < sizeof text ? m->value.n : sizeof text - 1);
		ns = strtoull(text, NULL, 10);
	}
	record_iter_done(&it);
	return ns;
}

struct builder {
	struct timeline *l;
	struct map index; /* thread row → index */
	VEC(struct timeline_thread) threads;
	VEC(struct replay) replays;
};

static void add_block(struct builder *b, const struct rec_call_events *block, size_t chunk)
{
	uint64_t at;

	if (!map_find(&b->index, block->thread, &at)) {
		at = b->threads.n;
		map_put(&b->index, block->thread, at);
		vec_push(&b->threads,
			((struct timeline_thread){
				.row = block->thread, .first = (uint32_t)chunk }));
		vec_push(&b->replays, ((struct replay){ .l = b->l }));
	}
	b->replays.v[at].sums = &b->threads.v[at];
	b->l->n_events += block->n_events;
	b->l->n_bytes += block->events.n;
	read_block(&b->replays.v[at], block);
}

const struct timeline *timeline_build(struct arena *a, struct tables *t, struct frames *f)
{
	struct timeline *l = arena_new(a, struct timeline);
	struct record_iter it = record_iter(t, RECORD_call_events);
	struct builder b = { .l = l };

	l->source = arena_new(a, struct timeline_source);
	l->source->t = t;
	read_functions(a, l->source, t, f);
	for (const struct rec_call_events *block; (block = record_next(&it));)
		add_block(&b, block, it.chunk - 1);
	record_iter_done(&it);
	vec_each (&b.replays, r) {
		r->sums = NULL;
		replay_done(r);
	}
	l->min_duration_ns = read_min_duration(t);
	l->n_threads = b.threads.n;
	l->threads = arena_copy(a, b.threads.v, b.threads.n * sizeof *b.threads.v);
	map_done(&b.index);
	vec_done(&b.threads);
	vec_done(&b.replays);
	return l->n_threads ? l : NULL;
}
