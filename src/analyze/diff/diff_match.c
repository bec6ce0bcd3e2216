/* SPDX-License-Identifier: MIT
 * See diff_match.h. Both lists are sorted and gone through side by side: first by the whole path, then what is
 * left by the file's bare name. */
#include "analyze/diff/diff_match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/profile.h"
#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

typedef VEC(const struct profile_function *) function_list;

struct matcher {
	VEC(struct diff_pair) pairs;
	function_list rest[2]; /* not matched yet */
};

typedef int (*compare_fn)(const struct profile_function *, const struct profile_function *);

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static int by_path(const struct profile_function *x, const struct profile_function *y)
{
	int order = strcmp(x->file, y->file);

	return order ? order : strcmp(x->name, y->name);
}

static int by_base(const struct profile_function *x, const struct profile_function *y)
{
	int order = strcmp(base_name(x->file), base_name(y->file));

	return order ? order : strcmp(x->name, y->name);
}

static int path_order(const void *a, const void *b)
{
	const struct profile_function *x = *(const struct profile_function *const *)a,
				      *y = *(const struct profile_function *const *)b;
	int order = by_path(x, y);

	return order ? order : x->first_line < y->first_line ? -1 : x->first_line > y->first_line;
}

static int base_order(const void *a, const void *b)
{
	const struct profile_function *x = *(const struct profile_function *const *)a,
				      *y = *(const struct profile_function *const *)b;
	int order = by_base(x, y);

	return order ? order : path_order(a, b);
}

/* How many from `at` on are equal to that one. */
static size_t run_of(const function_list *l, size_t at, compare_fn compare)
{
	size_t n = 1;

	while (at + n < l->n && compare(l->v[at], l->v[at + n]) == 0)
		n++;
	return n;
}

static void keep(function_list *to, const function_list *from, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		vec_push(to, from->v[i]);
}

/* Pairs equal ones of the sorted lists, the first with the first; `only_single`: not where a list has several. */
static void pair_equal(struct matcher *m, compare_fn compare, bool only_single)
{
	function_list x = m->rest[0], y = m->rest[1];
	size_t i = 0, k = 0;

	m->rest[0] = m->rest[1] = (function_list)VEC_INIT;
	while (i < x.n && k < y.n) {
		int order = compare(x.v[i], y.v[k]);
		size_t n_x = order <= 0 ? run_of(&x, i, compare) : 0,
		       n_y = order >= 0 ? run_of(&y, k, compare) : 0, both = n_x < n_y ? n_x : n_y;

		if (only_single && (n_x > 1 || n_y > 1))
			both = 0;
		for (size_t j = 0; j < both; j++)
			vec_push(&m->pairs, (struct diff_pair){ { x.v[i + j], y.v[k + j] } });
		keep(&m->rest[0], &x, i + both, n_x - both);
		keep(&m->rest[1], &y, k + both, n_y - both);
		i += n_x;
		k += n_y;
	}
	keep(&m->rest[0], &x, i, x.n - i);
	keep(&m->rest[1], &y, k, y.n - k);
	vec_done(&x);
	vec_done(&y);
}

static void sort_rest(struct matcher *m, int (*order)(const void *, const void *))
{
	for (int side = 0; side < 2; side++)
		if (m->rest[side].n)
			qsort(m->rest[side].v, m->rest[side].n, sizeof *m->rest[side].v, order);
}

struct diff_pairs diff_match(struct arena *a, struct diff_list before, struct diff_list after)
{
	struct matcher m = { 0 };
	struct diff_pairs ret;

	for (size_t i = 0; i < before.n; i++)
		vec_push(&m.rest[0], &before.v[i]);
	for (size_t i = 0; i < after.n; i++)
		vec_push(&m.rest[1], &after.v[i]);
	sort_rest(&m, path_order);
	pair_equal(&m, by_path, false);
	sort_rest(&m, base_order);
	pair_equal(&m, by_base, true);
	vec_each (&m.rest[0], f)
		vec_push(&m.pairs, (struct diff_pair){ { *f, NULL } });
	vec_each (&m.rest[1], f)
		vec_push(&m.pairs, (struct diff_pair){ { NULL, *f } });
	ret = (struct diff_pairs){ arena_copy(a, m.pairs.v, m.pairs.n * sizeof *m.pairs.v),
		m.pairs.n };
	vec_done(&m.pairs);
	vec_done(&m.rest[0]);
	vec_done(&m.rest[1]);
	return ret;
}
