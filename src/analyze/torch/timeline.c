/* SPDX-License-Identifier: MIT
 * See timeline.h. */
#include "analyze/torch/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct track_rows {
	int64_t ends[OP_ROWS_MOST]; /* when the last span of each row ends */
	size_t counts[OP_ROWS_MOST];
	size_t n;
	size_t n_events;
	bool is_device;
	size_t first_row;
};

struct laying {
	struct ops_tree tree;
	struct track_rows *tracks;
	uint8_t *depth_of; /* by event; UINT8_MAX: not shown */
	struct op_timeline *to;
};

/* Below the span that holds it, in the first row that is free: what only reaches a little beyond another does not push all that
 * follows further down. */
static void place(struct laying *l, uint32_t event)
{
	const struct op_event *e = &l->tree.x->v.v[event];
	struct track_rows *t = &l->tracks[e->track];
	int64_t end = e->start_ns + e->duration_ns;
	size_t depth = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->ends[i] > e->start_ns && t->ends[i] >= end)
			depth = i + 1;
	while (depth < t->n && t->ends[depth] > e->start_ns)
		depth++;
	if (depth >= OP_ROWS_MOST) {
		l->to->n_too_deep++;
		return;
	}
	if (depth >= t->n)
		t->n = depth + 1;
	t->ends[depth] = end;
	t->counts[depth]++;
	t->n_events++;
	t->is_device |= op_is_device(e);
	l->depth_of[event] = (uint8_t)depth;
	l->to->begin_ns = e->start_ns < l->to->begin_ns ? e->start_ns : l->to->begin_ns;
	l->to->end_ns = end > l->to->end_ns ? end : l->to->end_ns;
}

static int by_kind(const void *a, const void *b)
{
	const struct op_lane *x = a, *y = b;

	if (x->is_device != y->is_device)
		return x->is_device ? 1 : -1;
	if (!x->is_device && x->n_events != y->n_events)
		return x->n_events > y->n_events ? -1 : 1;
	if (strcmp(x->process, y->process) != 0)
		return strcmp(x->process, y->process);
	return strcmp(x->thread, y->thread);
}

/* Lanes in their order, with the room of their rows; first_row of a track is known afterwards. */
static struct op_row *make_lanes(struct laying *l, struct arena *a)
{
	const struct op_events *x = l->tree.x;
	size_t n_tracks = x->tracks.items.n, n = 0, row = 0;
	struct op_lane *lanes = arena_alloc(a, (n_tracks + 1) * sizeof *lanes);
	struct op_row *rows;

	for (size_t i = 0; i < n_tracks; i++) {
		const struct intern_item *key = intern_get(&x->tracks, (uint32_t)i);
		const char *process = arena_copy(a, key->p, key->n + 1);

		if (l->tracks[i].n)
			lanes[n++] = (struct op_lane){ .process = process,
				.thread = process + strlen(process) + 1,
				.is_device = l->tracks[i].is_device,
				.n_events = l->tracks[i].n_events,
				.track = i,
				.n_rows = l->tracks[i].n };
	}
	qsort(lanes, n, sizeof *lanes, by_kind);
	for (size_t i = 0; i < n; i++)
		l->to->n_rows += lanes[i].n_rows;
	rows = arena_alloc(a, (l->to->n_rows + 1) * sizeof *rows);
	for (size_t i = 0; i < n; i++) {
		struct track_rows *t = &l->tracks[lanes[i].track];

		t->first_row = lanes[i].first_row = row;
		for (size_t k = 0; k < t->n; k++, row++)
			rows[row] = (struct op_row){ .events = arena_alloc(
							     a, t->counts[k] * sizeof(uint32_t)) };
	}
	l->to->lanes = lanes;
	l->to->n_lanes = n;
	l->to->rows = rows;
	return rows;
}

const struct op_timeline *op_timeline_build(struct arena *a, struct op_events *x, bool with_python)
{
	struct op_timeline *to = arena_new(a, struct op_timeline);
	struct laying l = { .to = to };
	uint32_t *row_of = arena_alloc(a, (x->v.n + 1) * sizeof *row_of);
	struct op_row *rows;

	*to = (struct op_timeline){ .row_of = row_of, .begin_ns = INT64_MAX, .end_ns = INT64_MIN };
	ops_tree_init(&l.tree, x, with_python);
	l.tracks = xcalloc(x->tracks.items.n + 1, sizeof *l.tracks);
	l.depth_of = xcalloc(x->v.n + 1, 1);
	memset(l.depth_of, 0xff, x->v.n);
	memset(row_of, 0xff, x->v.n * sizeof *row_of);
	for (size_t i = 0; i < l.tree.n; i++)
		if (l.tree.order[i] < x->v.n)
			place(&l, l.tree.order[i]);
	if (to->begin_ns > to->end_ns)
		to->begin_ns = to->end_ns = 0;
	rows = make_lanes(&l, a);
	for (size_t i = 0; i < l.tree.n; i++) {
		uint32_t event = l.tree.order[i];
		struct op_row *row;

		if (event >= x->v.n || l.depth_of[event] == UINT8_MAX)
			continue;
		row_of[event] =
			(uint32_t)(l.tracks[x->v.v[event].track].first_row + l.depth_of[event]);
		row = &rows[row_of[event]];
		((uint32_t *)(uintptr_t)row->events)[row->n++] = event;
	}
	free(l.tracks);
	free(l.depth_of);
	ops_tree_done(&l.tree);
	return to;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* The first span of the row that ends after a time: none lies over another, so ends are in order, too. */
static size_t first_after(const struct op_row *row, const struct op_events *x, int64_t t_ns)
{
	return bisect(i, row->n,
		x->v.v[row->events[i]].start_ns + x->v.v[row->events[i]].duration_ns <= t_ns);
}

void op_timeline_slice(const struct op_timeline *t, const struct op_events *x, size_t row,
	int64_t from_ns, int64_t to_ns, int64_t least_ns, op_spans *to)
{
	const struct op_row *r = &t->rows[row];
	size_t begin = to->n;

	for (size_t i = first_after(r, x, from_ns); i < r->n; i++) {
		const struct op_event *e = &x->v.v[r->events[i]];
		struct op_span *last = to->n > begin ? &to->v[to->n - 1] : NULL;
		int64_t end = e->start_ns + e->duration_ns;

		if (e->start_ns >= to_ns)
			break;
		if (last && e->duration_ns < least_ns && e->start_ns - last->end_ns < least_ns &&
			(last->n > 1 || last->end_ns - last->start_ns < least_ns) &&
			end - last->start_ns < 16 * least_ns) {
			last->end_ns = end;
			last->n++;
			continue;
		}
		vec_push(to,
			(struct op_span){ .start_ns = e->start_ns,
				.end_ns = end,
				.event = r->events[i],
				.n = 1 });
	}
}
