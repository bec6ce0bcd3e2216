/* SPDX-License-Identifier: MIT
 * See spans.h. The file is a row of blocks of BLOCK spans, each of one thread; which block follows which is
 * kept in memory (4 bytes per 4096 spans). */
#include "formats/spans.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "analyze/calls/nodes.h"
#include "analyze/samples/place_index.h"
#include "analyze/recording.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/calls/timeline.h"
#include "analyze/samples/weights.h"
#include "formats/contexts.h"
#include "store/foreign.h"
#include "store/tables.h"
#include "base/banned.h"

enum { BLOCK = 4096 };

struct block {
	uint32_t next; /* + 1 */
	uint32_t n;
};

struct spans_file {
	int fd;
	int sys; /* errno of the first failure */
	VEC(struct block) blocks;
};

/* One thread while its samples come. */
struct running {
	struct span entries[BLOCK]; /* the last of them may still grow */
	uint32_t n;
	uint64_t t_ns; /* what is told so far ends there */
	bool counts;   /* the last sample does, and may grow, … */
	double part;   /* … by this part of its time */
};

struct builder {
	struct spans *s;
	struct running **running; /* by thread, owned; NULL until its first sample */
	uint32_t *index_of_row;   /* + 1 */
	struct place_index places;
	struct weights *weights;
	uint64_t zero_ns;
};

/* ---- the file -------------------------------------------------------------------------------- */

static void put_block(struct spans_file *f, struct spans_thread *t, const struct running *r)
{
	off_t at = (off_t)(f->blocks.n * sizeof r->entries);

	if (pwrite(f->fd, r->entries, sizeof r->entries, at) != (ssize_t)sizeof r->entries &&
		!f->sys)
		f->sys = errno ? errno : EIO;
	vec_push(&f->blocks, (struct block){ 0, r->n });
	if (t->last_block)
		f->blocks.v[t->last_block - 1].next = (uint32_t)f->blocks.n;
	else
		t->first_block = (uint32_t)f->blocks.n;
	t->last_block = (uint32_t)f->blocks.n;
}

/* ---- gathering ------------------------------------------------------------------------------- */

static struct running *running_of(struct builder *b, uint32_t thread_row, size_t *ret_index)
{
	uint32_t index = b->index_of_row[thread_row];

	if (!index)
		return NULL;
	*ret_index = index - 1;
	if (!b->running[index - 1])
		b->running[index - 1] = xcalloc(1, sizeof **b->running);
	return b->running[index - 1];
}

static uint32_t leaf_function(const struct builder *b, const struct stack_place *p)
{
	return frames_of_code(b->s->stacks->frames, p->leaf_code, p->leaf_offset).function;
}

/* The same functions, whatever lines. */
static bool looks_same(struct builder *b, const struct span *a, const struct span *c)
{
	const struct stack_place *x = &b->s->stacks->v[a->place], *y = &b->s->stacks->v[c->place];

	if (a->place == c->place)
		return true;
	if (x->stack != y->stack || !x->leaf_code != !y->leaf_code)
		return false;
	return !x->leaf_code || leaf_function(b, x) == leaf_function(b, y);
}

static void push(struct builder *b, size_t thread, struct running *r, const struct span *x)
{
	struct spans_thread *t = &b->s->threads[thread];
	struct span *last = r->n ? &r->entries[r->n - 1] : NULL;

	if (last && last->t_ns + last->value == x->t_ns &&
		last->samples < UINT32_MAX - x->samples && looks_same(b, last, x)) {
		last->value += x->value;
		last->samples += x->samples;
		return;
	}
	if (r->n == BLOCK) {
		put_block(b->s->file, t, r);
		r->n = 0;
	}
	r->entries[r->n++] = *x;
	t->n++;
}

static void add_value(struct builder *b, size_t thread, uint64_t t_ns, uint64_t value)
{
	struct spans_thread *t = &b->s->threads[thread];

	if (!t->n)
		t->t_ns = t_ns;
	t->value += value;
	if (t_ns + value > t->end_ns)
		t->end_ns = t_ns + value;
	if (t->end_ns > b->s->end_ns)
		b->s->end_ns = t->end_ns;
}

