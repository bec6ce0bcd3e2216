/* SPDX-License-Identifier: MIT
 * See graph_layout.h. */
#include "analyze/samples/graph_layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

enum { SWEEPS = 24 };

struct item {                /* a box, or a place an arrow goes through */
	size_t layer, order; /* order: in its layer */
	double width, x;     /* x: of its centre */
	double wish;
};

struct link { /* of items in neighbouring layers, downwards */
	size_t upper, lower;
};

struct layer {
	size_t *items;
	size_t n;
	double height, y;
};

struct layout {
	struct arena *a;
	struct graph_box *boxes;
	struct graph_arrow *arrows;
	size_t n_boxes, n_arrows;
	struct graph_gaps gaps;
	bool *is_turned;        /* by arrow: it is laid out from its end to its begin */
	VEC(struct item) items; /* boxes first */
	VEC(struct link) links;
	size_t **routes; /* by arrow: items it goes through, from the upper box to the lower */
	struct layer *layers;
	size_t n_layers;
};

static size_t upper_of(const struct layout *l, size_t arrow)
{
	return l->is_turned[arrow] ? l->arrows[arrow].to : l->arrows[arrow].from;
}

static size_t lower_of(const struct layout *l, size_t arrow)
{
	return l->is_turned[arrow] ? l->arrows[arrow].from : l->arrows[arrow].to;
}

/* ---- circles and layers ---------------------------------------------------------------------- */

/* Depth first from each box; an arrow back into the path walked is turned. */
static void turn_circles(struct layout *l)
{
	char *state = arena_new_n(l->a, char, l->n_boxes); /* 0 new, 1 on the path, 2 done */
	size_t *path = arena_new_n(l->a, size_t, l->n_boxes + 1),
	       *next = arena_new_n(l->a, size_t, l->n_boxes + 1);

	for (size_t root = 0; root < l->n_boxes; root++) {
		size_t depth = 0;

		if (state[root])
			continue;
		path[depth++] = root;
		state[root] = 1;
		while (depth) {
			size_t at = path[depth - 1], k = next[at];

			while (k < l->n_arrows && l->arrows[k].from != at)
				k++;
			next[at] = k + 1;
			if (k >= l->n_arrows) {
				state[at] = 2;
				depth--;
			} else if (state[l->arrows[k].to] == 1) {
				l->is_turned[k] = l->arrows[k].to != at;
			} else if (!state[l->arrows[k].to]) {
				path[depth++] = l->arrows[k].to;
				state[l->arrows[k].to] = 1;
			}
		}
	}
}

/* Longest paths: at most n_boxes rounds, because there are no circles left. */
static void choose_layers(struct layout *l)
{
	bool grows = true;

	for (size_t round = 0; grows && round <= l->n_boxes; round++) {
		grows = false;
		for (size_t k = 0; k < l->n_arrows; k++) {
			struct item *upper = &l->items.v[upper_of(l, k)],
				    *lower = &l->items.v[lower_of(l, k)];

			if (upper != lower && lower->layer < upper->layer + 1) {
				lower->layer = upper->layer + 1;
				grows = true;
			}
		}
	}
	for (size_t i = 0; i < l->n_boxes; i++)
		if (l->items.v[i].layer + 1 > l->n_layers)
			l->n_layers = l->items.v[i].layer + 1;
}

static void make_routes(struct layout *l)
{
	l->routes = arena_new_n(l->a, size_t *, l->n_arrows);
	for (size_t k = 0; k < l->n_arrows; k++) {
		size_t upper = upper_of(l, k), lower = lower_of(l, k), at = upper;
		size_t first = l->items.v[upper].layer, last = l->items.v[lower].layer;

		if (upper == lower)
			continue;
		l->routes[k] = arena_new_n(l->a, size_t, last - first + 1);
		for (size_t layer = first; layer <= last; layer++) {
			size_t next = layer == first ? upper : layer == last ? lower : l->items.n;

			if (next == l->items.n)
				vec_push(&l->items, (struct item){ .layer = layer });
			if (layer > first)
				vec_push(&l->links, (struct link){ at, next });
			l->routes[k][layer - first] = at = next;
		}
	}
}

