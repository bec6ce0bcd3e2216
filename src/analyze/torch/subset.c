/* SPDX-License-Identifier: MIT
 * See subset.h. */
#include "analyze/torch/subset.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stretch.h"
#include "analyze/torch/events.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct taking {
	const struct op_events *x;
	const struct op_subset *which;
	bool *is_of;             /* by track: of the process */
	uint8_t *is_kept;        /* by event */
	struct map links;        /* of operators that are kept */
	struct map correlations; /* of calls of the runtime, likewise */
};

#define copy_vec(to, from)                                                         \
	do {                                                                       \
		__typeof__(*(to)) fresh_ = VEC_INIT;                               \
		vec_reserve(&fresh_, (from)->n);                                   \
		if ((from)->n)                                                     \
			memcpy(fresh_.v, (from)->v, (from)->n * sizeof *fresh_.v); \
		fresh_.n = (from)->n;                                              \
		*(to) = fresh_;                                                    \
	} while (0)

static void copy_intern(struct intern *to, const struct intern *from)
{
	*to = INTERN_INIT;
	for (size_t i = 0; i < from->items.n; i++)
		intern_add(to, from->items.v[i].p, from->items.v[i].n, NULL);
}

static void copy_map(struct map *to, const struct map *from)
{
	uint64_t key, value;

	*to = MAP_INIT;
	for (size_t i = 0; map_next(from, &i, &key, &value);)
		map_put(to, key, value);
}

static void copy_buf(struct buf *to, const struct buf *from)
{
	*to = (struct buf)BUF_INIT;
	if (from->n)
		buf_add(to, from->data, from->n);
}

static bool is_within(const struct op_subset *w, int64_t t_ns)
{
	return !w->within || stretches_hold(w->within, w->n_within, t_ns);
}

/* Without a link nobody knows who asked for it: then only time decides. */
static bool keeps_device(const struct taking *t, const struct op_event *e)
{
	uint32_t correlation = e->detail && e->detail <= t->x->device.n
		? t->x->device.v[e->detail - 1].correlation
		: 0;
	uint64_t ignored;

	if (e->link)
		return map_find(&t->links, e->link, &ignored);
	if (correlation)
		return map_find(&t->correlations, correlation, &ignored);
	return is_within(t->which, e->start_ns);
}

static void choose(struct taking *t)
{
	const struct op_events *x = t->x;

	for (size_t i = 0; i < x->tracks.items.n; i++)
		t->is_of[i] = !t->which->process ||
			strcmp(x->tracks.items.v[i].p, t->which->process) == 0;
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];

		if (op_is_device(e) || !t->is_of[e->track] || !is_within(t->which, e->start_ns))
			continue;
		t->is_kept[i] = true;
		if (e->category == OP_CPU && e->link)
			map_put(&t->links, e->link, 1);
		if (e->category == OP_RUNTIME && e->detail)
			map_put(&t->correlations, e->detail, 1);
	}
	for (size_t i = 0; i < x->v.n; i++)
		if (op_is_device(&x->v.v[i]))
			t->is_kept[i] = keeps_device(t, &x->v.v[i]);
}

static void take_events(const struct taking *t, struct op_events *to)
{
	const struct op_events *x = t->x;
	size_t at = 0, waited = 0;

	for (size_t i = 0; i < x->v.n; i++) {
		while (at < x->sequences.n && x->sequences.v[at].event < i)
			at++;
		while (waited < x->waited.n && x->waited.v[waited].event < i)
			waited++;
		if (!t->is_kept[i])
			continue;
		if (waited < x->waited.n && x->waited.v[waited].event == i)
			vec_push(&to->waited,
				(struct op_wait){ (uint32_t)to->v.n, x->waited.v[waited].ns });
		for (; at < x->sequences.n && x->sequences.v[at].event == i; at++)
			vec_push(&to->sequences,
				(struct op_sequence){
					(uint32_t)to->v.n, x->sequences.v[at].number });
		vec_push(&to->v, x->v.v[i]);
		if (i < x->sources.n)
			vec_push(&to->sources, x->sources.v[i]);
		if (i < x->modules.n)
			vec_push(&to->modules, x->modules.v[i]);
		if (i < x->v_written.n)
			vec_push(&to->v_written, x->v_written.v[i]);
	}
}

static void take_memory(const struct taking *t, struct op_events *to)
{
	const struct op_events *x = t->x;

	for (size_t i = 0; i < x->memory.n; i++) {
		if (!t->is_of[x->memory.v[i].track] || !is_within(t->which, x->memory.v[i].t_ns))
			continue;
		vec_push(&to->memory, x->memory.v[i]);
		if (i < x->memory_written.n)
			vec_push(&to->memory_written, x->memory_written.v[i]);
	}
}

static void copy_rest(const struct op_events *x, struct op_events *to)
{
	copy_vec(&to->device, &x->device);
	copy_vec(&to->told, &x->told);
	copy_vec(&to->asides, &x->asides);
	copy_vec(&to->processes, &x->processes);
	copy_vec(&to->marks, &x->marks);
	copy_vec(&to->properties, &x->properties);
	copy_intern(&to->launches, &x->launches);
	copy_intern(&to->names, &x->names);
	copy_intern(&to->shapes, &x->shapes);
	copy_intern(&to->tracks, &x->tracks);
	copy_intern(&to->texts, &x->texts);
	copy_buf(&to->compiled, &x->compiled);
	copy_buf(&to->numbers, &x->numbers);
	copy_buf(&to->lines, &x->lines);
	copy_map(&to->module_paths, &x->module_paths);
	copy_map(&to->module_parents, &x->module_parents);
}

void op_subset_take(const struct op_events *x, const struct op_subset *which, struct op_events *to)
{
	struct taking t = { .x = x,
		.which = which,
		.is_of = xcalloc(x->tracks.items.n + 1, sizeof *t.is_of),
		.is_kept = xcalloc(x->v.n + 1, sizeof *t.is_kept) };

	*to = *x; /* the facts; what it owns is replaced */
	to->others = (struct op_others){ 0 };
	memset(&to->v, 0, sizeof to->v);
	memset(&to->sources, 0, sizeof to->sources);
	memset(&to->modules, 0, sizeof to->modules);
	memset(&to->memory, 0, sizeof to->memory);
	memset(&to->sequences, 0, sizeof to->sequences);
	memset(&to->waited, 0, sizeof to->waited);
	memset(&to->v_written, 0, sizeof to->v_written);
	memset(&to->memory_written, 0, sizeof to->memory_written);
	copy_rest(x, to);
	choose(&t);
	take_events(&t, to);
	take_memory(&t, to);
	map_done(&t.links);
	map_done(&t.correlations);
	free(t.is_of);
	free(t.is_kept);
}
