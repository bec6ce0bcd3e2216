/* SPDX-License-Identifier: MIT
 * See blocks.h. */
#include "analyze/memory/blocks.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* More cannot be meant: sums stay finite. */
static const double WEIGHT_MOST = 1e12;
static const uint64_t SIZE_MOST = (uint64_t)1 << 63;

struct event {
	uint64_t t_ns, address, size_bytes;
	double weight;
	uint32_t site;  /* of a release: its process */
	uint32_t order; /* in the file, among those of one time */
	bool is_release;
};

struct loader {
	struct tables *t;
	VEC(struct event) events;
	VEC(struct memory_block) blocks;
	VEC(struct memory_site) sites;
	VEC(struct memory_process) processes;
	struct intern site_keys;
	struct map process_of; /* row → index */
	struct map live;       /* process and address → block */
	bool is_sorted;
};

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t process_of_row(struct loader *l, uint32_t row)
{
	const struct rec_process *p = tables_process(l->t, row);
	uint64_t index;

	if (!map_find(&l->process_of, row, &index)) {
		index = l->processes.n;
		map_put(&l->process_of, row, index);
		vec_push(&l->processes,
			(struct memory_process){ .row = row,
				.pid = p ? p->pid : 0,
				.command = p ? tables_string(l->t, p->command) : "",
				.end_ns = UINT64_MAX,
				.done_ns = UINT64_MAX - 1 });
	}
	return (uint32_t)index;
}

static uint32_t process_of_thread(struct loader *l, uint32_t thread)
{
	const struct rec_thread *t = tables_row(l->t, RECORD_thread, thread);

	return process_of_row(l, t ? t->process : 0);
}

static uint32_t site_of(struct loader *l, uint32_t thread, uint32_t stack)
{
	uint32_t key[] = { thread, stack }, site;
	bool is_new;

	site = intern_add(&l->site_keys, key, sizeof key, &is_new);
	if (is_new)
		vec_push(&l->sites,
			(struct memory_site){ thread, stack, process_of_thread(l, thread) });
	return site;
}

/* A block that changed its size is released and allocated where that was done. */
static void take_event(struct loader *l, const struct rec_memory *m)
{
	struct event x = { .t_ns = m->t_ns, .address = m->address, .order = (uint32_t)l->events.n };

	l->is_sorted &= !l->events.n || l->events.v[l->events.n - 1].t_ns <= m->t_ns;
	if (m->event != MEMORY_ALLOC) {
		x.is_release = true;
		x.site = process_of_thread(l, m->thread);
		vec_push(&l->events, x);
	}
	if (m->event != MEMORY_ALLOC && m->event != MEMORY_RESIZE)
		return;
	x.is_release = false;
	x.order = (uint32_t)l->events.n;
	x.site = site_of(l, m->thread, m->stack);
	x.size_bytes = m->size_bytes < SIZE_MOST ? m->size_bytes : SIZE_MOST;
	x.weight = !(m->weight >= 1) ? 1 : m->weight < WEIGHT_MOST ? m->weight : WEIGHT_MOST;
	vec_push(&l->events, x);
}

static void take_events(struct loader *l)
{
	struct record_iter it = record_iter(l->t, RECORD_memory);

	for (const struct rec_memory *m; (m = record_next(&it));)
		if (l->events.n < UINT32_MAX - 2)
			take_event(l, m);
	record_iter_done(&it);
}

static void take_totals(struct loader *l)
{
	struct record_iter it = record_iter(l->t, RECORD_memory_total);

	for (const struct rec_memory_total *m; (m = record_next(&it));) {
		uint32_t process = process_of_row(l, m->process); /* which may move them */
		struct memory_process *p = &l->processes.v[process];

		p->has_total = true;
		p->allocated_bytes = m->allocated_bytes;
		p->n_allocated = m->n_allocated;
		p->n_sampled = m->n_sampled;
		p->n_dropped = m->n_dropped;
		p->n_frees_dropped = m->n_frees_dropped;
		p->period_bytes = m->period_bytes;
	}
	record_iter_done(&it);
}

static void see_python(struct memory_process *p, uint64_t t_ns)
{
	if (p->done_ns == UINT64_MAX - 1 || p->done_ns < t_ns)
		p->done_ns = t_ns;
}

static bool is_python(struct tables *t, uint32_t stack)
{
	const struct rec_stack *s = tables_row(t, RECORD_stack, stack);
	const struct rec_frame *f = s ? tables_row(t, RECORD_frame, s->frame) : NULL;

	return f && (f->tag == FRAME_PY || f->tag == FRAME_FOREIGN);
}

