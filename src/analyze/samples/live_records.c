/* SPDX-License-Identifier: MIT
 * See live.h: taking in records. */
#include "analyze/samples/live.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/live_state.h"
#include "analyze/samples/weights.h"
#include "base/err.h"
#include "base/units.h"
#include "store/tables.h"
#include "base/banned.h"

/* ---- slices ---------------------------------------------------------------------------------- */

struct live_slice *live_slice_find(struct live *l, uint64_t number)
{
	struct live_slice *s = &l->slices[number % LIVE_HISTORY];

	return s->number == number + 1 ? s : NULL;
}

static void note_time(struct live *l, uint64_t t_ns)
{
	if (!l->first_ns) {
		l->first_ns = l->since_ns = l->last_ns = t_ns;
		l->origin_ns = t_ns - t_ns % LIVE_SLICE_NS;
	}
	if (t_ns > l->last_ns)
		l->last_ns = t_ns;
	l->last_slice = (l->last_ns - l->origin_ns) / LIVE_SLICE_NS;
}

/* The slice of a moment, emptied when the ring comes round; NULL when it is too old to matter. */
static struct live_slice *slice_at(struct live *l, uint64_t t_ns)
{
	uint64_t number;
	struct live_slice *s;

	note_time(l, t_ns);
	number = t_ns > l->origin_ns ? (t_ns - l->origin_ns) / LIVE_SLICE_NS : 0;
	s = &l->slices[number % LIVE_HISTORY];
	if (s->number > number + 1 || number + LIVE_HISTORY <= l->last_slice)
		return NULL;
	if (s->number < number + 1) {
		s->number = number + 1;
		s->cpu_s = s->rss_bytes = 0;
		s->n_looks = 0;
		vec_clear(&s->places);
		vec_clear(&s->threads);
	}
	return s;
}

/* ---- threads --------------------------------------------------------------------------------- */

static uint32_t thread_of(struct live *l, uint32_t row)
{
	const struct rec_thread *t = tables_row(l->tables, RECORD_thread, row);
	const struct rec_process *p = t ? tables_process(l->tables, t->process) : NULL;
	uint32_t pid = p ? p->pid : 0, tid = t ? t->tid : 0;
	uint64_t index;

	while (l->by_thread_row.n <= row)
		vec_push(&l->by_thread_row, 0);
	if (l->by_thread_row.v[row])
		return l->by_thread_row.v[row] - 1;
	if (!map_find(&l->thread_index, (uint64_t)pid << 32 | tid, &index)) {
		index = l->threads.n;
		map_put(&l->thread_index, (uint64_t)pid << 32 | tid, index);
		vec_push(&l->threads,
			(struct live_thread_state){ .shown = { .pid = pid,
							    .tid = tid,
							    .name = "",
							    .at.name = "",
							    .at.file = "" },
				.place = LIVE_NO_PLACE });
	}
	l->by_thread_row.v[row] = (uint32_t)index + 1;
	return (uint32_t)index;
}

