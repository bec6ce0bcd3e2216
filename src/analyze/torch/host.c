/* SPDX-License-Identifier: MIT
 * See host.h. */
#include "analyze/torch/host.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host/usage.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* ---- looks ----------------------------------------------------------------------------------- */

static int64_t time_of(uint64_t t_ns)
{
	return t_ns <= INT64_MAX ? (int64_t)t_ns : INT64_MAX;
}

struct reading {
	VEC(struct op_resident) resident;
	VEC(struct op_look) looks;
	VEC(struct op_start) starts;
};

/* The ticks of usage are the distinct times of these records, in their order. */
static void read_looks(struct tables *t, const struct usage *u, struct reading *to)
{
	struct record_iter it = record_iter(t, RECORD_process_usage);
	uint64_t last = 0;

	for (const struct rec_process_usage *r; (r = record_next(&it));) {
		const struct rec_process *p = tables_process(t, r->process);

		if (p && r->rss_bytes < (uint64_t)1 << 50)
			vec_push(&to->resident,
				(struct op_resident){
					time_of(r->t_ns), p->pid, (double)r->rss_bytes });
		if (to->looks.n && r->t_ns == last)
			continue;
		last = r->t_ns;
		if (to->looks.n < u->n_ticks) {
			const struct usage_tick *tick = &u->ticks[to->looks.n];

			vec_push(&to->looks,
				(struct op_look){ .t_ns = time_of(r->t_ns),
					.seconds = tick->dt_s,
					.cpu = tick->cpu,
					.queue = tick->queue });
		}
	}
	record_iter_done(&it);
}

static int by_time(const void *a, const void *b)
{
	const struct op_start *x = a, *y = b;

	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static void read_starts(struct tables *t, struct reading *to)
{
	struct record_iter it = record_iter(t, RECORD_life);

	for (const struct rec_life *r; (r = record_next(&it));) {
		const struct rec_process *p = tables_process(t, r->process);

		if (p && r->event == LIFE_START)
			vec_push(&to->starts,
				(struct op_start){ time_of(r->t_ns), p->pid, p->parent_pid });
	}
	record_iter_done(&it);
	if (to->starts.n)
		qsort(to->starts.v, to->starts.n, sizeof *to->starts.v, by_time);
}

const struct op_host *op_host_build(struct arena *a, struct tables *t)
{
	const struct usage *u = usage_build(a, t);
	struct reading r = { .resident = VEC_INIT };
	struct op_host *to;

	if (!u || u->is_foreign)
		return NULL;
	read_looks(t, u, &r);
	read_starts(t, &r);
	to = arena_new(a, struct op_host);
	*to = (struct op_host){
		.tables = t,
		.cpus = units_is_known(u->cpus_allowed) ? u->cpus_allowed : NAN,
		.resident = arena_copy(a, r.resident.v, r.resident.n * sizeof *r.resident.v),
		.n_resident = r.resident.n,
		.looks = arena_copy(a, r.looks.v, r.looks.n * sizeof *r.looks.v),
		.n_looks = r.looks.n,
		.starts = arena_copy(a, r.starts.v, r.starts.n * sizeof *r.starts.v),
		.n_starts = r.starts.n,
	};
	vec_done(&r.resident);
	vec_done(&r.looks);
	vec_done(&r.starts);
	return to;
}

struct op_load op_host_load(const struct op_host *h, int64_t from_ns, int64_t to_ns)
{
	double seconds = 0, cpu = 0, queue = 0;

	for (size_t i = 0; h && i < h->n_looks; i++) {
		const struct op_look *k = &h->looks[i];
		double begin = fmax((double)k->t_ns - k->seconds * 1e9, (double)from_ns);
		double part = (fmin((double)k->t_ns, (double)to_ns) - begin) / 1e9;

		if (!(part > 0))
			continue;
		seconds += part;
		cpu += k->cpu * part;
		queue += k->queue * part;
	}
	return seconds > 0 ? (struct op_load){ cpu / seconds, queue / seconds }
			   : (struct op_load){ NAN, NAN };
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Where a DataLoader makes a batch of samples, in the training process and in its workers. */
static bool is_fetch(const struct stack_frame *f)
{
	return ends_with(f->file, "torch/utils/data/_utils/fetch.py") &&
		ends_with(f->name, "fetch");
}

static bool is_worker(const struct stack_frame *f)
{
	return ends_with(f->file, "torch/utils/data/_utils/worker.py");
}

struct gathering {
	const struct stacks *s;
	struct map lines; /* line_id + 1 → ns */
	struct op_loading *to;
	struct stack_frame most;
	double most_s;
};

/* The innermost line of the program's own below the fetch; false: the stack does not load. */
static bool own_line(
	const struct stacks *s, uint32_t leaf, struct stack_frame *ret, bool *ret_is_worker)
{
	bool has_line = false, loads = false;

	*ret_is_worker = false;
	for (uint32_t at = leaf; at; at = s->paths->v[at].parent) {
		struct stack_frame f = paths_frame(s, at);

		if (is_fetch(&f))
			loads = true;
		else if (loads)
			*ret_is_worker |= is_worker(&f);
		else if (!has_line && !f.is_library && !f.is_synthetic && f.line > 0) {
			*ret = f;
			has_line = true;
		}
	}
	if (!has_line)
		ret->line = -1;
	return loads;
}

static void gather(struct gathering *g, uint32_t leaf, double seconds)
{
	struct stack_frame f;
	bool in_worker;
	uint64_t sum = 0;

	if (!leaf || !own_line(g->s, leaf, &f, &in_worker))
		return;
	g->to->seconds += seconds;
	g->to->in_main += in_worker ? 0 : seconds;
	if (f.line <= 0)
		return;
	map_find(&g->lines, (uint64_t)f.line_id + 1, &sum);
	sum += (uint64_t)(seconds * 1e9);
	map_put(&g->lines, (uint64_t)f.line_id + 1, sum);
	if ((double)sum / 1e9 > g->most_s) {
		g->most_s = (double)sum / 1e9;
		g->most = f;
	}
}

struct op_loading op_host_loading(struct arena *a, const struct op_host *h)
{
	struct stacks_options o = { .state = STACKS_WALL };
	struct op_loading to = { 0 };
	struct gathering g = { .to = &to };

	if (!h)
		return to;
	g.s = stacks_build(a, h->tables, &o);
	for (size_t i = 0; i < g.s->n && g.s->unit == UNIT_SECONDS; i++)
		gather(&g, g.s->paths->of_place[i], g.s->v[i].value);
	if (g.most_s > 0) {
		to.file = frames_module_path(g.most.file);
		to.function = g.most.name;
		to.line = (uint32_t)g.most.line;
		to.line_s = g.most_s;
	}
	map_done(&g.lines);
	return to;
}