/* When Python code was seen last: by an allocation of its own, or by the sampler. */
static void take_last_looks(struct loader *l)
{
	struct record_iter it = record_iter(l->t, RECORD_sample);
	uint64_t index;

	vec_each (&l->events, x)
		if (!x->is_release && is_python(l->t, l->sites.v[x->site].stack))
			see_python(&l->processes.v[l->sites.v[x->site].process], x->t_ns);
	for (const struct rec_sample *s; (s = record_next(&it));) {
		const struct rec_thread *t = tables_row(l->t, RECORD_thread, s->thread);

		if (t && (s->leaf_code || is_python(l->t, s->stack)) &&
			map_find(&l->process_of, t->process, &index))
			see_python(&l->processes.v[index], s->t_ns);
	}
	record_iter_done(&it);
}

static void take_ends(struct loader *l)
{
	struct record_iter it = record_iter(l->t, RECORD_process_end);
	uint64_t index;

	for (const struct rec_process_end *x; (x = record_next(&it));)
		if (map_find(&l->process_of, x->process, &index))
			l->processes.v[index].end_ns = x->t_ns;
	record_iter_done(&it);
}

/* ---- replaying ------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Addresses have 57 bits at most; a file that says otherwise mixes up its own blocks. */
static uint64_t key_of(uint32_t process, uint64_t address)
{
	return address ^ (uint64_t)process << 57 ^ (uint64_t)process >> 7;
}

/* Ends what is alive there; false: nothing is. */
static bool release(struct loader *l, uint64_t key, uint64_t t_ns)
{
	uint64_t block;

	if (!map_find(&l->live, key, &block))
		return false;
	l->blocks.v[block].end_ns = t_ns;
	map_remove(&l->live, key);
	return true;
}

static void replay(struct loader *l, struct memory_blocks *to)
{
	if (!l->is_sorted)
		qsort(l->events.v, l->events.n, sizeof *l->events.v, by_time);
	vec_each (&l->events, x) {
		uint32_t process = x->is_release ? x->site : l->sites.v[x->site].process;
		uint64_t key = key_of(process, x->address);
		bool was_there = release(l, key, x->t_ns);

		if (x->is_release) {
			to->n_unknown_releases += !was_there;
			continue;
		}
		to->n_lost_releases += was_there;
		map_put(&l->live, key, l->blocks.n);
		vec_push(&l->blocks,
			(struct memory_block){
				x->t_ns, UINT64_MAX, x->size_bytes, x->weight, x->site });
	}
}

struct memory_blocks *memory_blocks_load(struct tables *t)
{
	struct loader l = { .t = t, .is_sorted = true };
	struct memory_blocks *b = xcalloc(1, sizeof *b);
	uint64_t begun_ns = tables_reader(t)->begun_monotonic_ns;

	take_events(&l);
	take_totals(&l);
	take_ends(&l);
	take_last_looks(&l);
	replay(&l, b);
	if (l.events.n) {
		b->first_ns = l.events.v[0].t_ns;
		b->last_ns = l.events.v[l.events.n - 1].t_ns;
	}
	/* A file that was put together may have begun later than its records. */
	b->zero_ns = l.events.n && b->first_ns < begun_ns ? b->first_ns : begun_ns;
	b->v = l.blocks.v;
	b->n = l.blocks.n;
	b->sites = l.sites.v;
	b->n_sites = l.sites.n;
	b->processes = l.processes.v;
	b->n_processes = l.processes.n;
	vec_done(&l.events);
	intern_done(&l.site_keys);
	map_done(&l.process_of);
	map_done(&l.live);
	if (b->n || b->n_processes)
		return b;
	memory_blocks_free(b);
	return NULL;
}

void memory_blocks_free(struct memory_blocks *b)
{
	if (!b)
		return;
	free(b->v);
	free(b->sites);
	free(b->processes);
	free(b);
}

uint64_t memory_block_gone(const struct memory_blocks *b, const struct memory_block *x)
{
	uint64_t end_ns = b->processes[b->sites[x->site].process].end_ns;

	end_ns = x->end_ns < end_ns ? x->end_ns : end_ns;
	return end_ns > x->begin_ns ? end_ns : x->begin_ns;
}

bool memory_is_left(const struct memory_blocks *b, const struct memory_block *x)
{
	uint64_t done_ns = b->processes[b->sites[x->site].process].done_ns;

	return x->begin_ns <= done_ns && x->end_ns > done_ns;
}

bool memory_is_alive(const struct memory_blocks *b, const struct memory_block *x, uint64_t t_ns)
{
	return x->begin_ns <= t_ns && memory_block_gone(b, x) > t_ns;
}
