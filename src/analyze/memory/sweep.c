/* SPDX-License-Identifier: MIT
 * See sweep.h. */
#include "analyze/memory/sweep.h"

#include <stdlib.h>

#include "analyze/memory/blocks.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct level { /* what is alive, of a process or of all */
	long double live;
	uint64_t since_ns;
	double most;
	uint64_t most_ns;
	bool has_most;
};

static int by_gone(const void *a, const void *b, void *ctx)
{
	const struct memory_blocks *of = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = memory_block_gone(of, &of->v[i]), y = memory_block_gone(of, &of->v[k]);

	if (x != y)
		return x < y ? -1 : 1;
	return i < k ? -1 : i > k;
}

uint32_t *memory_by_end(const struct memory_blocks *b)
{
	uint32_t *order = xcalloc(b->n + 1, sizeof *order);

	for (size_t i = 0; i < b->n; i++)
		order[i] = (uint32_t)i;
	if (b->n)
		qsort_r(order, b->n, sizeof *order, by_gone, (void *)b);
	return order;
}

/* It was so from since_ns on; something changes now. */
static void settle(struct level *l, const struct memory_sweep *o, uint64_t now_ns, bool is_drawn)
{
	uint64_t moment_ns = l->since_ns > o->from_ns ? l->since_ns : o->from_ns;
	double live = l->live > 0 ? (double)l->live : 0;

	if (now_ns == l->since_ns)
		return;
	if (is_drawn && o->draw)
		o->draw(o->ctx, l->since_ns, now_ns, live);
	if (now_ns > o->from_ns && moment_ns <= o->to_ns && (!l->has_most || live > l->most)) {
		l->has_most = true;
		l->most = live;
		l->most_ns = moment_ns;
	}
	l->since_ns = now_ns;
}

static void change(struct level *l, const struct memory_sweep *o, const struct memory_block *x,
	uint64_t t_ns, bool is_gone, bool is_drawn)
{
	long double value = (long double)x->size_bytes * (long double)x->weight;

	settle(l, o, t_ns, is_drawn);
	l->live += is_gone ? -value : value;
}

/* Which of the two comes next: a block that begins, or one that is gone; of one time the one that begins. */
static bool next_is_gone(
	const struct memory_blocks *b, const uint32_t *by_end, size_t begun, size_t gone)
{
	return begun >= b->n || memory_block_gone(b, &b->v[by_end[gone]]) < b->v[begun].begin_ns;
}

uint64_t memory_sweep(
	const struct memory_blocks *b, const uint32_t *by_end, const struct memory_sweep *o)
{
	struct level all = { 0 }, *each = xcalloc(b->n_processes + 1, sizeof *each);
	size_t begun = 0, gone = 0;

	while (gone < b->n) {
		bool is_gone = next_is_gone(b, by_end, begun, gone);
		const struct memory_block *x = &b->v[is_gone ? by_end[gone] : begun];
		uint64_t t_ns = is_gone ? memory_block_gone(b, x) : x->begin_ns;
		uint32_t process = b->sites[x->site].process;

		*(is_gone ? &gone : &begun) += 1;
		if (is_gone && t_ns == UINT64_MAX)
			break; /* it and all that follow stay */
		if (o->processes && !o->processes[process])
			continue;
		change(&all, o, x, t_ns, is_gone, true);
		change(&each[process], o, x, t_ns, is_gone, false);
	}
	settle(&all, o, UINT64_MAX, true);
	for (size_t i = 0; i < b->n_processes; i++) {
		settle(&each[i], o, UINT64_MAX, false);
		if (o->ret_by_process)
			o->ret_by_process[i] = each[i].most_ns;
	}
	free(each);
	return all.most_ns;
}
