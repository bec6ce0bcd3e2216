/* SPDX-License-Identifier: MIT
 * See on_cpu.h. The sampler and the host collector may have different rows of one thread, so pid and tid join them. Neighbouring
 * intervals that say the same are kept as one: a thread that always had a CPU costs a few bytes, however long it ran. */
#include "analyze/samples/on_cpu.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static const uint64_t WINDOW_NS = 1000000000, TICK_NS = 20000000;
static const double FEW = 0.05;        /* of the CPU time: less tells nothing */
static const double ALIKE = 1.0 / 256; /* shares that differ by less are one interval */

struct interval_of {
	uint64_t begin_ns, end_ns, cpu_ns, queue_ns;
};

typedef VEC(struct interval_of) series;

struct of_thread {
	series v;
	double cpu_ns; /* by its figures */
	/* Of what was told: */
	double ran_ns; /* on a CPU, by the shares of its figures */
	double unseen_ns;
};

struct counters { /* of a row that the host collector has */
	uint64_t t_ns, cpu_ns, queue_ns;
};

/* By the process's clock, between two accounts. */
struct window {
	uint64_t begin_ns, end_ns, cpu_ns;
	uint64_t first_ns; /* account in it */
	double told_ns[3]; /* of threads without figures, by on_cpu_kind */
};

struct known { /* CPU time of all threads with figures, so far */
	uint64_t t_ns, cpu_ns;
};

struct of_process {
	uint64_t look_ns;            /* of what is not in the series yet */
	uint64_t cpu_ns, queue_ns;   /* that */
	uint64_t all_cpu, all_queue; /* ns, of the process as a whole */
	series v;
	VEC(struct known) known;
	VEC(struct window) windows;
	uint64_t clock_ns; /* at the end of the last window */
};

struct place { /* where a row's thread and process are; + 1 */
	size_t thread, process;
};

struct on_cpu {
	struct tables *t;
	VEC(struct counters) rows; /* by row of the thread table */
	struct map threads;        /* pid << 32 | tid → of_thread */
	VEC(struct of_thread) of_thread;
	struct map processes; /* pid → of_process */
	VEC(struct of_process) of_process;
	bool has_short;           /* threads that came, and have no figures */
	VEC(struct place) places; /* by row of the thread table */
};

struct on_cpu *on_cpu_new(struct tables *t)
{
	struct on_cpu *x = xcalloc(1, sizeof *x);

	x->t = t;
	return x;
}

void on_cpu_free(struct on_cpu *x)
{
	if (!x)
		return;
	vec_each (&x->of_thread, thread)
		vec_done(&thread->v);
	vec_each (&x->of_process, p) {
		vec_done(&p->v);
		vec_done(&p->known);
		vec_done(&p->windows);
	}
	vec_done(&x->of_thread);
	vec_done(&x->of_process);
	vec_done(&x->rows);
	vec_done(&x->places);
	map_done(&x->threads);
	map_done(&x->processes);
	free(x);
}

/* ---- taking in ------------------------------------------------------------------------------- */

static double share_of(uint64_t cpu_ns, uint64_t queue_ns)
{
	return (double)cpu_ns / ((double)cpu_ns + (double)queue_ns);
}

static void add_interval(series *v, const struct interval_of *x)
{
	struct interval_of *last = v->n ? &v->v[v->n - 1] : NULL;

	if (x->cpu_ns + x->queue_ns == 0 || x->end_ns <= x->begin_ns)
		return;
	if (last && x->begin_ns == last->end_ns &&
		fabs(share_of(last->cpu_ns, last->queue_ns) - share_of(x->cpu_ns, x->queue_ns)) <
			ALIKE) {
		last->end_ns = x->end_ns;
		last->cpu_ns += x->cpu_ns;
		last->queue_ns += x->queue_ns;
	} else if (!last || x->end_ns > last->end_ns) {
		vec_push(v, *x);
	}
}

static uint64_t key_of(const struct on_cpu *x, uint32_t thread_row)
{
	const struct rec_thread *thread = tables_row(x->t, RECORD_thread, thread_row);
	const struct rec_process *process = thread ? tables_process(x->t, thread->process) : NULL;

	return process ? (uint64_t)process->pid << 32 | thread->tid : 0;
}

static struct of_thread *thread_of(struct on_cpu *x, uint64_t key)
{
	uint64_t at;

	if (!map_find(&x->threads, key, &at)) {
		at = x->of_thread.n;
		map_put(&x->threads, key, at);
		vec_push(&x->of_thread, (struct of_thread){ 0 });
	}
	return &x->of_thread.v[at];
}

static struct of_process *process_of(struct on_cpu *x, uint64_t pid)
{
	uint64_t at;

	if (!map_find(&x->processes, pid, &at)) {
		at = x->of_process.n;
		map_put(&x->processes, pid, at);
		vec_push(&x->of_process, (struct of_process){ 0 });
	}
	return &x->of_process.v[at];
}

