/* SPDX-License-Identifier: MIT
 * See streams.h. */
#include "analyze/torch/streams.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct queued { /* the queue of a stream gets longer or shorter */
	int64_t t_ns;
	uint16_t track;
	int8_t by;
};

struct slow {
	uint32_t launch, launched; /* events */
};

struct looking {
	struct ops_tree tree;
	struct map launch_of;   /* correlation → event */
	struct op_stream *rows; /* by track; n_events 0: no stream */
	int64_t *first, *until; /* by track */
	VEC(double) delays, launches;
	VEC(struct queued) queued;
	VEC(struct slow) slow;
	uint64_t n_short, n_late;
	int64_t first_ns, last_ns; /* of all streams, with launches */
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
	l->n_late += delay > OP_LATE_NS;
	if (launch->duration_ns > OP_SLOW_LAUNCH_NS) {
		const struct op_event *all = l->tree.x->v.v;

		vec_push(&l->slow, (struct slow){ (uint32_t)(launch - all), (uint32_t)(e - all) });
	}
	/* A kernel may seem to begin before its launch: the clocks are two. */
	vec_push(&l->queued,
		(struct queued){ launch->start_ns < e->start_ns ? launch->start_ns : e->start_ns,
			e->track, 1 });
	vec_push(&l->queued, (struct queued){ e->start_ns, e->track, -1 });
}

static void add_event(struct looking *l, const struct op_event *e)
{
	struct op_stream *s = &l->rows[e->track];
	const struct op_event *launch = launch_of(l, e);
	int64_t until = l->until[e->track], end = e->start_ns + e->duration_ns;
	double gap = (double)(e->start_ns - until) / 1e9;

	if (launch)
		add_launch(l, launch, e);
	if (launch && launch->start_ns < l->first_ns)
		l->first_ns = launch->start_ns;
	if (e->start_ns < l->first_ns)
		l->first_ns = e->start_ns;
	if (end > l->last_ns)
		l->last_ns = end;
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

/* Of values that are in order. */
static double median(const double *v, size_t n)
{
	return n ? (v[n / 2] + v[(n - 1) / 2]) / 2 : 0;
}

static double p99(const double *v, size_t n)
{
	return n ? v[(n * 99 + 99) / 100 - 1] : 0;
}

static int by_moment(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	return x->t_ns != y->t_ns ? (x->t_ns < y->t_ns ? -1 : 1) : y->by - x->by;
}

/* How long each stream's queue was when, between its first and its last event. */
static void follow_queues(struct looking *l, size_t n_tracks)
{
	struct op_pen *pens = xcalloc(n_tracks + 1, sizeof *pens);
	int64_t *since = xcalloc(n_tracks + 1, sizeof *since),
		*level = xcalloc(n_tracks + 1, sizeof *level);
	bool *is_seen = xcalloc(n_tracks + 1, sizeof *is_seen);

	if (l->queued.n)
		qsort(l->queued.v, l->queued.n, sizeof *l->queued.v, by_moment);
	for (size_t i = 0; i < n_tracks; i++) {
		pens[i] = (struct op_pen){ l->rows[i].queue, l->first_ns, l->last_ns, 0, 0 };
		since[i] = l->first[i];
	}
	vec_each (&l->queued, q) {
		struct op_stream *s = &l->rows[q->track];
		int64_t until = q->t_ns < l->until[q->track] ? q->t_ns : l->until[q->track];

		is_seen[q->track] = true;
		if (until > since[q->track]) {
			*(level[q->track] ? &s->mean_queue : &s->empty_share) +=
				(double)(level[q->track] ? level[q->track] : 1) *
				(double)(until - since[q->track]) / 1e9;
			since[q->track] = until;
		}
		level[q->track] += q->by;
		op_pen_draw(&pens[q->track], q->t_ns, (double)level[q->track]);
		if (level[q->track] > (int64_t)s->longest_queue)
			s->longest_queue = (uint64_t)level[q->track];
	}
	for (size_t i = 0; i < n_tracks; i++) {
		double span = (double)(l->until[i] - l->first[i]) / 1e9;
		bool is_known = is_seen[i] && span > 0;

		l->rows[i].empty_share += (double)(l->until[i] - since[i]) / 1e9;
		l->rows[i].mean_queue = is_known ? l->rows[i].mean_queue / span : NAN;
		l->rows[i].empty_share = is_known ? l->rows[i].empty_share / span : NAN;
	}
	free(pens);
	free(since);
	free(level);
	free(is_seen);
}

static int by_slowness(const void *a, const void *b)
{
	const struct op_slow_launch *x = a, *y = b;

	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static void list_slow(const struct looking *l, struct arena *a, struct op_streams *to)
{
	const struct op_events *x = l->tree.x;
	struct op_slow_launch *v = arena_new_n(a, struct op_slow_launch, l->slow.n + 1);

	for (size_t i = 0; i < l->slow.n; i++) {
		const struct op_event *launch = &x->v.v[l->slow.v[i].launch];
		uint32_t owner = ops_owner(&l->tree, launch);

		v[i] = (struct op_slow_launch){
			.call = arena_strdup(a, op_events_name(x, launch->name)),
			.operator_name = owner == OPS_NONE
				? ""
				: arena_strdup(a, op_events_name(x, x->v.v[owner].name)),
			.launched = arena_strdup(
				a, op_events_name(x, x->v.v[l->slow.v[i].launched].name)),
			.at_s = (double)(launch->start_ns - x->zero_ns) / 1e9,
			.seconds = (double)launch->duration_ns / 1e9,
		};
	}
	qsort(v, l->slow.n, sizeof *v, by_slowness);
	to->slowest = v;
	to->n_slow = l->slow.n;
	to->n_slowest = l->slow.n < OP_SLOWEST ? l->slow.n : OP_SLOWEST;
}

static void sum_launches(struct looking *l, struct op_streams *to)
{
	size_t n = l->delays.n;
	double *delays = l->delays.v, *launches = l->launches.v;

	to->n_launches = n;
	to->n_short = l->n_short;
	to->n_late = l->n_late;
	if (!n)
		return;
	qsort(delays, n, sizeof *delays, by_size);
	qsort(launches, n, sizeof *launches, by_size);
	to->median_delay_s = median(delays, n);
	to->p99_delay_s = p99(delays, n);
	to->max_delay_s = delays[n - 1];
	to->median_launch_s = median(launches, n);
	to->p99_launch_s = p99(launches, n);
	to->max_launch_s = launches[n - 1];
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
	struct looking l = { .first_ns = INT64_MAX, .last_ns = INT64_MIN };
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
	follow_queues(&l, n_tracks);
	to->n = gather(&l, a, n_tracks);
	to->v = arena_copy(a, l.rows, to->n * sizeof *l.rows);
	sum_launches(&l, to);
	list_slow(&l, a, to);
	vec_done(&l.queued);
	vec_done(&l.slow);
	vec_done(&l.delays);
	vec_done(&l.launches);
	map_done(&l.launch_of);
	free(l.rows);
	free(l.first);
	free(l.until);
	ops_tree_done(&l.tree);
	return to;
}