/* From the recording's begin on; a thread's times never run backwards. */
static uint64_t time_of(const struct builder *b, const struct running *r, uint64_t t_ns)
{
	t_ns = t_ns > b->zero_ns ? t_ns - b->zero_ns : 0;
	return t_ns > r->t_ns ? t_ns : r->t_ns;
}

static void add_part(struct builder *b, size_t thread, struct running *r, struct span x)
{
	add_value(b, thread, x.t_ns, x.value);
	push(b, thread, r, &x);
}

static uint64_t part_of(double part, uint64_t ns)
{
	return part < 1 ? (uint64_t)llround((double)ns * part) : ns;
}

static void add_unseen(struct builder *b, size_t thread, struct running *r, uint32_t stack,
	uint64_t from_ns, uint64_t to_ns)
{
	struct rec_sample s =
		weights_unseen(b->s->stacks->threads[thread].row, stack, from_ns, to_ns);
	uint64_t begin = time_of(b, r, from_ns);
	size_t place;
	double part;

	if (from_ns >= to_ns)
		return;
	r->t_ns = time_of(b, r, to_ns);
	if (place_index_of_sample(&b->places, &s, weights_on_cpu(b->weights, &s), &place, &part))
		add_part(b, thread, r,
			(struct span){ .t_ns = begin,
				.value = part_of(part, r->t_ns - begin),
				.place = (uint32_t)place });
}

/* What is behind the last sample. */
static void close_sample(
	struct builder *b, size_t thread, struct running *r, const struct weight_gap *g)
{
	uint64_t end = time_of(b, r, g->last_end_ns);

	if (!g->has_last)
		return;
	if (r->counts) {
		uint64_t value = part_of(r->part, end - r->t_ns);

		r->entries[r->n - 1].value += value;
		add_value(b, thread, r->t_ns, value);
	}
	r->t_ns = end;
	r->counts = false;
	add_unseen(b, thread, r, g->unseen_stack, g->last_end_ns, g->gone_ns);
}

static void add_sample(struct builder *b, const struct rec_sample *s)
{
	size_t thread, place;
	struct running *r = running_of(b, s->thread, &thread);
	struct weight_gap g;
	uint64_t begin;

	if (!r)
		return;
	g = weights_gap(b->weights, s);
	close_sample(b, thread, r, &g);
	add_unseen(b, thread, r, g.unseen_stack, g.came_ns, g.begin_ns);
	begin = time_of(b, r, g.begin_ns);
	r->t_ns = time_of(b, r, s->t_ns);
	r->counts = place_index_of_sample(
		&b->places, s, weights_on_cpu(b->weights, s), &place, &r->part);
	if (r->counts)
		add_part(b, thread, r,
			(struct span){ .t_ns = begin,
				.value = part_of(r->part, r->t_ns - begin),
				.place = (uint32_t)place,
				.samples = 1 });
}

static void gather_samples(struct builder *b, struct tables *t, const struct stacks_options *o)
{
	uint64_t begun_ns = tables_reader(t)->begun_monotonic_ns;
	struct record_iter it = record_iter(t, RECORD_sample);
	struct weight_gap g;
	bool is_first = true;

	b->weights = weights_load(t);
	for (const struct rec_sample *s; (s = record_next(&it)); is_first = false) {
		if (is_first) {
			b->zero_ns = begun_ns <= s->t_ns ? begun_ns : s->t_ns;
			place_index_init(&b->places, b->s->stacks, o, b->zero_ns);
		}
		add_sample(b, s);
	}
	record_iter_done(&it);
	for (size_t i = 0; i < b->s->stacks->n_threads; i++)
		if (b->running[i] &&
			weights_end(b->weights, b->s->stacks->threads[i].row, true, &g))
			close_sample(b, i, b->running[i], &g);
	weights_free(b->weights);
}

static const uint64_t SPANS_MOST = UINT64_MAX / 4; /* a hostile sum ends there */

