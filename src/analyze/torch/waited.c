/* SPDX-License-Identifier: MIT
 * See waited.h. */
#include "analyze/torch/waited.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/tree.h"
#include "base/bisect.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct look {
	int64_t t_ns;
	uint64_t cpu_ns, queue_ns; /* so far */
};

typedef VEC(struct look) looks;

struct waiting {
	struct map at;      /* process and thread → in threads */
	VEC(looks) threads; /* in the order of time */
};

static uint64_t key_of(uint64_t pid, uint64_t tid)
{
	return pid << 32 | (tid & UINT32_MAX);
}

/* "4711\0004713" */
static bool key_of_track(const struct op_events *x, uint16_t track, uint64_t *ret)
{
	const struct intern_item *item = intern_get(&x->tracks, track);
	const char *text = item->p;
	size_t n = strnlen(text, item->n);

	if (!n || n + 1 >= item->n || *text < '0' || *text > '9')
		return false;
	*ret = key_of(strtoul(text, NULL, 10), strtoul(text + n + 1, NULL, 10));
	return true;
}

static bool is_long(const struct op_event *e)
{
	return e->category <= OP_ANNOTATION && e->duration_ns >= OP_LONG_NS;
}

/* Those that are asked for. */
static void find_threads(struct waiting *w, const struct op_events *x)
{
	for (size_t i = 0; i < x->v.n; i++) {
		uint64_t key, at;

		if (!is_long(&x->v.v[i]) || !key_of_track(x, x->v.v[i].track, &key) ||
			map_find(&w->at, key, &at))
			continue;
		map_put(&w->at, key, w->threads.n);
		vec_push(&w->threads, (looks)VEC_INIT);
	}
}

static void take_looks(struct waiting *w, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_thread_usage);

	for (const struct rec_thread_usage *u; (u = record_next(&it));) {
		const struct rec_thread *thread = tables_row(t, RECORD_thread, u->thread);
		const struct rec_process *process =
			thread ? tables_row(t, RECORD_process, thread->process) : NULL;
		uint64_t at;
		looks *to;

		if (!process || !map_find(&w->at, key_of(process->pid, thread->tid), &at))
			continue;
		to = &w->threads.v[at];
		if (to->n && (int64_t)u->t_ns < to->v[to->n - 1].t_ns)
			continue; /* a clock that went back */
		vec_push(to, (struct look){ (int64_t)u->t_ns, u->cpu_ns, u->queue_ns });
	}
	record_iter_done(&it);
}

/* How many looks were before. */
static size_t before(const looks *v, int64_t t_ns)
{
	return bisect(i, v->n, v->v[i].t_ns <= t_ns);
}

static int64_t waited(const looks *v, const struct op_event *e)
{
	size_t first = before(v, e->start_ns), last = before(v, e->start_ns + e->duration_ns);
	const struct look *from, *to;
	int64_t ran, queued, idle;

	if (!first || last >= v->n) /* no look around it */
		return 0;
	from = &v->v[first - 1];
	to = &v->v[last];
	if (to->cpu_ns < from->cpu_ns || to->queue_ns < from->queue_ns ||
		to->cpu_ns - from->cpu_ns >= (uint64_t)e->duration_ns)
		return 0;
	ran = (int64_t)(to->cpu_ns - from->cpu_ns);
	queued = to->queue_ns - from->queue_ns < (uint64_t)e->duration_ns
		? (int64_t)(to->queue_ns - from->queue_ns)
		: e->duration_ns;
	idle = e->duration_ns - ran;
	return idle < queued ? idle : queued;
}

void op_waited_find(struct tables *t, struct op_events *x)
{
	struct waiting w = { .at = MAP_INIT, .threads = VEC_INIT };

	find_threads(&w, x);
	if (w.threads.n)
		take_looks(&w, t);
	for (size_t i = 0; w.threads.n && i < x->v.n; i++) {
		uint64_t key, at;
		int64_t ns;

		if (!is_long(&x->v.v[i]) || !key_of_track(x, x->v.v[i].track, &key) ||
			!map_find(&w.at, key, &at))
			continue;
		ns = waited(&w.threads.v[at], &x->v.v[i]);
		if (ns > 0)
			vec_push(&x->waited, (struct op_wait){ (uint32_t)i, ns });
	}
	vec_each (&w.threads, v)
		vec_done(v);
	vec_done(&w.threads);
	map_done(&w.at);
}

int64_t *op_waited_own(const struct ops_tree *t)
{
	int64_t *own = xcalloc(t->n_events + 1, sizeof *own);

	for (size_t i = 0; i < t->x->waited.n; i++) {
		const struct op_wait *w = &t->x->waited.v[i];
		uint32_t up = t->parent[w->event];

		own[w->event] += w->ns;
		if (up != OPS_NONE && up < t->n_events)
			own[up] -= w->ns;
	}
	for (size_t i = 0; i < t->n_events; i++)
		own[i] = own[i] > 0 ? own[i] : 0;
	return own;
}
