/* SPDX-License-Identifier: MIT
 * See gil.h. */
#include "analyze/host/gil.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* ---- guessed from what the threads used ------------------------------------------------------ */

static const double ONE_CORE = 1.05, NEARLY_ONE = 0.9; /* cores: at most used, at least wanted */
static const double SEVERAL = 1.3;                     /* threads that share alike */
static const double ASLEEP = 0.15;                     /* of their number, in most windows */

static double n_sharing(const struct gil_window *w)
{
	return w->squares > 0 ? w->cpu * w->cpu / w->squares : 0;
}

static bool may_be_turns(const struct gil_options *o, const struct gil_window *w)
{
	return o->cpus_allowed >= 1.5 && w->cpu <= ONE_CORE && w->cpu + w->queue >= NEARLY_ONE &&
		n_sharing(w) >= SEVERAL;
}

static void guess(struct arena *a, const struct gil_options *o, struct gil_process *to)
{
	struct {
		/* asleep_s: length of windows in which they slept */
		double length_s, asleep_s, cpu_s;
		unsigned sleeps, futex_sleeps;
	} *sums = arena_alloc(a, (o->n_processes + 1) * sizeof *sums);

	for (size_t i = 0; i < o->n_windows; i++) {
		const struct gil_window *w = &o->windows[i];

		if (!w->process || !may_be_turns(o, w))
			continue;
		sums[w->process - 1].length_s += w->length_s;
		if (n_sharing(w) - w->cpu - w->queue >= ASLEEP)
			sums[w->process - 1].asleep_s += w->length_s;
		sums[w->process - 1].cpu_s += w->cpu * w->length_s;
		sums[w->process - 1].sleeps += w->sleeps;
		sums[w->process - 1].futex_sleeps += w->futex_sleeps;
	}
	for (size_t i = 0; i < o->n_processes; i++)
		if (sums[i].asleep_s > sums[i].length_s / 2 && sums[i].futex_sleeps > 0 &&
			sums[i].futex_sleeps * 2 >= sums[i].sleeps)
			to[i].cpu_s = sums[i].cpu_s;
}

/* ---- seen by a sampler ----------------------------------------------------------------------- */

/* A look at a thread holds so long: one that sleeps is looked at every 50 ms. */
static const uint64_t HOLDS_NS = 60000000;

enum seen {
	SEEN_ASLEEP, /* elsewhere */
	SEEN_HOLDING,
	SEEN_WANTING,
	SEEN_READY, /* to run, without the GIL */
	SEEN_MAX_
};

struct seen_thread {
	uint64_t wanted_ns; /* when it was last seen at the GIL */
	enum seen now;
};

struct seen_process {
	uint64_t t_ns, wanted_ns; /* the last look; the last that saw a thread at the GIL */
	unsigned n[SEEN_MAX_];
	double s[SEEN_MAX_]; /* time of threads */
	double contended_s;  /* one held it, others wanted it … */
	double maybe_s;      /* … or were ready, and none wanted it */
};

/* Whoever wanted the GIL still does while it is ready to run without it: nothing else of it can run. */
static enum seen what_is_seen(const struct seen_thread *x, const struct rec_sample *s)
{
	if (s->state & SAMPLE_WANTS_GIL)
		return SEEN_WANTING;
	if (!(s->state & SAMPLE_ON_CPU))
		return SEEN_ASLEEP;
	if (s->state & SAMPLE_HOLDS_GIL)
		return SEEN_HOLDING;
	return x->now == SEEN_WANTING && s->t_ns - x->wanted_ns <= HOLDS_NS ? SEEN_WANTING
									    : SEEN_READY;
}

static void pass_time(struct seen_process *p, uint64_t t_ns)
{
	uint64_t ns = t_ns > p->t_ns ? t_ns - p->t_ns : 0;
	double seconds = p->t_ns ? (double)(ns < HOLDS_NS ? ns : HOLDS_NS) / 1e9 : 0;
	bool is_wanted = p->n[SEEN_WANTING] && t_ns - p->wanted_ns <= HOLDS_NS;

	for (int i = SEEN_HOLDING; i < SEEN_MAX_; i++)
		p->s[i] += seconds * p->n[i];
	if (p->n[SEEN_HOLDING] && is_wanted)
		p->contended_s += seconds;
	else if (p->n[SEEN_HOLDING] && p->n[SEEN_READY])
		p->maybe_s += seconds;
	if (ns)
		p->t_ns = t_ns;
}

static void look(struct seen_process *p, struct seen_thread *x, const struct rec_sample *s)
{
	enum seen now = what_is_seen(x, s);

	pass_time(p, s->t_ns);
	p->n[x->now]--; /* of those asleep it is no number: all begin there */
	p->n[now]++;
	x->now = now;
	if (s->state & SAMPLE_WANTS_GIL)
		x->wanted_ns = p->wanted_ns = s->t_ns;
}

static double contended_share(const struct seen_process *p, const struct gil_cpu *cpu)
{
	double runs = cpu->all_s > 0 ? cpu->all_s / (cpu->all_s + cpu->queue_s) : 1;
	double ready = p->s[SEEN_READY] * runs, wants = p->s[SEEN_WANTING];
	double maybe = wants > 0 ? wants / (wants + ready) : 0;
	double running = p->s[SEEN_HOLDING] + p->s[SEEN_READY] * (1 - maybe);

	return running > 0 ? fmin(1, (p->contended_s + p->maybe_s * maybe) / running) : 0;
}

static void see(
	struct tables *t, const struct gil_options *o, const bool *asked, struct gil_process *to)
{
	size_t n_threads = tables_count(t, RECORD_thread);
	struct seen_thread *threads = xcalloc(n_threads + 1, sizeof *threads);
	struct seen_process *processes = xcalloc(o->n_processes + 1, sizeof *processes);
	struct record_iter it = record_iter(t, RECORD_sample);

	for (const struct rec_sample *s; (s = record_next(&it));) {
		const struct rec_thread *thread = tables_row(t, RECORD_thread, s->thread);

		if (thread && thread->process && asked[thread->process - 1])
			look(&processes[thread->process - 1], &threads[s->thread - 1], s);
	}
	record_iter_done(&it);
	for (size_t i = 0; i < o->n_processes; i++)
		if (processes[i].t_ns)
			to[i] = (struct gil_process){
				o->cpu[i].all_s * contended_share(&processes[i], &o->cpu[i]), true
			};
	free(threads);
	free(processes);
}

/* Without a second thread that does some work there is nobody to take turns with. */
static const double SOME_WORK = 0.02;

struct gil_process *gil_build(struct arena *a, struct tables *t, const struct gil_options *o)
{
	struct gil_process *found = arena_new_n(a, struct gil_process, o->n_processes + 1);
	bool *asked = arena_new_n(a, bool, o->n_processes + 1), is_any = false;

	guess(a, o, found);
	for (size_t i = 0; i < o->n_processes; i++) {
		asked[i] = o->cpu[i].second_s > SOME_WORK * o->cpu[i].all_s;
		is_any |= asked[i];
	}
	if (is_any)
		see(t, o, asked, found);
	return found;
}