static void gather_weights(struct builder *b, struct tables *t, const struct stacks_options *o)
{
	struct record_iter it = record_iter(t, RECORD_weight);

	place_index_init(&b->places, b->s->stacks, o, 0);
	for (const struct rec_weight *w; (w = record_next(&it));) {
		size_t thread, place = 0;
		struct running *r = running_of(b, w->thread, &thread);
		struct span x = { .value = w->value,
			.samples = w->samples < UINT32_MAX ? (uint32_t)w->samples : UINT32_MAX };

		if (!r || !place_index_of_weight(&b->places, w, &place))
			continue;
		x.place = (uint32_t)place;
		x.t_ns = b->s->threads[thread].end_ns; /* without time, or out of order: behind */
		if (w->t_ns > x.t_ns && w->t_ns < SPANS_MOST)
			x.t_ns = w->t_ns;
		if (x.value > SPANS_MOST - x.t_ns)
			x.value = SPANS_MOST - x.t_ns;
		add_value(b, thread, x.t_ns, x.value);
		push(b, thread, r, &x);
	}
	record_iter_done(&it);
}

/* Exactly traced contexts have sums, no times of their own, and so has memory: one behind the other. */
static void gather_sums(struct builder *b)
{
	double scale = b->s->stacks->unit == UNIT_SECONDS ? 1e9 : 1;

	for (size_t i = 0; i < b->s->stacks->n; i++) {
		const struct stack_place *p = &b->s->stacks->v[i];
		size_t thread;
		struct running *r = running_of(b, b->s->stacks->threads[p->thread].row, &thread);
		struct span x = { .place = (uint32_t)i, .value = foreign_value(p->value * scale) };

		x.t_ns = b->s->threads[thread].end_ns;
		if (x.value > SPANS_MOST - x.t_ns)
			x.value = SPANS_MOST - x.t_ns;
		x.samples = p->n_samples < UINT32_MAX ? (uint32_t)p->n_samples : UINT32_MAX;
		add_value(b, thread, x.t_ns, x.value);
		push(b, thread, r, &x);
	}
}

static uint64_t within(const struct spans *s, uint64_t t_ns)
{
	t_ns = t_ns < s->from_ns ? s->from_ns : s->to_ns && t_ns > s->to_ns ? s->to_ns : t_ns;
	return t_ns > s->zero_ns ? t_ns - s->zero_ns : 0;
}

/* A timeline knows when each thread's calls were. */
static void take_timeline(
	struct builder *b, struct arena *a, struct tables *t, const struct stacks_options *o)
{
	const struct timeline *l = timeline_build(a, t, b->s->stacks->frames);
	uint64_t begun_ns = tables_reader(t)->begun_monotonic_ns;

	b->s->zero_ns = begun_ns;
	b->s->from_ns = o->from_s > 0 ? begun_ns + (uint64_t)(o->from_s * 1e9) : 0;
	b->s->to_ns = o->to_s > 0 ? begun_ns + (uint64_t)(o->to_s * 1e9) : 0;
	for (size_t i = 0; l && i < l->n_threads; i++) {
		uint32_t index = b->index_of_row[l->threads[i].row];
		struct spans_thread *thread = index ? &b->s->threads[index - 1] : NULL;

		if (!thread)
			continue;
		thread->t_ns = within(b->s, l->threads[i].t_ns);
		thread->end_ns = within(b->s, l->threads[i].end_ns);
	}
	b->s->timeline = l;
}

