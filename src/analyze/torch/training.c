/* SPDX-License-Identifier: MIT
 * See training.h. */
#include "analyze/torch/training.h"

#include <string.h>

#include "analyze/stats/distribution.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct process {
	uint64_t n_steps, samples, tokens;
	double seconds;
};

struct builder {
	struct tables *t;
	struct map index; /* row of the process → process */
	VEC(struct process) processes;
	VEC(double) steps_s;
};

static void add(struct builder *b, const struct rec_region *r)
{
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, r->thread);
	uint32_t row = thread ? thread->process : 0;
	struct process *p;
	uint64_t index;

	if (!map_find(&b->index, row, &index)) {
		index = b->processes.n;
		map_put(&b->index, row, index);
		vec_push(&b->processes, ((struct process){ 0 }));
	}
	p = &b->processes.v[index];
	p->n_steps++;
	p->samples += r->samples;
	p->tokens += r->tokens;
	p->seconds += (double)r->duration_ns / 1e9;
	vec_push(&b->steps_s, (double)r->duration_ns / 1e9);
}

static void sum_up(const struct builder *b, struct training *to)
{
	for (size_t i = 0; i < b->processes.n; i++) {
		const struct process *p = &b->processes.v[i];
		double per_s = p->seconds > 0 ? 1 / p->seconds : 0;

		to->n_steps += p->n_steps;
		to->samples += p->samples;
		to->tokens += p->tokens;
		to->steps_per_s += (double)p->n_steps * per_s / (double)b->processes.n;
		to->samples_per_s += (double)p->samples * per_s;
		to->tokens_per_s += (double)p->tokens * per_s;
	}
	to->n_processes = b->processes.n;
	distribution_sort(b->steps_s.v, b->steps_s.n);
	to->median_s = distribution_quantile(b->steps_s.v, b->steps_s.n, 0.5);
	to->p99_s = distribution_quantile(b->steps_s.v, b->steps_s.n, 0.99);
	to->max_s = b->steps_s.v[b->steps_s.n - 1];
}

const struct training *training_build(struct arena *a, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_region);
	struct builder b = { .t = t };
	struct training *ret = NULL;

	for (const struct rec_region *r; (r = record_next(&it));)
		if (strcmp(tables_string(t, r->category), "training") == 0)
			add(&b, r);
	record_iter_done(&it);
	if (b.steps_s.n) {
		ret = arena_new(a, struct training);
		sum_up(&b, ret);
	}
	vec_done(&b.processes);
	vec_done(&b.steps_s);
	map_done(&b.index);
	return ret;
}
