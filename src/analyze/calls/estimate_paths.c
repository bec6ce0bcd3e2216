/* SPDX-License-Identifier: MIT
 * See estimate_paths.h. Nodes have their parents before them: passes go forward from callers to callees, backward the other
 * way. */
#include "analyze/calls/estimate_paths.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/calls/nodes.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

static double own_s(const struct node *n)
{
	return fmax(n->raw.self_s - n->cost.self_s, 0);
}

static double entries(const struct node *n)
{
	return (double)n->calls + (double)n->resumes;
}

static uint64_t child_key(uint32_t parent, uint32_t row)
{
	return (uint64_t)parent << 32 | row;
}

/* Where the path of node i is found when all that is off is left out of it. children: parent + 1 and function → node + 1. */
static uint32_t strip(const struct estimate_paths *p, const struct estimate_paths_input *in,
	const struct map *children, uint32_t i)
{
	const struct node *n = &in->nodes->v[i];
	uint32_t above = n->parent ? p->stripped[n->parent - 1] : 0;
	uint64_t found;

	if (n->is_thread)
		return i + 1;
	if (in->is_off[i])
		return above;
	if (above == n->parent || !map_find(children, child_key(above, in->rows[i + 1]), &found))
		return i + 1;
	return (uint32_t)found;
}

static void strip_all(struct estimate_paths *p, const struct estimate_paths_input *in)
{
	const struct nodes *nodes = in->nodes;
	struct map children = MAP_INIT;

	for (uint32_t i = 0; i < nodes->n; i++)
		if (!nodes->v[i].is_thread && !in->is_off[i])
			map_put(&children, child_key(nodes->v[i].parent, in->rows[i + 1]), i + 1);
	for (uint32_t i = 0; i < nodes->n; i++)
		p->stripped[i] = strip(p, in, &children, i);
	map_done(&children);
}

/* Own times, out of what there is. */
static void give(struct estimate_paths *p, const struct estimate_paths_input *in)
{
	size_t n = in->nodes->n;
	double *wanted_s = xcalloc(n + 1, sizeof *wanted_s); /* of node + 1; 0: of nobody */

	for (size_t i = 0; i < n; i++) {
		p->self_s[i] = own_s(&in->nodes->v[i]);
		if (in->is_off[i])
			wanted_s[p->stripped[i]] += in->self_s[i];
	}
	for (size_t i = 0; i < n; i++)
		p->there_s += wanted_s[i + 1] > 0 ? p->self_s[i] : 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t from = in->is_off[i] ? p->stripped[i] : 0;
		double there_s = from ? own_s(&in->nodes->v[from - 1]) : 0;

		if (!in->is_off[i])
			continue;
		p->got_s[i] = in->self_s[i];
		if (from && wanted_s[from] > there_s)
			p->got_s[i] *= there_s / wanted_s[from];
		p->self_s[i] += p->got_s[i];
		if (from)
			p->self_s[from - 1] = fmax(p->self_s[from - 1] - p->got_s[i], 0);
	}
	free(wanted_s);
}

/* Below one that is off, and found elsewhere outside of windows. */
static bool is_displaced(
	const struct estimate_paths *p, const struct estimate_paths_input *in, size_t i)
{
	const struct node *n = &in->nodes->v[i];

	return !n->is_thread && !in->is_off[i] && n->parent && in->is_off[n->parent - 1] &&
		p->stripped[i] != i + 1;
}

static void move(struct estimate_paths *p, const struct estimate_paths_input *in)
{
	size_t n = in->nodes->n;
	double *wanted = xcalloc(n + 1, sizeof *wanted);

	for (size_t i = 0; i < n; i++)
		if (is_displaced(p, in, i)) {
			const struct node *x = &in->nodes->v[i];

			p->moved[i] = entries(x) * in->growth[x->parent - 1];
			wanted[p->stripped[i]] += p->moved[i];
		}
	for (size_t i = 0; i < n; i++)
		if (p->moved[i] > 0) {
			uint32_t from = p->stripped[i];

			p->moved[i] /= fmax(entries(&in->nodes->v[from - 1]), wanted[from]);
		}
	free(wanted);
}

/* By owner, node + 1: all there is of a context that is on; and of it what is off and called by it directly. */
struct room {
	double total_s, seen_s, more_s;
};

static void measure(const struct estimate_paths *p, const struct estimate_paths_input *in,
	const double *more_s, struct room *rooms)
{
	for (size_t i = 0; i < in->nodes->n; i++) {
		uint32_t parent = in->nodes->v[i].parent;
		struct room *r = &rooms[p->stripped[i]];

		if (!in->is_off[i]) {
			r->total_s += p->total_s[i];
		} else if (!parent || !in->is_off[parent - 1]) {
			r->seen_s += p->total_s[i];
			r->more_s += more_s[i];
		}
	}
}

/* What was moved below something that is off is part of the totals from there up to the next caller that is on, which had it
 * before. It is no more than that one has. */
static void add_moved(struct estimate_paths *p, const struct estimate_paths_input *in)
{
	const struct nodes *nodes = in->nodes;
	double *more_s = xcalloc(nodes->n + 1, sizeof *more_s);
	struct room *rooms = xcalloc(nodes->n + 1, sizeof *rooms);

	for (size_t i = nodes->n; i-- > 0;) {
		uint32_t parent = nodes->v[i].parent;

		if (p->moved[i] > 0)
			more_s[parent - 1] += p->moved[i] * p->total_s[p->stripped[i] - 1];
		else if (in->is_off[i] && parent && in->is_off[parent - 1])
			more_s[parent - 1] += more_s[i];
	}
	measure(p, in, more_s, rooms);
	for (size_t i = 0; i < nodes->n; i++) {
		const struct room *r = &rooms[p->stripped[i]];
		double left_s = fmax(r->total_s - r->seen_s, 0);

		if (in->is_off[i] && more_s[i] > 0)
			p->total_s[i] += more_s[i] * (r->more_s > left_s ? left_s / r->more_s : 1);
	}
	free(more_s);
	free(rooms);
}

static void sum(struct estimate_paths *p, const struct nodes *nodes)
{
	for (size_t i = nodes->n; i-- > 0;) {
		p->total_s[i] += p->self_s[i];
		if (nodes->v[i].parent)
			p->total_s[nodes->v[i].parent - 1] += p->total_s[i];
		if (nodes->v[i].is_thread)
			p->threads_s += p->total_s[i];
	}
}

void estimate_paths_build(struct estimate_paths *p, const struct estimate_paths_input *in)
{
	size_t n = in->nodes->n + 1;

	*p = (struct estimate_paths){ .stripped = xcalloc(n, sizeof *p->stripped),
		.got_s = xcalloc(n, sizeof *p->got_s),
		.self_s = xcalloc(n, sizeof *p->self_s),
		.total_s = xcalloc(n, sizeof *p->total_s),
		.moved = xcalloc(n, sizeof *p->moved) };
	strip_all(p, in);
	give(p, in);
	move(p, in);
	sum(p, in->nodes);
	add_moved(p, in);
}

void estimate_paths_done(struct estimate_paths *p)
{
	free(p->stripped);
	free(p->got_s);
	free(p->self_s);
	free(p->total_s);
	free(p->moved);
}