int spans_build(struct spans **ret, struct arena *a, struct selection *of, struct err *e)
{
	struct tables *t = of->recording->tables;
	struct spans *s = arena_new(a, struct spans);
	struct builder b = { .s = s };
	size_t n;

	s->stacks = of->stacks;
	n = s->stacks->n_threads;
	s->threads = arena_new_n(a, struct spans_thread, n);
	s->file = xcalloc(1, sizeof *s->file);
	s->file->fd = outfile_unnamed();
	if (s->file->fd < 0) {
		err_errno(e, ERR_SYSTEM, "a temporary file in TMPDIR, /var/tmp or /tmp");
		free(s->file);
		return -(int)e->code;
	}
	b.running = arena_new_n(a, struct running *, n);
	b.index_of_row = arena_new_n(a, uint32_t, tables_count(t, RECORD_thread) + 1);
	for (size_t i = 0; i < n; i++)
		b.index_of_row[s->stacks->threads[i].row] = (uint32_t)i + 1;
	if (s->stacks->nodes->n) {
		gather_sums(&b);
		take_timeline(&b, a, t, &of->options);
	} else if (of->memory) {
		gather_sums(&b);
	} else if (s->stacks->is_foreign) {
		gather_weights(&b, t, &of->options);
	} else {
		gather_samples(&b, t, &of->options);
	}
	for (size_t i = 0; i < n; i++) {
		if (b.running[i] && b.running[i]->n)
			put_block(s->file, &s->threads[i], b.running[i]);
		free(b.running[i]);
	}
	place_index_done(&b.places);
	*ret = s;
	return 0;
}

int spans_build_time(struct spans **ret, struct arena *a, struct selection *of, struct err *e)
{
	int status = spans_build(ret, a, of, e);

	if (status < 0 || (*ret)->stacks->unit == UNIT_SECONDS)
		return status;
	spans_close(*ret, e);
	return err_set(
		e, ERR_USAGE, "a trace in time cannot be made of a file whose values are not time");
}

int spans_close(struct spans *s, struct err *e)
{
	int sys = s->file->sys;

	close(s->file->fd);
	vec_done(&s->file->blocks);
	free(s->file);
	if (!sys)
		return 0;
	errno = sys;
	return err_errno(e, ERR_SYSTEM, "a temporary file");
}

/* ---- reading back ---------------------------------------------------------------------------- */

bool spans_has_thread(const struct spans *s, size_t thread)
{
	return s->threads[thread].n > 0;
}

size_t spans_frames(
	const struct spans *s, const struct span *x, struct stack_frame to[STACKS_DEPTH])
{
	return stacks_frames(s->stacks, x->place, to);
}

struct span_iter spans_of(const struct spans *s, size_t thread)
{
	return (struct span_iter){ .spans = s, .block = s->threads[thread].first_block };
}

static bool next_block(struct span_iter *it)
{
	struct spans_file *f = it->spans->file;
	size_t bytes = BLOCK * sizeof *it->entries;

	if (!it->block)
		return false;
	if (!it->entries)
		it->entries = xcalloc(BLOCK, sizeof *it->entries);
	if (pread(f->fd, it->entries, bytes, (off_t)((it->block - 1) * bytes)) != (ssize_t)bytes) {
		f->sys = f->sys ? f->sys : errno ? errno : EIO;
		return false;
	}
	it->n = f->blocks.v[it->block - 1].n;
	it->at = 0;
	it->block = f->blocks.v[it->block - 1].next;
	return true;
}

bool span_next(struct span_iter *it, struct span *ret)
{
	if (it->at == it->n && !next_block(it)) {
		free(it->entries);
		*it = (struct span_iter){ .spans = it->spans };
		return false;
	}
	*ret = it->entries[it->at++];
	return true;
}

/* Returns its caller. */
static uint32_t close_one(
	const struct contexts *c, uint32_t context, const struct spans_replay *r, uint64_t t_ns)
{
	r->close(r->ctx, c->v.v[context - 1].function, t_ns);
	return c->v.v[context - 1].parent;
}

/* Goes from one context to the next over the one they have in common, so work is as much as there is to tell. */
static void replay_spans(const struct spans *s, size_t thread, const struct spans_replay *r)
{
	struct contexts c = { 0 };
	struct span_iter it = spans_of(s, thread);
	uint64_t end = s->threads[thread].t_ns;
	uint32_t open = 0;
	VEC(uint32_t) fresh = VEC_INIT; /* contexts that begin, the innermost first */

	for (struct span x; span_next(&it, &x);) {
		uint32_t now = contexts_of(&c, s, &x), at = now;

		if (x.t_ns != end)
			while (open)
				open = close_one(&c, open, r, end);
		while (at != open)
			if (contexts_depth(&c, at) > contexts_depth(&c, open)) {
				vec_push(&fresh, at);
				at = c.v.v[at - 1].parent;
			} else {
				open = close_one(&c, open, r, end);
			}
		while (fresh.n)
			r->open(r->ctx, c.v.v[fresh.v[--fresh.n] - 1].function, x.t_ns);
		open = now;
		end = x.t_ns + x.value;
	}
	while (open)
		open = close_one(&c, open, r, end);
	vec_done(&fresh);
	contexts_done(&c);
}