/* All threads of a process are looked at in one go. */
static void end_look(struct of_process *p)
{
	uint64_t begin_ns = p->v.n ? p->v.v[p->v.n - 1].end_ns : 0;

	add_interval(&p->v, &(struct interval_of){ begin_ns, p->look_ns, p->cpu_ns, p->queue_ns });
	if (p->look_ns && (!p->known.n || p->known.v[p->known.n - 1].t_ns < p->look_ns))
		vec_push(&p->known, ((struct known){ p->look_ns, p->all_cpu }));
	p->cpu_ns = p->queue_ns = 0;
}

/* While this was recorded? Then its first figures are of the recording, too. Starts are told in clock ticks. */
static bool began_here(const struct on_cpu *x, uint64_t start_ns)
{
	return start_ns && start_ns + TICK_NS >= tables_reader(x->t)->begun_monotonic_ns;
}

static bool is_new(const struct on_cpu *x, uint32_t thread_row)
{
	const struct rec_thread *thread = tables_row(x->t, RECORD_thread, thread_row);

	return thread && began_here(x, thread->start_ns);
}

static void take_usage(struct on_cpu *x, const struct rec_thread_usage *u)
{
	uint64_t key = key_of(x, u->thread);
	struct interval_of in = { .end_ns = u->t_ns };
	struct counters *last;
	struct of_thread *thread;
	struct of_process *p;

	while (x->rows.n <= u->thread)
		vec_push(&x->rows, (struct counters){ 0 });
	last = &x->rows.v[u->thread];
	if (!key || u->cpu_ns == RECORD_UNKNOWN || u->queue_ns == RECORD_UNKNOWN ||
		u->cpu_ns < last->cpu_ns || u->queue_ns < last->queue_ns || u->t_ns < last->t_ns)
		return;
	if (last->t_ns || is_new(x, u->thread)) {
		in.begin_ns = last->t_ns;
		in.cpu_ns = u->cpu_ns - last->cpu_ns;
		in.queue_ns = u->queue_ns - last->queue_ns;
	}
	*last = (struct counters){ u->t_ns, u->cpu_ns, u->queue_ns };
	thread = thread_of(x, key);
	add_interval(&thread->v, &in);
	thread->cpu_ns += (double)in.cpu_ns;
	p = process_of(x, key >> 32);
	if (p->look_ns != u->t_ns)
		end_look(p);
	p->look_ns = u->t_ns;
	p->cpu_ns += in.cpu_ns;
	p->queue_ns += in.queue_ns;
	p->all_cpu += in.cpu_ns;
	p->all_queue += in.queue_ns;
}

static void take_account(struct on_cpu *x, const struct rec_account *r)
{
	const struct rec_process *process = tables_process(x->t, r->process);
	struct of_process *p;
	struct window *last;

	if (!process || r->cpu_ns == RECORD_UNKNOWN)
		return;
	p = process_of(x, process->pid);
	last = p->windows.n ? &p->windows.v[p->windows.n - 1] : NULL;
	if (last && (r->t_ns <= last->end_ns || r->cpu_ns < p->clock_ns))
		return;
	if (!last) {
		bool is_ours = began_here(x, process->start_ns);

		vec_push(&p->windows,
			((struct window){ .begin_ns = is_ours ? 0 : r->t_ns,
				.end_ns = r->t_ns,
				.first_ns = r->t_ns,
				.cpu_ns = is_ours ? r->cpu_ns : 0 }));
	} else if (last->end_ns - last->first_ns >= WINDOW_NS) {
		vec_push(&p->windows,
			((struct window){ .begin_ns = last->end_ns,
				.end_ns = r->t_ns,
				.first_ns = last->end_ns,
				.cpu_ns = r->cpu_ns - p->clock_ns }));
	} else {
		last->cpu_ns += r->cpu_ns - p->clock_ns;
		last->end_ns = r->t_ns;
	}
	p->clock_ns = r->cpu_ns;
}

static bool has_short_threads(struct on_cpu *x)
{
	struct record_iter it = record_iter(x->t, RECORD_thread_mark);
	const struct rec_thread_mark *m;
	bool has = false;
	uint64_t ignored;

	while (!has && (m = record_next(&it)))
		has = !map_find(&x->threads, key_of(x, m->thread), &ignored);
	record_iter_done(&it);
	return has;
}

static void find_places(struct on_cpu *x)
{
	x->places.n = 0;
	for (uint32_t row = 0; row <= tables_count(x->t, RECORD_thread); row++) {
		uint64_t key = key_of(x, row), at;
		struct place place = { 0 };

		if (map_find(&x->threads, key, &at))
			place.thread = at + 1;
		if (map_find(&x->processes, key >> 32, &at))
			place.process = at + 1;
		vec_push(&x->places, place);
	}
}