static void fill_layers(struct layout *l)
{
	l->layers = arena_new_n(l->a, struct layer, l->n_layers);
	vec_each (&l->items, x)
		l->layers[x->layer].n++;
	for (size_t i = 0; i < l->n_layers; i++) {
		l->layers[i].items = arena_new_n(l->a, size_t, l->layers[i].n);
		l->layers[i].n = 0;
	}
	for (size_t i = 0; i < l->items.n; i++) {
		struct layer *layer = &l->layers[l->items.v[i].layer];

		l->items.v[i].order = layer->n;
		layer->items[layer->n++] = i;
		if (i < l->n_boxes)
			layer->height = fmax(layer->height, l->boxes[i].height);
	}
}

/* ---- order and places ------------------------------------------------------------------------ */

/* The mean of a value over the neighbours above or below, for each item of a layer; its own without any. */
static void wish(struct layout *l, size_t layer, bool from_above, bool by_order)
{
	double *sums = xcalloc(l->items.n, sizeof *sums);
	size_t *counts = xcalloc(l->items.n, sizeof *counts);

	vec_each (&l->links, k) {
		size_t of = from_above ? k->lower : k->upper, by = from_above ? k->upper : k->lower;

		if (l->items.v[of].layer != layer)
			continue;
		sums[of] += by_order ? (double)l->items.v[by].order : l->items.v[by].x;
		counts[of]++;
	}
	for (size_t i = 0; i < l->layers[layer].n; i++) {
		size_t at = l->layers[layer].items[i];
		struct item *x = &l->items.v[at];

		x->wish = counts[at] ? sums[at] / (double)counts[at]
			: by_order   ? (double)x->order
				     : x->x;
	}
	free(sums);
	free(counts);
}

static int by_wish(const void *a, const void *b, void *items)
{
	const struct item *x = (struct item *)items + *(const size_t *)a,
			  *y = (struct item *)items + *(const size_t *)b;

	if (x->wish != y->wish)
		return x->wish < y->wish ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_layer(struct layout *l, size_t layer, bool from_above)
{
	struct layer *x = &l->layers[layer];

	wish(l, layer, from_above, true);
	if (x->n > 1)
		qsort_r(x->items, x->n, sizeof *x->items, by_wish, l->items.v);
	for (size_t i = 0; i < x->n; i++)
		l->items.v[x->items[i]].order = i;
}

/* The places nearest to the wishes that keep order and distance: neighbours in each other's way move as one. */
static void place_layer(struct layout *l, size_t layer)
{
	struct pool {
		double sum; /* of wishes, each less the room that must lie before it in the layer */
		size_t n;
	};
	struct layer *x = &l->layers[layer];
	struct pool *pools = xcalloc(x->n + 1, sizeof *pools);
	double before = 0;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct item *item = &l->items.v[x->items[i]];

		if (i)
			before += l->items.v[x->items[i - 1]].width / 2 + l->gaps.column +
				item->width / 2;
		pools[n++] = (struct pool){ item->wish - before, 1 };
		while (n > 1 &&
			pools[n - 2].sum / (double)pools[n - 2].n >
				pools[n - 1].sum / (double)pools[n - 1].n) {
			pools[n - 2].sum += pools[n - 1].sum;
			pools[n - 2].n += pools[n - 1].n;
			n--;
		}
	}
	before = 0;
	for (size_t p = 0; p < n; p++)
		for (size_t i = 0; i < pools[p].n; i++, at++) {
			struct item *item = &l->items.v[x->items[at]];

			if (at)
				before += l->items.v[x->items[at - 1]].width / 2 + l->gaps.column +
					item->width / 2;
			item->x = pools[p].sum / (double)pools[p].n + before;
		}
	free(pools);
}

