/* SPDX-License-Identifier: MIT
 * See op_streams.h. */
#include "analyze/op_streams.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/ops_tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct looking {
	struct ops_tree tree;
	struct map launch_of;   /* correlation → event */
	struct op_stream *rows; /* by track; n_events 0: no stream */
	int64_t *first, *until; /* by track */
	VEC(double) delays, launches;
	uint64_t n_short;
};

static void find_launches(struct looking *l)
{
	const struct op_events *x = l->tree.x;

	for (size_t i = 0; i < x->v.n; i++)
		if (x->v.v[i].category == OP_RUNTIME && x->v.v[i].detail)
			map_put(&l->launch_of, x->v.v[i].detail, i);
}

static const struct op_event *launch_of(const struct looking *l, const struct op_event *e)
{
	const struct op_events *x = l->tree.x;
	uint64_t at;

	if (!e->detail || e->detail > x->device.n ||
		!map_find(&l->launch_of, x->device.v[e->detail - 1].correlation, &at))
		return NULL;
	return &x->v.v[at];
}

static void add_launch(struct looking *l, const struct op_event *launch, const struct op_event *e)
{
	int64_t delay = e->start_ns - launch->start_ns - launch->duration_ns;

	vec_push(&l->delays, delay > 0 ? (double)delay / 1e9 : 0);
	vec_push(&l->launches, (double)launch->duration_ns / 1e9);
	l->n_short += e->duration_ns < launch->duration_ns;
}

static void add_event(struct looking *l, const struct op_event *e)
{
	struct op_stream *s = &l->rows[e->track];
	const struct op_event *launch = launch_of(l, e);
	int64_t until = l->until[e->track], end = e->start_ns + e->duration_ns;
	double gap = (double)(e->start_ns - until) / 1e9;

	if (launch)
		add_launch(l, launch, e);
	if (!s->n_events++) {
		l->first[e->track] = e->start_ns;
		until = e->start_ns;
	} else if (e->start_ns > until) {
		*(!launch                                                ? &s->other_s
				: launch->start_ns > until               ? &s->host_wait_s
				: e->start_ns - until < OP_KERNEL_GAP_NS ? &s->kernel_wait_s
									 : &s->other_s) += gap;
		until = e->start_ns;
	}
	if (end > until) {
		s->busy_s += (double)(end - until) / 1e9;
		until = end;
	}
	l->until[e->track] = until;
}

static int by_busy(const void *a, const void *b)
{
	const struct op_stream *x = a, *y = b;

	return x->busy_s > y->busy_s ? -1 : x->busy_s < y->busy_s;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof *v, by_size);
	return (v[n / 2] + v[(n - 1) / 2]) / 2;
}

/* The rows that are streams, side by side. */
static size_t gather(struct looking *l, struct arena *a, size_t n_tracks)
{
	size_t n = 0;

	for (size_t i = 0; i < n_tracks; i++) {
		const char *device;

		if (!l->rows[i].n_events)
			continue;
		device = intern_get(&l->tree.x->tracks, (uint32_t)i)->p;
		l->rows[i].span_s = (double)(l->until[i] - l->first[i]) / 1e9;
		l->rows[i].device = arena_strdup(a, device);
		l->rows[i].stream = arena_strdup(a, device + strlen(device) + 1);
		l->rows[n++] = l->rows[i];
	}
	qsort(l->rows, n, sizeof *l->rows, by_busy);
	return n;
}

const struct op_streams *op_streams_build(struct arena *a, struct op_events *x)
{
	struct op_streams *to = arena_new(a, struct op_streams);
	struct looking l = { 0 };
	size_t n_tracks = x->tracks.items.n;

	ops_tree_init(&l.tree, x, false);
	find_launches(&l);
	l.rows = xcalloc(n_tracks + 1, sizeof *l.rows);
	l.first = xcalloc(n_tracks + 1, sizeof *l.first);
	l.until = xcalloc(n_tracks + 1, sizeof *l.until);
	for (size_t i = 0; i < l.tree.n; i++) {
		const struct op_event *e = ops_node(&l.tree, l.tree.order[i]);

		if (op_is_device(e) && e->category != OP_DEVICE_ANNOTATION)
			add_event(&l, e);
	}
	to->n = gather(&l, a, n_tracks);
	to->v = arena_copy(a, l.rows, to->n * sizeof *l.rows);
	to->n_launches = l.delays.n;
	to->n_short = l.n_short;
	to->median_delay_s = median(l.delays.v, l.delays.n);
	to->median_launch_s = median(l.launches.v, l.launches.n);
	vec_done(&l.delays);
	vec_done(&l.launches);
	map_done(&l.launch_of);
	free(l.rows);
	free(l.first);
	free(l.until);
	ops_tree_done(&l.tree);
	return to;
}