void on_cpu_take(struct on_cpu *x, size_t first_chunk)
{
	struct record_iter accounts = record_iter_from(x->t, RECORD_account, first_chunk);
	struct record_iter it = record_iter_from(x->t, RECORD_thread_usage, first_chunk);

	for (const struct rec_thread_usage *u; (u = record_next(&it));)
		take_usage(x, u);
	record_iter_done(&it);
	for (const struct rec_account *r; (r = record_next(&accounts));)
		take_account(x, r);
	record_iter_done(&accounts);
	vec_each (&x->of_process, p)
		end_look(p);
	x->has_short = x->has_short || has_short_threads(x);
	find_places(x);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool find(const series *v, uint64_t t_ns, double *ret)
{
	size_t low = bisect(i, v->n, v->v[i].end_ns < t_ns);

	if (low == v->n || v->v[low].begin_ns >= t_ns)
		return false;
	*ret = share_of(v->v[low].cpu_ns, v->v[low].queue_ns);
	return true;
}

/* The first window begins with the process, for a thread may be older than the first look at it. */
static struct window *window_at(const struct of_process *p, uint64_t t_ns)
{
	size_t low = bisect(i, p->windows.n, p->windows.v[i].end_ns < t_ns);

	return low < p->windows.n ? &p->windows.v[low]
		: p->windows.n    ? &p->windows.v[p->windows.n - 1]
				  : NULL;
}

/* As if it had been used evenly between two looks. */
static double known_at(const struct of_process *p, uint64_t t_ns)
{
	size_t low = bisect(i, p->known.n, p->known.v[i].t_ns <= t_ns);
	const struct known *a, *b;

	if (!low)
		return 0;
	a = &p->known.v[low - 1];
	b = low < p->known.n ? a + 1 : a;
	return b == a ? (double)a->cpu_ns
		      : (double)a->cpu_ns +
			(double)(b->cpu_ns - a->cpu_ns) * (double)(t_ns - a->t_ns) /
				(double)(b->t_ns - a->t_ns);
}

static bool find_rest(const struct of_process *p, uint64_t t_ns, enum on_cpu_kind kind, double *ret)
{
	static const enum on_cpu_kind order[] = { ON_CPU_RAN_WITH_GIL, ON_CPU_RAN, ON_CPU_UNSEEN };
	const struct window *w = window_at(p, t_ns);
	double rest, share = 0, told = 0;

	for (size_t i = 0; w && i < 3; i++)
		told += w->told_ns[i];
	if (!w || told <= 0 || told < FEW * (double)w->cpu_ns)
		return false;
	rest = (double)w->cpu_ns - (known_at(p, w->end_ns) - known_at(p, w->begin_ns));
	for (size_t i = 0; i < 3; i++) {
		told = w->told_ns[order[i]];
		share = told > 0 ? fmin(1, fmax(0, rest / told)) : 0;
		if (order[i] == kind)
			break;
		rest -= told * share;
	}
	*ret = share;
	return true;
}

static struct place place_of(const struct on_cpu *x, uint32_t thread_row)
{
	return thread_row < x->places.n ? x->places.v[thread_row] : (struct place){ 0 };
}

/* The figures of a thread at a time, if there are any, and the share by them. */
static struct of_thread *thread_at(
	const struct on_cpu *x, struct place place, uint64_t t_ns, double *ret_share)
{
	struct of_thread *thread = place.thread ? &x->of_thread.v[place.thread - 1] : NULL;

	return thread && find(&thread->v, t_ns, ret_share) ? thread : NULL;
}

void on_cpu_tell(
	struct on_cpu *x, uint32_t thread_row, uint64_t t_ns, uint64_t ns, enum on_cpu_kind kind)
{
	struct place place = place_of(x, thread_row);
	double share = 0;
	struct of_thread *thread = thread_at(x, place, t_ns, &share);
	struct window *w;

	if (thread && kind == ON_CPU_UNSEEN) {
		thread->unseen_ns += (double)ns;
	} else if (thread) {
		thread->ran_ns += (double)ns * share;
	} else if (place.process) {
		w = window_at(&x->of_process.v[place.process - 1], t_ns);
		if (w)
			w->told_ns[kind] += (double)ns;
	}
}

/* By the thread's own figures; its clock has the last word. */
static double share_by_figures(const struct of_thread *t, double share, enum on_cpu_kind kind)
{
	double beyond_ns = t->cpu_ns - t->ran_ns;

	if (kind == ON_CPU_UNSEEN)
		return t->unseen_ns > 0 ? fmin(1, fmax(0, beyond_ns / t->unseen_ns)) : 0;
	return beyond_ns < 0 ? share * t->cpu_ns / t->ran_ns : share;
}

double on_cpu_share(
	const struct on_cpu *x, uint32_t thread_row, uint64_t t_ns, enum on_cpu_kind kind)
{
	struct place place = place_of(x, thread_row);
	const struct of_process *p;
	double share = 0;
	const struct of_thread *thread = thread_at(x, place, t_ns, &share);

	if (thread)
		return share_by_figures(thread, share, kind);
	if (!place.process)
		return kind == ON_CPU_UNSEEN ? 0 : 1;
	p = &x->of_process.v[place.process - 1];
	if (x->has_short && find_rest(p, t_ns, kind, &share))
		return share;
	if (kind == ON_CPU_UNSEEN)
		return 0;
	if (find(&p->v, t_ns, &share))
		return share;
	return p->all_cpu + p->all_queue ? share_of(p->all_cpu, p->all_queue) : 1;
}
