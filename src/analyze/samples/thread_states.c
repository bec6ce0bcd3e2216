/* SPDX-License-Identifier: MIT
 * See thread_states.h. */
#include "analyze/samples/thread_states.h"

#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/origin.h"
#include "analyze/samples/weights.h"
#include "base/arena.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

const char *const strip_states[STRIP_STATES_] = { [STRIP_NONE] = "none",
	[STRIP_RUNNING] = "running",
	[STRIP_GIL_WAIT] = "gil_wait",
	[STRIP_GC] = "gc",
	[STRIP_WAITING] = "waiting",
	[STRIP_LATE] = "late" };

struct building {
	uint32_t row;
	VEC(struct state_span) spans;
	uint64_t last_ns; /* where its last span begins, at least */
	uint64_t end_ns;
};

struct builder {
	struct tables *t;
	struct weights *weights;
	uint32_t *index; /* by row of the thread, + 1 */
	VEC(struct building) threads;
	uint64_t zero_ns;
	bool has_zero;
};

static uint8_t state_of(unsigned bits)
{
	if (bits & SAMPLE_IN_GC)
		return STRIP_GC;
	if (bits & SAMPLE_ON_CPU)
		return STRIP_RUNNING;
	return bits & SAMPLE_WANTS_GIL ? STRIP_GIL_WAIT : STRIP_WAITING;
}

static struct building *thread_of(struct builder *b, uint32_t row)
{
	if (!b->index[row]) {
		vec_push(&b->threads, (struct building){ .row = row });
		b->index[row] = (uint32_t)b->threads.n;
	}
	return &b->threads.v[b->index[row] - 1];
}

static void add_span(struct building *x, struct state_span s)
{
	struct state_span *last = x->spans.n ? &x->spans.v[x->spans.n - 1] : NULL;

	if (last && last->stack == s.stack && last->leaf_code == s.leaf_code &&
		last->state == s.state)
		last->n_samples += s.n_samples;
	else
		vec_push(&x->spans, s);
}

/* Since the recording began; a thread's times never run backwards. */
static uint64_t time_of(const struct builder *b, struct building *x, uint64_t t_ns)
{
	t_ns = t_ns > b->zero_ns ? t_ns - b->zero_ns : 0;
	if (t_ns < x->last_ns)
		t_ns = x->last_ns;
	x->last_ns = t_ns;
	return t_ns;
}

static void add_unseen(const struct builder *b, struct building *x, uint32_t stack,
	uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < to_ns)
		add_span(x,
			(struct state_span){ .t_ns = time_of(b, x, from_ns),
				.stack = stack,
				.state = STRIP_LATE });
}

static void add_sample(struct builder *b, const struct rec_sample *s)
{
	struct building *x = thread_of(b, s->thread);
	struct weight_gap g = weights_gap(b->weights, s);

	if (g.has_last) {
		add_unseen(b, x, g.unseen_stack, g.last_end_ns, g.gone_ns);
		if (g.gone_ns < g.came_ns)
			add_span(x, (struct state_span){ .t_ns = time_of(b, x, g.gone_ns) });
	}
	add_unseen(b, x, g.unseen_stack, g.came_ns, g.begin_ns);
	add_span(x,
		(struct state_span){ time_of(b, x, g.begin_ns), s->stack, s->leaf_code,
			s->leaf_offset, 1, state_of(s->state) });
	x->end_ns = time_of(b, x, s->t_ns);
}

static void gather(struct builder *b)
{
	uint64_t begun_ns = tables_reader(b->t)->begun_monotonic_ns;
	struct record_iter it = record_iter(b->t, RECORD_sample);
	struct weight_gap g;

	b->weights = weights_load(b->t);
	for (const struct rec_sample *s; (s = record_next(&it));) {
		if (!b->has_zero) /* as stacks.c has it */
			b->zero_ns = begun_ns <= s->t_ns ? begun_ns : s->t_ns;
		b->has_zero = true;
		add_sample(b, s);
	}
	record_iter_done(&it);
	vec_each (&b->threads, x)
		if (weights_end(b->weights, x->row, true, &g)) {
			add_unseen(b, x, g.unseen_stack, g.last_end_ns, g.gone_ns);
			x->end_ns = time_of(b, x, g.gone_ns);
		}
	weights_free(b->weights);
}

/* Values that are no time have no place on a time line. */
static void weigh(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_weight);

	for (const struct rec_weight *w; (w = record_next(&it));) {
		struct building *x = thread_of(b, w->thread);
		uint64_t begin_ns = w->t_ns > x->end_ns ? w->t_ns : x->end_ns;

		if (w->value > INT64_MAX || begin_ns > INT64_MAX)
			continue;
		if (begin_ns > x->end_ns && x->spans.n)
			add_span(x, (struct state_span){ .t_ns = x->end_ns });
		add_span(x,
			(struct state_span){
				begin_ns, w->stack, 0, 0, (uint32_t)w->samples, STRIP_RUNNING });
		x->end_ns = begin_ns + w->value;
	}
	record_iter_done(&it);
}

