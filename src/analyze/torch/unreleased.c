/* SPDX-License-Identifier: MIT
 * See unreleased.h. */
#include "analyze/torch/unreleased.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/allocations.h"
#include "analyze/torch/events.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct gathering {
	VEC(struct op_unreleased_row) rows;
	struct intern keys; /* operator, NUL, device: numbers are those of rows */
	struct map seen;    /* row and step */
	const struct op_steps *steps;
	int64_t zero_ns;
};

static bool has_addresses(const struct op_events *x)
{
	for (size_t i = 0; i < x->memory.n; i++)
		if (!x->memory.v[i].address && !x->memory.v[i].is_failure)
			return false;
	return x->memory.n > 0;
}

/* The last step that has begun by then, where it has not ended; SIZE_MAX: none. */
static size_t step_at(const struct op_steps *s, int64_t t_ns)
{
	size_t low = bisect(i, s->n, s->v[i].start_ns <= t_ns);

	return low && t_ns < s->v[low - 1].end_ns ? low - 1 : SIZE_MAX;
}

static struct op_unreleased_row *row_of(struct gathering *g, const struct op_allocation *x)
{
	size_t n_name = strlen(x->operator_name) + 1, n_device = strlen(x->device);
	char *key = xcalloc(n_name + n_device + 1, 1);
	uint32_t at;
	bool is_new;

	memcpy(key, x->operator_name, n_name);
	memcpy(key + n_name, x->device, n_device);
	at = intern_add(&g->keys, key, n_name + n_device, &is_new);
	free(key);
	if (is_new)
		vec_push(&g->rows,
			(struct op_unreleased_row){ .operator_name = x->operator_name,
				.device = x->device,
				.first_s = x->at_s,
				.last_s = x->at_s });
	return &g->rows.v[at];
}

static void add(struct gathering *g, const struct op_allocation *x)
{
	struct op_unreleased_row *row = row_of(g, x);
	size_t step = step_at(g->steps, g->zero_ns + (int64_t)llround(x->at_s * 1e9));
	uint64_t key = (uint64_t)(row - g->rows.v) << 32 | (uint32_t)step, ignored;

	row->n_allocations++;
	row->bytes += x->bytes;
	row->first_s = fmin(row->first_s, x->at_s);
	row->last_s = fmax(row->last_s, x->at_s);
	if (step == SIZE_MAX || map_find(&g->seen, key, &ignored))
		return;
	map_put(&g->seen, key, 1);
	row->n_steps++;
}

static int by_bytes(const void *a, const void *b)
{
	const struct op_unreleased_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->operator_name, y->operator_name);
}

const struct op_unreleased *op_unreleased_build(struct arena *a, const struct op_allocations *x,
	const struct op_steps *steps, const struct op_events *of)
{
	struct gathering g = { .steps = steps, .zero_ns = of->zero_ns };
	struct op_unreleased *to;

	if (!has_addresses(of))
		return NULL;
	to = arena_new(a, struct op_unreleased);
	for (size_t i = 0; i < x->n_largest; i++)
		if (isnan(x->largest[i].lived_s))
			add(&g, &x->largest[i]);
	if (g.rows.n)
		qsort(g.rows.v, g.rows.n, sizeof *g.rows.v, by_bytes);
	vec_each (&g.rows, row) {
		to->n_allocations += row->n_allocations;
		to->bytes += row->bytes;
	}
	to->n = g.rows.n;
	to->v = arena_copy(a, g.rows.v, g.rows.n * sizeof *g.rows.v);
	vec_done(&g.rows);
	intern_done(&g.keys);
	map_done(&g.seen);
	return to;
}
