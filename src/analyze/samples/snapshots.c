/* SPDX-License-Identifier: MIT
 * See snapshots.h. */
#include "analyze/samples/snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

struct sorted { /* a member with what it is compared by */
	struct snapshot_member m;
	const struct snapshot_thread *t;
	bool is_main;
};

const struct snapshot_thread *snapshots_thread(
	const struct snapshots *s, const struct snapshot_member *m)
{
	return &s->v[m->process]->threads[m->thread];
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_locals(const struct snapshot_frame *a, const struct snapshot_frame *b)
{
	int c = compare_numbers(a->n_locals, b->n_locals);

	for (size_t i = 0; !c && i < a->n_locals; i++) {
		c = strcmp(a->locals[i].name, b->locals[i].name);
		if (!c)
			c = strcmp(a->locals[i].value, b->locals[i].value);
	}
	return c;
}

static int compare_frames(const struct snapshot_frame *a, const struct snapshot_frame *b)
{
	int c = strcmp(a->function, b->function);

	if (!c)
		c = strcmp(a->file, b->file);
	if (!c)
		c = (a->at.line > b->at.line) - (a->at.line < b->at.line);
	return c ? c : compare_locals(a, b);
}

static int compare_stacks(const struct snapshot_stack *a, const struct snapshot_stack *b)
{
	int c = compare_numbers(a->n, b->n);

	if (!c)
		c = (int)a->state - (int)b->state;
	for (size_t i = 0; !c && i < a->n; i++)
		c = compare_frames(&a->frames[i], &b->frames[i]);
	return c;
}

/* Main threads first, the same stacks beside each other, then as they came. */
static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int c = (int)y->is_main - (int)x->is_main;

	if (!c)
		c = compare_stacks(&x->t->stack, &y->t->stack);
	if (!c)
		c = compare_numbers(x->m.process, y->m.process);
	return c ? c : compare_numbers(x->m.thread, y->m.thread);
}

/* The larger first; else by their first member. */
static int compare_groups(const void *a, const void *b)
{
	const struct snapshot_group *x = a, *y = b;
	int c = (int)y->is_main - (int)x->is_main;

	if (!c && x->is_main)
		c = compare_numbers(y->n, x->n);
	if (!c)
		c = compare_numbers(x->members[0].process, y->members[0].process);
	return c ? c : compare_numbers(x->members[0].thread, y->members[0].thread);
}

static struct sorted *sort_all(const struct snapshot *const *v, size_t n, size_t *ret_n)
{
	VEC(struct sorted) all = VEC_INIT;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->n_threads; k++)
			vec_push(&all,
				(struct sorted){
					.m = { i, k }, .t = &v[i]->threads[k], .is_main = k == 0 });
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, compare);
	*ret_n = all.n;
	return all.v;
}

const struct snapshots *snapshots_build(struct arena *a, const struct snapshot *const *v, size_t n)
{
	struct snapshots *s = arena_new(a, struct snapshots);
	VEC(struct snapshot_group) groups = VEC_INIT;
	struct snapshot_group *sorted;
	size_t n_all;
	struct sorted *all = sort_all(v, n, &n_all);

	*s = (struct snapshots){ .v = v, .n = n };
	for (size_t i = 0; i < n_all;) {
		struct snapshot_member *members;
		size_t end = i + 1;

		while (end < n_all && all[end].is_main == all[i].is_main && all[i].t->stack.n &&
			compare_stacks(&all[i].t->stack, &all[end].t->stack) == 0)
			end++;
		members = arena_new_n(a, struct snapshot_member, end - i);
		for (size_t k = i; k < end; k++)
			members[k - i] = all[k].m;
		vec_push(&groups, (struct snapshot_group){ members, end - i, all[i].is_main });
		s->n_main_groups += all[i].is_main;
		i = end;
	}
	free(all);
	sorted = arena_copy(a, groups.v, groups.n * sizeof *groups.v);
	if (groups.n)
		qsort(sorted, groups.n, sizeof *sorted, compare_groups);
	s->groups = sorted;
	s->n_groups = groups.n;
	vec_done(&groups);
	return s;
}
