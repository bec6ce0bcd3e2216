/* SPDX-License-Identifier: MIT
 * See memory.h: the figures of each process, and of all together. */
#include "analyze/memory/memory.h"

#include <stdlib.h>

#include "analyze/memory/sweep.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "wire/records.h"
#include "base/banned.h"

const char *const memory_views[] = { [MEMORY_NONE] = "",
	[MEMORY_PEAK] = "peak",
	[MEMORY_GROWTH] = "growth",
	[MEMORY_LEAKS] = "leaks",
	[MEMORY_CHURN] = "churn",
	NULL };

static double since_begin(const struct memory_blocks *b, uint64_t t_ns)
{
	return t_ns > b->zero_ns ? (double)(t_ns - b->zero_ns) / 1e9 : 0;
}

/* ---- over time ------------------------------------------------------------------------------- */

static size_t point_of(const struct memory_blocks *b, uint64_t t_ns)
{
	double all = (double)(b->last_ns - b->first_ns), at = (double)(t_ns - b->first_ns);
	double index = all > 0 ? at / all * MEMORY_POINTS : 0;

	return index < MEMORY_POINTS - 1 ? (size_t)index : MEMORY_POINTS - 1;
}

/* What is alive from one moment to another belongs to all points between: each keeps the largest. */
static void draw(void *ctx, uint64_t t_ns, uint64_t until_ns, double live)
{
	struct memory *m = ctx;
	const struct memory_blocks *b = m->blocks;
	size_t first, last;

	if (t_ns < b->first_ns || t_ns > b->last_ns)
		return;
	first = point_of(b, t_ns);
	last = until_ns > b->last_ns ? MEMORY_POINTS - 1 : point_of(b, until_ns);
	for (size_t i = first; i <= last; i++) {
		double begin_s = m->begin_s + (m->end_s - m->begin_s) * (double)i / MEMORY_POINTS;

		if (live < m->curve[i].bytes)
			continue;
		m->curve[i].bytes = live;
		m->curve[i].t_s = i == first ? since_begin(b, t_ns) : begin_s;
	}
}

static void find_peaks(struct memory *m)
{
	const struct memory_blocks *b = m->blocks;
	uint64_t *of_process = xcalloc(b->n_processes + 1, sizeof *of_process);
	uint64_t peak_ns = memory_sweep(b, m->by_end,
		&(struct memory_sweep){ .to_ns = UINT64_MAX,
			.draw = draw,
			.ctx = m,
			.ret_by_process = of_process });

	m->n_points = b->n ? MEMORY_POINTS : 0;
	m->all.peak_s = since_begin(b, peak_ns);
	for (size_t i = 0; i < b->n_processes; i++)
		m->processes[i].peak_s = since_begin(b, of_process[i]);
	for (size_t i = 0; i < b->n; i++) {
		const struct memory_block *x = &b->v[i];
		uint32_t process = b->sites[x->site].process;

		if (memory_is_alive(b, x, peak_ns))
			sampled_sum_add(&m->all.peak, (double)x->size_bytes, x->weight);
		if (memory_is_alive(b, x, of_process[process]))
			sampled_sum_add(
				&m->processes[process].peak, (double)x->size_bytes, x->weight);
	}
	free(of_process);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_blocks(struct memory *m)
{
	const struct memory_blocks *b = m->blocks;

	for (size_t i = 0; i < b->n; i++) {
		const struct memory_block *x = &b->v[i];
		struct memory_sums *of = &m->processes[b->sites[x->site].process];

		sampled_sum_add(&of->allocated, (double)x->size_bytes, x->weight);
		if (memory_is_left(b, x))
			sampled_sum_add(&of->live, (double)x->size_bytes, x->weight);
	}
}

static void take_total(struct memory *m, size_t process)
{
	const struct memory_process *p = &m->blocks->processes[process];
	struct memory_sums *of = &m->processes[process];
	bool has_n = p->has_total && p->n_allocated != RECORD_UNKNOWN;

	of->counted_bytes = p->has_total ? (double)p->allocated_bytes : UNITS_UNKNOWN;
	of->counted_n = has_n ? (double)p->n_allocated : UNITS_UNKNOWN;
	of->n_sampled = p->has_total ? p->n_sampled : of->allocated.n;
	of->n_dropped = p->n_dropped;
	of->n_frees_dropped = p->n_frees_dropped;
	if ((double)p->period_bytes > m->period_bytes)
		m->period_bytes = (double)p->period_bytes;
}

static void add_up(struct memory *m)
{
	for (size_t i = 0; i < m->blocks->n_processes; i++) {
		const struct memory_sums *of = &m->processes[i];

		sampled_sum_merge(&m->all.live, &of->live, 1);
		sampled_sum_merge(&m->all.allocated, &of->allocated, 1);
		m->all.counted_bytes += of->counted_bytes; /* unknown of one: of all */
		m->all.counted_n += of->counted_n;
		saturated_add(&m->all.n_sampled, of->n_sampled);
		saturated_add(&m->all.n_dropped, of->n_dropped);
		saturated_add(&m->all.n_frees_dropped, of->n_frees_dropped);
	}
	m->is_at_least = m->all.n_dropped > 0;
	m->is_at_most = m->all.n_frees_dropped > 0;
}

struct memory *memory_load(struct tables *t)
{
	struct memory_blocks *b = memory_blocks_load(t);
	struct memory *m;

	if (!b)
		return NULL;
	m = xcalloc(1, sizeof *m);
	m->blocks = b;
	m->processes = xcalloc(b->n_processes + 1, sizeof *m->processes);
	m->by_end = memory_by_end(b);
	m->begin_s = since_begin(b, b->first_ns);
	m->end_s = since_begin(b, b->last_ns);
	add_blocks(m);
	for (size_t i = 0; i < b->n_processes; i++)
		take_total(m, i);
	add_up(m);
	find_peaks(m);
	return m;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	memory_blocks_free(m->blocks);
	free(m->processes);
	free(m->by_end);
	free(m);
}