static void arrange(struct layout *l)
{
	for (size_t sweep = 0; sweep < SWEEPS; sweep++) {
		bool down = sweep % 2 == 0;

		for (size_t i = 1; i < l->n_layers; i++)
			sort_layer(l, down ? i : l->n_layers - 1 - i, down);
	}
	for (size_t i = 0; i < l->n_layers; i++) {
		for (size_t k = 0; k < l->layers[i].n; k++)
			l->items.v[l->layers[i].items[k]].wish = 0;
		place_layer(l, i);
	}
	for (size_t sweep = 0; sweep < SWEEPS; sweep++) {
		bool down = sweep % 2 == 0;

		for (size_t i = 1; i < l->n_layers; i++) {
			size_t layer = down ? i : l->n_layers - 1 - i;

			wish(l, layer, down, false);
			place_layer(l, layer);
		}
	}
}

/* ---- results --------------------------------------------------------------------------------- */

static struct graph_point measure(struct layout *l)
{
	struct graph_point size = { 0, 0 };
	double left = INFINITY;

	vec_each (&l->items, x)
		left = fmin(left, x->x - x->width / 2);
	vec_each (&l->items, x) {
		x->x -= left;
		size.x = fmax(size.x, x->x + x->width / 2);
	}
	for (size_t i = 0; i < l->n_layers; i++) {
		l->layers[i].y = size.y;
		size.y += l->layers[i].height + (i + 1 < l->n_layers ? l->gaps.layer : 0);
	}
	for (size_t i = 0; i < l->n_boxes; i++) {
		l->boxes[i].x = l->items.v[i].x - l->boxes[i].width / 2;
		l->boxes[i].y = l->layers[l->items.v[i].layer].y;
	}
	return size;
}

static void draw_routes(struct layout *l)
{
	for (size_t k = 0; k < l->n_arrows; k++) {
		size_t upper = upper_of(l, k), lower = lower_of(l, k);
		size_t first = l->items.v[upper].layer, n;
		struct graph_point *p;

		if (upper == lower)
			continue;
		n = l->items.v[lower].layer - first + 1;
		p = arena_new_n(l->a, struct graph_point, 2 * n);
		for (size_t i = 0; i < n; i++) {
			const struct layer *layer = &l->layers[first + i];
			size_t at = l->routes[k][i];
			double x = l->items.v[at].x, y = layer->y,
			       end = y + (at < l->n_boxes ? l->boxes[at].height : layer->height);
			size_t count = l->arrows[k].n_points;

			if (i) /* into it, or through it */
				p[count++] = (struct graph_point){ x, y };
			if (i + 1 < n)
				p[count++] = (struct graph_point){ x, end };
			l->arrows[k].n_points = count;
		}
		for (size_t i = 0; l->is_turned[k] && i < l->arrows[k].n_points / 2; i++) {
			struct graph_point other = p[i],
					   *mirror = &p[l->arrows[k].n_points - 1 - i];

			p[i] = *mirror;
			*mirror = other;
		}
		l->arrows[k].points = p;
	}
}

struct graph_point graph_layout(struct arena *a, struct graph_box *boxes, size_t n_boxes,
	struct graph_arrow *arrows, size_t n_arrows, struct graph_gaps gaps)
{
	struct layout l = { .a = a,
		.boxes = boxes,
		.arrows = arrows,
		.n_boxes = n_boxes,
		.n_arrows = n_arrows,
		.gaps = gaps,
		.is_turned = arena_new_n(a, bool, n_arrows) };
	struct graph_point size = { 0, 0 };

	if (!n_boxes)
		return size;
	for (size_t i = 0; i < n_boxes; i++)
		vec_push(&l.items, (struct item){ .width = boxes[i].width });
	for (size_t k = 0; k < n_arrows; k++) {
		arrows[k].points = NULL;
		arrows[k].n_points = 0;
	}
	turn_circles(&l);
	choose_layers(&l);
	make_routes(&l);
	fill_layers(&l);
	arrange(&l);
	size = measure(&l);
	draw_routes(&l);
	vec_done(&l.items);
	vec_done(&l.links);
	return size;
}
