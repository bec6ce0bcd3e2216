/* SPDX-License-Identifier: MIT
 * See diff_tree.h. */
#include "analyze/diff/diff_tree.h"

#include <stdlib.h>

#include "analyze/diff/diff.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct link { /* of a row, by its number */
	const struct diff_row *row;
	uint32_t child, next; /* number + 1; 0: none */
	double width;
};

struct builder {
	struct link *links;
	uint32_t *order; /* numbers, narrow ones first; later: of each node */
	uint32_t roots;  /* the first of them, number + 1 */
	struct diff_node *to;
	size_t n;
};

static int by_width(const void *a, const void *b, void *links)
{
	const struct link *x = (const struct link *)links + *(const uint32_t *)a,
			  *y = (const struct link *)links + *(const uint32_t *)b;

	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	return *(const uint32_t *)a > *(const uint32_t *)b ? -1 : 1;
}

/* Rows lie beside each other: the lowest address is the first one's. */
static const struct diff_row *first_row(const struct diff *d)
{
	const struct diff_row *first = d->paths.v[0];

	for (size_t i = 1; i < d->paths.n; i++)
		if (d->paths.v[i] < first)
			first = d->paths.v[i];
	return first;
}

/* Put at the front one by one, the widest last, so each list begins with its widest. */
static void link_children(struct builder *b, const struct diff *d, int side)
{
	const struct diff_row *first = first_row(d);
	size_t n = d->paths.n;

	for (size_t i = 0; i < n; i++) {
		const struct diff_row *r = d->paths.v[i];
		struct link *l = &b->links[r - first];

		l->row = r;
		l->width = side ? r->total.b : r->total.a;
		b->order[i] = (uint32_t)i;
	}
	qsort_r(b->order, n, sizeof *b->order, by_width, b->links);
	for (size_t i = 0; i < n; i++) {
		uint32_t number = b->order[i];
		struct link *l = &b->links[number];
		uint32_t *list = l->row->path ? &b->links[l->row->path - first].child : &b->roots;

		l->next = *list;
		*list = number + 1;
	}
}

/* Without recursion: paths may be deep. What has no width ends its list. */
static void lay_out(struct builder *b)
{
	uint32_t at = 0, next = b->roots; /* whose children are laid; number + 1 of the next */
	double x = 0;

	for (;;) {
		if (next && b->links[next - 1].width > 0) {
			const struct link *l = &b->links[next - 1];

			b->to[b->n] = (struct diff_node){ .row = l->row,
				.parent = at,
				.depth = b->to[at].depth + 1,
				.x = x,
				.width = l->width };
			b->order[b->n] = next - 1;
			at = (uint32_t)b->n++;
			next = l->child;
			continue;
		}
		b->to[at].end = (uint32_t)b->n;
		if (!at)
			break;
		x = b->to[at].x + b->to[at].width;
		next = b->links[b->order[at]].next;
		at = b->to[at].parent;
	}
	b->to[0].width = x;
}

const struct diff_tree *diff_tree_build(struct arena *a, const struct diff *d, int side)
{
	struct diff_tree *t = arena_new(a, struct diff_tree);
	size_t n = d->paths.n;
	struct builder b = { .links = xcalloc(n + 1, sizeof *b.links),
		.order = xcalloc(n + 1, sizeof *b.order),
		.to = arena_new_n(a, struct diff_node, n + 1),
		.n = 1 };

	if (n)
		link_children(&b, d, side);
	lay_out(&b);
	t->v = b.to;
	t->n = b.n;
	free(b.links);
	free(b.order);
	return t;
}

/* Where the children that are too small begin, all others of that parent are, too. Returns the first node behind them. */
static uint32_t hide(
	const struct diff_tree *t, uint32_t first, struct diff_box *boxes, size_t n_boxes)
{
	uint32_t parent = t->v[first].parent, i = first, n = 0;

	for (; i < t->v[parent].end; i = t->v[i].end)
		n++;
	while (n_boxes-- > 0)
		if (boxes[n_boxes].node == parent) {
			boxes[n_boxes].n_hidden = n;
			break;
		}
	return i;
}

size_t diff_tree_slice(const struct diff_tree *t, uint32_t node, double at_least,
	struct diff_box *to, size_t n_most)
{
	size_t n = 0;

	for (uint32_t i = node; i < t->v[node].end && n < n_most;)
		if (i == node || t->v[i].width >= at_least)
			to[n++] = (struct diff_box){ .node = i++ };
		else
			i = hide(t, i, to, n);
	return n;
}
