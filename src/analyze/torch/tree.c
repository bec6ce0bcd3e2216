/* SPDX-License-Identifier: MIT
 * See tree.h. */
#include "analyze/torch/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const hidden[] = { "[memory]", "[OutOfMemory]",
	"profiler::_record_function_enter", "profiler::_record_function_enter_new",
	"profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version" };

static void look_at_names(struct ops_tree *t)
{
	size_t n = t->x->names.items.n;

	t->name_flags = xcalloc(n + 1, 1);
	t->step = OPS_NONE;
	for (size_t i = 0; i < n; i++) {
		const char *name = op_events_name(t->x, (uint32_t)i);

		for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++)
			if (strcmp(name, hidden[k]) == 0)
				t->name_flags[i] |= OPS_NAME_HIDDEN;
		if (strncmp(name, "ProfilerStep#", 13) == 0) {
			t->name_flags[i] |= OPS_NAME_STEP;
			if (t->step == OPS_NONE)
				t->step = (uint32_t)i;
		}
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

/* The longer of two that begin together is the outer one. */
static bool comes_first(const struct ops_tree *t, uint32_t a, uint32_t b)
{
	const struct op_event *x = ops_node(t, a), *y = ops_node(t, b);

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns;
	return x->duration_ns > y->duration_ns;
}

static void merge(const struct ops_tree *t, const uint32_t *from, uint32_t *to, size_t begin,
	size_t middle, size_t end)
{
	size_t a = begin, b = middle;

	for (size_t i = begin; i < end; i++)
		to[i] = a < middle && (b >= end || !comes_first(t, from[b], from[a])) ? from[a++]
										      : from[b++];
}

/* Stable, and quick on what is in order for long stretches, as the threads of a trace are. */
static void sort_order(struct ops_tree *t)
{
	uint32_t *from = t->order, *to = xcalloc(t->n ? t->n : 1, sizeof *to);
	VEC(size_t) runs = VEC_INIT;

	for (size_t i = 0; i < t->n; i++)
		if (i == 0 || comes_first(t, from[i], from[i - 1]))
			vec_push(&runs, i);
	while (runs.n > 1) {
		size_t n = 0;
		uint32_t *swap = from;

		for (size_t i = 0; i < runs.n; i += 2) {
			size_t middle = i + 1 < runs.n ? runs.v[i + 1] : t->n;
			size_t end = i + 2 < runs.n ? runs.v[i + 2] : t->n;

			merge(t, from, to, runs.v[i], middle, end);
			runs.v[n++] = runs.v[i];
		}
		runs.n = n;
		from = to;
		to = swap;
	}
	vec_done(&runs);
	free(to);
	t->order = from;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct op_sum *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void sum_memory(struct ops_tree *t)
{
	size_t n = t->x->memory.n, k = 0;
	int64_t cpu = 0, device = 0;

	if (!n)
		return;
	t->memory = xcalloc(n + 1, sizeof *t->memory);
	for (size_t i = 0; i < n; i++)
		t->memory[i] =
			(struct op_sum){ .t_ns = t->x->memory.v[i].t_ns, .index = (uint32_t)i };
	qsort(t->memory, n, sizeof *t->memory, by_time);
	for (k = 0; k < n; k++) {
		const struct op_memory *m = &t->x->memory.v[t->memory[k].index];

		if (!m->is_failure) {
			cpu += ops_cpu_bytes(m);
			device += ops_device_bytes(m);
		}
		t->memory[k].cpu = cpu;
		t->memory[k].device = device;
	}
}

/* How many of the allocations lie before a time, or at it. */
static size_t find_memory(const struct ops_tree *t, int64_t t_ns, bool is_included)
{
	return bisect(i, t->x->memory.n,
		t->memory[i].t_ns < t_ns || (is_included && t->memory[i].t_ns == t_ns));
}

void ops_tree_memory(
	const struct ops_tree *t, const struct op_event *e, int64_t *ret_cpu, int64_t *ret_device)
{
	size_t first, last;

	*ret_cpu = *ret_device = 0;
	if (!t->memory || op_is_device(e))
		return;
	first = find_memory(t, e->start_ns, false);
	last = find_memory(t, e->start_ns + e->duration_ns, true);
	if (last == first)
		return;
	*ret_cpu = t->memory[last - 1].cpu - (first ? t->memory[first - 1].cpu : 0);
	*ret_device = t->memory[last - 1].device - (first ? t->memory[first - 1].device : 0);
}

/* Allocations outside of all calls become nodes of their own, as do those that failed. */
static void add_unclaimed(struct ops_tree *t)
{
	struct op_events *x = t->x;
	uint8_t *is_claimed = xcalloc(x->memory.n + 1, 1);
	size_t k = 0;
	int64_t until = INT64_MIN;
	uint32_t name = intern_adds(&x->names, "[memory]");
	uint32_t failed = intern_adds(&x->names, "[OutOfMemory]");

	for (size_t i = 0; i <= t->n; i++) {
		const struct op_event *e = i < t->n ? ops_node(t, t->order[i]) : NULL;

		if (e && op_is_device(e))
			continue;
		for (; k < x->memory.n && (!e || t->memory[k].t_ns < e->start_ns); k++)
			is_claimed[t->memory[k].index] = t->memory[k].t_ns <= until;
		if (e && e->start_ns + e->duration_ns > until)
			until = e->start_ns + e->duration_ns;
	}
	for (int pass = 0; pass < 2; pass++) /* failures come last */
		for (size_t i = 0; i < x->memory.n; i++) {
			const struct op_memory *m = &x->memory.v[i];

			if (m->is_failure != pass || (!pass && is_claimed[i]))
				continue;
			vec_push(&t->extra,
				(struct op_event){ .start_ns = m->t_ns,
					.name = pass ? failed : name,
					.detail = (uint32_t)i,
					.track = m->track,
					.category = OP_OVERHEAD });
		}
	free(is_claimed);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Operators are numbered one after the other, so a plain array by number will do; where it would be far larger than the
 * trace the numbers are no numbers of torch's, and nothing is linked. */
static void find_owners(struct ops_tree *t)
{
	uint32_t first = UINT32_MAX, last = 0;
	bool has_linked = false;

	vec_each (&t->x->v, e) {
		has_linked |= e->category >= OP_RUNTIME && e->link;
		if (e->category > OP_ANNOTATION || !e->link)
			continue;
		first = e->link < first ? e->link : first;
		last = e->link > last ? e->link : last;
	}
	if (!has_linked || first > last || last - first > 16 * t->n_events + 4096)
		return;
	t->first_link = first;
	t->n_owners = (size_t)last - first + 1;
	t->owners = xcalloc(t->n_owners, sizeof *t->owners);
	memset(t->owners, 0xff, t->n_owners * sizeof *t->owners);
	for (size_t i = 0; i < t->n_events; i++) {
		const struct op_event *e = &t->x->v.v[i];

		if (e->category <= OP_ANNOTATION && e->link &&
			!(t->name_flags[e->name] & OPS_NAME_HIDDEN))
			t->owners[e->link - first] = (uint32_t)i;
	}
	vec_each (&t->x->v, e) { /* what the runtime did for an operator is a part of it */
		uint32_t owner = op_is_device(e) ? OPS_NONE : ops_owner(t, e);

		if (owner != OPS_NONE)
			e->track = t->x->v.v[owner].track;
	}
}

/* ---- callers --------------------------------------------------------------------------------- */

static void find_parents(struct ops_tree *t)
{
	size_t n_tracks = t->x->tracks.items.n;
	/* by track; parents lead further down */
	uint32_t *top = xcalloc(n_tracks + 1, sizeof *top);

	memset(top, 0xff, n_tracks * sizeof *top);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], up;
		const struct op_event *e = ops_node(t, node);
		int64_t end = e->start_ns + e->duration_ns;

		t->parent[node] = OPS_NONE;
		if (op_is_device(e))
			continue;
		for (up = top[e->track]; up != OPS_NONE; up = t->parent[up]) {
			const struct op_event *outer = ops_node(t, up);
			int64_t outer_end = outer->start_ns + outer->duration_ns;

			if (e->start_ns < outer_end && end <= outer_end)
				break;
		}
		t->parent[node] = up;
		if (up != OPS_NONE && t->n_children[up] < 2)
			t->n_children[up]++;
		top[e->track] = node;
	}
	free(top);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void collect(struct ops_tree *t, bool with_python)
{
	t->order = xcalloc(t->n_events ? t->n_events : 1, sizeof *t->order);
	for (size_t i = 0; i < t->n_events; i++) {
		const struct op_event *e = &t->x->v.v[i];

		if (!(t->name_flags[e->name] & OPS_NAME_HIDDEN) &&
			(with_python || e->category != OP_PYTHON))
			t->order[t->n++] = (uint32_t)i;
	}
}

void ops_tree_init(struct ops_tree *t, struct op_events *x, bool with_python)
{
	*t = (struct ops_tree){ .x = x, .n_events = x->v.n };
	look_at_names(t);
	find_owners(t);
	collect(t, with_python);
	sort_order(t);
	sum_memory(t);
	if (x->memory.n) {
		add_unclaimed(t);
		free(t->name_flags);
		look_at_names(t); /* there may be new ones */
		t->order = xrealloc(t->order, t->n + t->extra.n + 1, sizeof *t->order);
		for (size_t i = 0; i < t->extra.n; i++)
			t->order[t->n++] = (uint32_t)(t->n_events + i);
		sort_order(t);
	}
	t->parent = xcalloc(t->n_events + t->extra.n + 1, sizeof *t->parent);
	t->n_children = xcalloc(t->n_events + t->extra.n + 1, 1);
	find_parents(t);
}

void ops_tree_done(struct ops_tree *t)
{
	vec_done(&t->extra);
	free(t->order);
	free(t->parent);
	free(t->n_children);
	free(t->name_flags);
	free(t->memory);
	free(t->owners);
}