static struct state_thread finish(struct arena *a, struct builder *b, struct building *x)
{
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, x->row);
	const struct rec_process *process = thread ? tables_process(b->t, thread->process) : NULL;
	struct state_thread to = { .row = x->row,
		.tid = thread ? thread->tid : 0,
		.pid = process ? process->pid : 0,
		.name = thread ? tables_string(b->t, thread->name) : "",
		.v = arena_copy(a, x->spans.v, x->spans.n * sizeof *x->spans.v),
		.n = x->spans.n,
		.end_ns = x->end_ns };

	vec_done(&x->spans);
	return to;
}

const struct thread_states *thread_states_build(struct arena *a, struct tables *t, struct frames *f)
{
	struct thread_states *l = arena_new(a, struct thread_states);
	struct origin origin = origin_build(a, t);
	struct builder b = { .t = t,
		.index = xcalloc(tables_count(t, RECORD_thread) + 1, sizeof *b.index) };
	struct state_thread *threads;

	if (!origin.is_foreign)
		gather(&b);
	else if (origin.unit == UNIT_SECONDS)
		weigh(&b);
	threads = arena_new_n(a, struct state_thread, b.threads.n);
	for (size_t i = 0; i < b.threads.n; i++) {
		threads[i] = finish(a, &b, &b.threads.v[i]);
		if (threads[i].end_ns > l->end_ns)
			l->end_ns = threads[i].end_ns;
	}
	l->threads = threads;
	l->n_threads = b.threads.n;
	l->has_states = !origin.is_foreign;
	l->frames = f;
	l->tables = t;
	vec_done(&b.threads);
	free(b.index);
	return l;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The last span that begins at or before a time; 0 where none does. */
static size_t span_at(const struct state_thread *x, uint64_t t_ns)
{
	size_t low = 0, high = x->n;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (x->v[middle].t_ns <= t_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t end_of(const struct state_thread *x, size_t i)
{
	return i + 1 < x->n ? x->v[i + 1].t_ns : x->end_ns;
}

/* What one pixel shows: the state that has most of it, and the longest span of that. */
static struct state_run pixel(const struct thread_states *t, const struct state_thread *x,
	size_t *at, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t of_state[STRIP_STATES_] = { 0 }, longest[STRIP_STATES_] = { 0 };
	size_t where[STRIP_STATES_] = { 0 };
	struct state_run run = { .t_ns = from_ns, .function = UINT32_MAX };

	for (; *at < x->n && x->v[*at].t_ns < to_ns; ++*at) {
		uint64_t begin = x->v[*at].t_ns > from_ns ? x->v[*at].t_ns : from_ns;
		uint64_t end = end_of(x, *at) < to_ns ? end_of(x, *at) : to_ns;
		uint8_t state = x->v[*at].state;
		uint64_t length = end > begin ? end - begin : 0;

		of_state[state] += length;
		if (length > longest[state]) {
			longest[state] = length;
			where[state] = *at;
		}
		if (end_of(x, *at) > to_ns)
			break;
	}
	for (uint8_t i = 1; i < STRIP_STATES_; i++)
		if (of_state[i] > of_state[run.state] || (!run.state && of_state[i]))
			run.state = i;
	if (run.state) {
		const struct state_span *s = &x->v[where[run.state]];

		run.function = frames_leaf(t->frames, s->stack, s->leaf_code, s->leaf_offset);
	}
	return run;
}

size_t thread_states_runs(const struct thread_states *t, const struct state_thread *x,
	uint64_t from_ns, uint64_t to_ns, size_t pixels, struct state_run **ret)
{
	struct state_run *runs = xcalloc(pixels + 1, sizeof *runs);
	double per_pixel = (double)(to_ns - from_ns) / (double)pixels;
	size_t at = span_at(x, from_ns), n = 0;

	for (size_t i = 0; i < pixels; i++) {
		uint64_t begin_ns = from_ns + (uint64_t)((double)i * per_pixel);
		struct state_run run = pixel(
			t, x, &at, begin_ns, from_ns + (uint64_t)((double)(i + 1) * per_pixel));

		if (!n ? run.state != STRIP_NONE
		       : run.state != runs[n - 1].state || run.function != runs[n - 1].function)
			runs[n++] = run;
	}
	if (n && runs[n - 1].state != STRIP_NONE)
		runs[n++] = (struct state_run){ x->end_ns < to_ns ? x->end_ns : to_ns, STRIP_NONE,
			UINT32_MAX };
	*ret = runs;
	return n;
}

void thread_states_sums(
	const struct state_thread *x, uint64_t from_ns, uint64_t to_ns, double to[STRIP_STATES_])
{
	memset(to, 0, STRIP_STATES_ * sizeof *to);
	for (size_t i = span_at(x, from_ns); i < x->n && x->v[i].t_ns < to_ns; i++) {
		uint64_t begin = x->v[i].t_ns > from_ns ? x->v[i].t_ns : from_ns;
		uint64_t end = end_of(x, i) < to_ns ? end_of(x, i) : to_ns;

		to[x->v[i].state] += end > begin ? (double)(end - begin) / 1e9 : 0;
	}
}