/* A name may come late, with a later row of the same key. */
static void update_name(struct live *l, struct live_thread_state *t, uint32_t row)
{
	const struct rec_thread *r = tables_row(l->tables, RECORD_thread, row);

	if (r && r->name)
		t->shown.name = tables_string(l->tables, r->name);
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint32_t place_of(struct live *l, uint32_t thread, const struct rec_sample *r)
{
	struct {
		uint32_t thread, stack, leaf_code, leaf_offset;
	} key = { thread, r->stack, r->leaf_code, r->leaf_offset };
	bool added;
	uint32_t index = intern_add(&l->place_keys, &key, sizeof key, &added);

	if (added)
		vec_push(&l->places,
			(struct live_place){ .thread = thread,
				.stack = r->stack,
				.leaf_code = r->leaf_code,
				.leaf_offset = r->leaf_offset,
				.slice = UINT64_MAX });
	return index;
}

/* Time of one sample. */
struct sampled {
	uint16_t bits;
	double on_cpu, seconds;
};

static void add_seconds(
	struct live *l, struct live_slice *slice, uint32_t index, const struct sampled *x)
{
	struct live_place *p = &l->places.v[index];
	struct rec_sample as_sample = { .stack = p->stack, .state = x->bits };
	struct live_delta *d;

	if (p->slice != slice->number) {
		p->slice = slice->number;
		p->in_slice = (uint32_t)slice->places.n;
		vec_push(&slice->places, (struct live_delta){ .place = index });
	}
	d = &slice->places.v[p->in_slice];
	for (int i = 0; i < STACKS_STATES_; i++) {
		double s = x->seconds * stacks_part((enum stacks_state)i, &as_sample, x->on_cpu);

		d->s[i] += s;
		p->since[i] += s;
		p->fresh[i] += s;
	}
	if (!p->is_touched)
		vec_push(&l->touched, index);
	p->is_touched = true;
}

/* Part of a thread's time that nobody saw. */
static void take_unseen(
	struct live *l, uint32_t row, uint32_t stack, uint64_t from_ns, uint64_t to_ns)
{
	struct rec_sample s = weights_unseen(row, stack, from_ns, to_ns);
	struct live_slice *slice;

	if (from_ns >= to_ns)
		return;
	slice = slice_at(l, to_ns);
	if (slice)
		add_seconds(l, slice, place_of(l, thread_of(l, row), &s),
			&(struct sampled){ .on_cpu = weights_on_cpu(l->weights, &s),
				.seconds = (double)(to_ns - from_ns) / 1e9 });
}

/* What was still missing of the thread's last sample is added to the slice of what ends it. */
static void close_sample(struct live *l, uint32_t row, const struct weight_gap *g, uint64_t t_ns)
{
	struct live_thread_state *t = &l->threads.v[thread_of(l, row)];
	struct live_slice *slice = slice_at(l, t_ns);

	if (!g->has_last)
		return;
	if (slice && t->place != LIVE_NO_PLACE)
		add_seconds(l, slice, t->place,
			&(struct sampled){
				t->bits, t->on_cpu, (double)(g->last_end_ns - g->last_ns) / 1e9 });
	take_unseen(l, row, g->unseen_stack, g->last_end_ns, g->gone_ns);
}

static void take_sample(struct live *l, const struct rec_sample *r)
{
	uint32_t thread = thread_of(l, r->thread), place = place_of(l, thread, r);
	struct live_thread_state *t = &l->threads.v[thread];
	struct weight_gap g = weights_gap(l->weights, r);
	double on_cpu = weights_on_cpu(l->weights, r);
	struct live_slice *slice = slice_at(l, r->t_ns);

	l->view.n_samples++;
	l->view.n_shortened += (r->state & SAMPLE_SHORTENED) != 0;
	close_sample(l, r->thread, &g, r->t_ns);
	take_unseen(l, r->thread, g.unseen_stack, g.came_ns, g.begin_ns);
	if (slice) {
		t->n_in_slice = t->slice == slice->number ? t->n_in_slice + 1 : 1;
		t->slice = slice->number;
		if (t->n_in_slice > slice->n_looks)
			slice->n_looks = t->n_in_slice;
		add_seconds(l, slice, place,
			&(struct sampled){
				r->state, on_cpu, (double)(r->t_ns - g.begin_ns) / 1e9 });
	}
	t->place = place;
	t->bits = r->state;
	t->on_cpu = on_cpu;
	update_name(l, t, r->thread);
}

/* Threads that are gone have no next sample. */
static void close_threads(struct live *l)
{
	struct weight_gap g;

	for (uint32_t row = 1; row < l->by_thread_row.n; row++)
		if (l->by_thread_row.v[row] && weights_end(l->weights, row, false, &g)) {
			close_sample(l, row, &g, g.gone_ns);
			l->threads.v[thread_of(l, row)].bits = 0;
		}
}

/* ---- the host's records ---------------------------------------------------------------------- */

static struct live_process *process_at(struct live *l, uint32_t row)
{
	while (l->processes.n <= row)
		vec_push(&l->processes, (struct live_process){ 0 });
	return &l->processes.v[row];
}

/* CPU time between two looks, over the slices in between. */
static void spread_cpu(struct live *l, uint64_t from_ns, uint64_t to_ns, double seconds)
{
	uint64_t whole = to_ns - from_ns, oldest = LIVE_HISTORY * LIVE_SLICE_NS;

	if (to_ns > oldest && from_ns < to_ns - oldest)
		from_ns = to_ns - oldest;
	while (from_ns < to_ns) {
		uint64_t end = (from_ns / LIVE_SLICE_NS + 1) * LIVE_SLICE_NS;
		struct live_slice *slice;

		end = end < to_ns ? end : to_ns;
		slice = slice_at(l, from_ns);
		if (slice)
			slice->cpu_s += seconds * (double)(end - from_ns) / (double)whole;
		from_ns = end;
	}
}

static void take_process_usage(struct live *l, const struct rec_process_usage *r)
{
	struct live_process *p = process_at(l, r->process);
	uint64_t cpu_ns = r->user_ns + r->system_ns;
	struct live_slice *slice = slice_at(l, r->t_ns);
	double rss = 0, threads = 0, n = 0;

	if (p->t_ns && r->t_ns > p->t_ns && cpu_ns > p->cpu_ns)
		spread_cpu(l, p->t_ns, r->t_ns, (double)(cpu_ns - p->cpu_ns) / 1e9);
	*p = (struct live_process){ .t_ns = r->t_ns,
		.cpu_ns = cpu_ns,
		.rss_bytes = r->rss_bytes,
		.n_threads = r->n_threads };
	vec_each (&l->processes, x)
		if (x->t_ns && !x->is_gone) {
			rss += (double)x->rss_bytes;
			threads += x->n_threads;
			n++;
		}
	l->view.rss_bytes = rss;
	l->view.n_threads = threads;
	l->view.n_processes = n;
	if (slice)
		slice->rss_bytes = rss;
}

static void take_thread_usage(struct live *l, const struct rec_thread_usage *r)
{
	uint32_t thread = thread_of(l, r->thread);
	struct live_thread_state *t = &l->threads.v[thread];
	struct live_slice *slice = slice_at(l, r->t_ns);

	if (slice && t->has_usage && r->cpu_ns > t->cpu_ns)
		vec_push(&slice->threads,
			(struct live_thread_delta){
				.thread = thread, .cpu_ns = r->cpu_ns - t->cpu_ns });
	t->has_usage = true;
	t->cpu_ns = r->cpu_ns;
	t->shown.state = (char)r->state;
	update_name(l, t, r->thread);
}

static void take_end(struct live *l, const struct rec_process_end *r)
{
	process_at(l, r->process)->is_gone = r->source != END_RUNNING;
	if (r->process != l->root || r->source == END_RUNNING)
		return;
	l->view.has_ended = true;
	l->view.status = r->source == END_REAPED ? (int)r->status : -1;
}

static void take_life(struct live *l, const struct rec_life *r)
{
	const struct rec_process *p = tables_process(l->tables, r->process);

	if (r->event == LIFE_START && !l->root) {
		l->root = r->process;
		note_time(l, r->t_ns);
	}
	if (r->process != l->root || !p)
		return;
	l->view.pid = p->pid;
	l->view.command = tables_string(
		l->tables, r->event == LIFE_EXEC && r->command ? r->command : p->command);
}

static void take_meta(struct live *l, const struct rec_meta *r)
{
	if (strcmp(tables_string(l->tables, r->key), "interpreter") != 0)
		return;
	if (!l->view.n_interpreters++)
		l->view.interpreter = arena_strndup(&l->arena, r->value.p, r->value.n);
}

static void take_loss(struct live *l, const struct rec_loss *r)
{
	if (strcmp(tables_string(l->tables, r->what), "sample") == 0)
		l->view.n_lost += r->count;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

#define TAKE_ALL(l, kind, take)                                                      \
	do {                                                                         \
		struct record_iter it_ =                                             \
			record_iter_from((l)->tables, RECORD_##kind, (l)->n_chunks); \
		for (const struct rec_##kind *r_; (r_ = record_next(&it_));)         \
			take(l, r_);                                                 \
		record_iter_done(&it_);                                              \
	} while (0)

int live_refresh(struct live *l, struct err *e)
{
	struct reader *r = tables_reader(l->tables);

	if (reader_refresh(r, e) < 0 || tables_refresh(l->tables, e) < 0)
		return -(int)e->code;
	TAKE_ALL(l, meta, take_meta);
	TAKE_ALL(l, life, take_life);
	TAKE_ALL(l, process_usage, take_process_usage);
	TAKE_ALL(l, thread_usage, take_thread_usage);
	weights_take(l->weights, l->n_chunks);
	TAKE_ALL(l, sample, take_sample);
	close_threads(l);
	TAKE_ALL(l, loss, take_loss);
	TAKE_ALL(l, process_end, take_end);
	l->n_chunks = r->n_chunks;
	return 0;
}
