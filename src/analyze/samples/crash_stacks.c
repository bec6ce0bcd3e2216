/* SPDX-License-Identifier: MIT
 * See crash_stacks.h. */
#include "analyze/samples/crash_stacks.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* idle threads are looked at rarely, but more often than this */
static const double STILL_THERE_S = 1;

static double seconds_until(uint64_t end_ns, uint64_t t_ns)
{
	return end_ns > t_ns ? (double)(end_ns - t_ns) / 1e9 : 0;
}

static int by_age(const void *a, const void *b)
{
	const struct crash_thread *x = a, *y = b;

	return x->age_s < y->age_s ? -1 : x->age_s > y->age_s;
}

static struct crash_stacks ending_of(struct arena *a, struct tables *t, const struct stacks *s,
	const struct rec_process_end *end)
{
	const struct rec_process *process = tables_process(t, end->process);
	struct crash_stacks r = { .pid = process ? process->pid : 0,
		.signal = WTERMSIG((int)end->status) };
	VEC(struct crash_thread) threads = VEC_INIT;
	size_t n_there = 0;

	for (size_t i = 0; i < s->n_threads; i++) {
		const struct stack_thread *x = &s->threads[i];
		const struct rec_thread *row = tables_row(t, RECORD_thread, x->row);

		if (row && row->process == end->process && x->last_ns)
			vec_push(&threads,
				(struct crash_thread){ .thread = i,
					.age_s = seconds_until(end->t_ns, x->last_ns) });
	}
	if (threads.n)
		qsort(threads.v, threads.n, sizeof *threads.v, by_age);
	for (size_t i = 0; i < threads.n; i++)
		if (seconds_until(end->t_ns, s->threads[threads.v[i].thread].seen_ns) <=
			STILL_THERE_S)
			threads.v[n_there++] = threads.v[i];
	/* Where all had gone, the one that was seen last. */
	threads.n = n_there ? n_there : threads.n > 0;
	r.threads = arena_copy(a, threads.v, threads.n * sizeof *threads.v);
	r.n_threads = threads.n;
	vec_done(&threads);
	return r;
}

const struct crash_stacks *crash_stacks_build(
	struct arena *a, struct tables *t, const struct stacks *s, size_t *ret_n)
{
	struct record_iter it = record_iter(t, RECORD_process_end);
	VEC(struct crash_stacks) all = VEC_INIT;
	const struct crash_stacks *list;

	for (const struct rec_process_end *r; (r = record_next(&it));) {
		struct crash_stacks x;

		if (r->source != END_REAPED || !WIFSIGNALED((int)r->status))
			continue;
		x = ending_of(a, t, s, r);
		if (x.n_threads)
			vec_push(&all, x);
	}
	record_iter_done(&it);
	list = arena_copy(a, all.v, all.n * sizeof *all.v);
	*ret_n = all.n;
	vec_done(&all);
	return list;
}