/* ---- calls as they were ---------------------------------------------------------------------- */

/* A call that began and has not ended. */
struct call {
	/* as it is told; UINT32_MAX: its time is its caller's, the library's is not told */
	uint32_t function;
	bool is_kept; /* the filter is for it, or there is none */
};

/* Times of a timeline count from the recording's begin on, and what was not chosen of the calls is not told: library code
 * becomes part of its caller, and of stacks that are filtered a call is open while one of those it leads to is. */
struct telling {
	const struct spans *s;
	const struct spans_replay *r;
	VEC(struct call) calls;
	size_t n_told;      /* of them */
	size_t n_kept;      /* likewise */
	size_t n_looked_at; /* the first of them: those that are told are open */
};

static uint64_t since_begin(const struct telling *t, uint64_t t_ns)
{
	if (t_ns < t->s->from_ns)
		t_ns = t->s->from_ns;
	return t_ns > t->s->zero_ns ? t_ns - t->s->zero_ns : 0;
}

static uint32_t told_as(const struct telling *t, uint32_t function)
{
	const struct stacks *s = t->s->stacks;

	if (!s->only_mine || !frames_function(s->frames, function)->is_library)
		return function;
	return t->n_told ? UINT32_MAX : frames_library(s->frames).function;
}

static void begin_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct telling *t = ctx;
	struct stack_filter_state state = { 0 };
	struct call x = { .function = told_as(t, function) };

	if (x.function != UINT32_MAX && t->s->stacks->shape) {
		stack_filter_step(t->s->stacks->shape, &state, x.function);
		x.is_kept = stack_filter_counts(t->s->stacks->shape, &state);
	} else {
		x.is_kept = !t->s->stacks->shape;
	}
	vec_push(&t->calls, x);
	t->n_told += x.function != UINT32_MAX;
	t->n_kept += x.is_kept;
	for (; t->n_kept && t->n_looked_at < t->calls.n; t->n_looked_at++) {
		uint32_t next = t->calls.v[t->n_looked_at].function;

		if (next != UINT32_MAX)
			t->r->open(t->r->ctx, next, since_begin(t, t_ns));
	}
}

static void end_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct telling *t = ctx;
	struct call last = t->calls.v[--t->calls.n];
	size_t still_open;

	(void)function;
	t->n_told -= last.function != UINT32_MAX;
	t->n_kept -= last.is_kept;
	/* With the last that is kept its callers end, until another one is. */
	still_open = t->n_kept ? t->calls.n : 0;
	if (last.function != UINT32_MAX && t->n_looked_at > t->calls.n)
		t->r->close(t->r->ctx, last.function, since_begin(t, t_ns));
	if (t->n_looked_at > t->calls.n)
		t->n_looked_at = t->calls.n;
	for (; t->n_looked_at > still_open; t->n_looked_at--)
		if (t->calls.v[t->n_looked_at - 1].function != UINT32_MAX)
			t->r->close(t->r->ctx, t->calls.v[t->n_looked_at - 1].function,
				since_begin(t, t_ns));
}

void spans_replay(const struct spans *s, size_t thread, const struct spans_replay *r)
{
	struct telling t = { .s = s, .r = r };

	if (s->timeline)
		timeline_visit(s->timeline, s->stacks->threads[thread].row,
			&(struct timeline_window){ s->from_ns, s->to_ns },
			&(struct timeline_visitor){
				.ctx = &t, .begin = begin_call, .end = end_call });
	else
		replay_spans(s, thread, r);
	vec_done(&t.calls);
}
