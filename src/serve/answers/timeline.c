/* SPDX-License-Identifier: MIT
 * Answer "timeline": runs of states per thread, regions, and the host's series. */
#include <math.h>
#include <stdlib.h>

#include "analyze/samples/stacks.h"
#include "analyze/samples/regions.h"
#include "analyze/samples/thread_states.h"
#include "analyze/host/usage.h"
#include "base/err.h"
#include "json/host.h"
#include "json/values.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "store/tables.h"
#include "base/banned.h"

enum { PIXELS = 1200, REGIONS = 2000, THREADS = 500, RUNS = 200000 };

struct window {
	double from_s, to_s, begin_s, end_s;
	uint32_t pixels;
};

/* ---- threads --------------------------------------------------------------------------------- */

static const struct stack_thread *chosen(const struct stacks *s, uint32_t row)
{
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].row == row)
			return &s->threads[i];
	return NULL;
}

static void write_runs(const struct thread_states *t, const struct state_thread *x,
	const struct window *v, struct mentioned *m, struct json_writer *w)
{
	struct state_run *runs;
	size_t n = thread_states_runs(
		t, x, (uint64_t)(v->from_s * 1e9), (uint64_t)(v->to_s * 1e9), v->pixels, &runs);

	json_key(w, "t");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++)
		short_json((double)runs[i].t_ns / 1e9, w);
	json_array_end(w);
	json_key(w, "s");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++)
		json_u64(w, runs[i].state);
	json_array_end(w);
	json_key(w, "f");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_i64(w, runs[i].function == UINT32_MAX ? -1 : (int64_t)runs[i].function);
		if (runs[i].function != UINT32_MAX)
			mention(m, runs[i].function);
	}
	json_array_end(w);
	free(runs);
}

static void write_threads(const struct selection *s, const struct thread_states *t,
	const struct window *asked, struct json_writer *w)
{
	size_t n = 0, most = RUNS / (s->stacks->n_threads + 1);
	struct mentioned m = { 0 };
	struct window v = *asked;

	if (v.pixels > most) /* many threads: less of each, so that an answer stays small */
		v.pixels = (uint32_t)(most > 50 ? most : 50);
	json_key(w, "states");
	json_array_begin(w);
	for (size_t i = 0; i < STRIP_STATES_; i++)
		json_string(w, strip_states[i]);
	json_array_end(w);
	json_key(w, "threads");
	json_array_begin(w);
	for (size_t i = 0; i < t->n_threads && n < THREADS; i++) {
		const struct state_thread *x = &t->threads[i];
		const struct stack_thread *of = chosen(s->stacks, x->row);

		if (!of)
			continue;
		n++;
		json_object_begin(w);
		json_kv_u64(w, "number", i + 1);
		json_kv_u64(w, "tid", x->tid);
		json_kv_u64(w, "pid", x->pid);
		json_kv_string(w, "name", x->name);
		json_kv_bool(w, "is_idle", of->is_idle);
		write_runs(t, x, &v, &m, w);
		json_object_end(w);
	}
	json_array_end(w);
	answer_functions(&m, s->recording->frames, w);
}

/* ---- regions --------------------------------------------------------------------------------- */

struct span {
	double t_s, d_s;
	const char *name;
	size_t thread; /* number; 0: not sampled */
};

static int by_length(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->d_s < y->d_s) - (x->d_s > y->d_s);
}

static int by_time(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->t_s > y->t_s) - (x->t_s < y->t_s);
}

static size_t thread_number(const struct thread_states *t, uint32_t row)
{
	for (size_t i = 0; i < t->n_threads; i++)
		if (t->threads[i].row == row)
			return i + 1;
	return 0;
}

typedef VEC(struct span) span_list;

struct gathering {
	const struct recording *r;
	const struct thread_states *t;
	const struct window *v;
	span_list *to;
};

static void gather_span(void *ctx, const struct region_span *x)
{
	const struct gathering *g = ctx;
	uint64_t begun_ns = g->r->reader->begun_monotonic_ns;
	struct span s = { x->t_ns > begun_ns ? (double)(x->t_ns - begun_ns) / 1e9 : 0,
		(double)x->duration_ns / 1e9, tables_string(g->r->tables, x->name),
		thread_number(g->t, x->thread) };

	if (s.t_s < g->v->to_s && s.t_s + s.d_s > g->v->from_s)
		vec_push(g->to, s);
}

static void write_regions(const struct recording *r, const struct thread_states *t,
	const struct window *v, struct json_writer *w)
{
	span_list spans = VEC_INIT;

	regions_each(r->tables, gather_span, &(struct gathering){ r, t, v, &spans });
	if (spans.n > REGIONS)
		qsort(spans.v, spans.n, sizeof *spans.v, by_length);
	spans.n = spans.n > REGIONS ? REGIONS : spans.n;
	if (spans.n)
		qsort(spans.v, spans.n, sizeof *spans.v, by_time);
	json_key(w, "regions");
	json_array_begin(w);
	vec_each (&spans, s) {
		json_object_begin(w);
		json_kv_string(w, "name", s->name);
		json_kv_u64(w, "thread", s->thread);
		json_kv_double(w, "t", s->t_s);
		json_kv_double(w, "d", s->d_s);
		json_object_end(w);
	}
	json_array_end(w);
	vec_done(&spans);
}

/* ---- the host's series ----------------------------------------------------------------------- */

static double of_cpu(const struct usage_tick *t)
{
	return t->cpu;
}
static double of_rss(const struct usage_tick *t)
{
	return t->rss_bytes;
}
static double of_read(const struct usage_tick *t)
{
	return t->read_bytes_per_s;
}
static double of_write(const struct usage_tick *t)
{
	return t->write_bytes_per_s;
}
static double of_threads(const struct usage_tick *t)
{
	return t->n_threads;
}
static double of_time(const struct usage_tick *t)
{
	return t->t_s;
}

/* Of as many looks as there are pixels; the highest value between two that are shown. */
static void write_counters(const struct usage *u, const struct window *v, struct json_writer *w)
{
	static const struct {
		const char *key;
		double (*of)(const struct usage_tick *);
	} columns[] = { { "t", of_time }, { "cpus", of_cpu }, { "rss_bytes", of_rss },
		{ "read_bytes_per_s", of_read }, { "write_bytes_per_s", of_write },
		{ "threads", of_threads } };
	size_t first = 0, end = u->n_ticks, step;

	while (first < end && u->ticks[first].t_s < v->from_s)
		first++;
	while (end > first && u->ticks[end - 1].t_s > v->to_s)
		end--;
	first -= first > 0;
	end += end < u->n_ticks;
	step = (end - first) / v->pixels + 1;
	json_key(w, "counters");
	json_object_begin(w);
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		json_key(w, columns[c].key);
		json_array_begin(w);
		for (size_t i = first; i < end; i += step) {
			double value = columns[c].of(&u->ticks[i]);

			for (size_t k = 1; k < step && i + k < end; k++)
				value = fmax(value, columns[c].of(&u->ticks[i + k]));
			json_double(w, value);
		}
		json_array_end(w);
	}
	json_object_end(w);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int parse_window(const struct recording *r, const struct thread_states *t,
	const struct params *p, struct window *v, struct err *e)
{
	double wall_s = units_is_known(r->usage->wall_s) ? r->usage->wall_s : 0;

	*v = (struct window){ .end_s = fmax((double)t->end_ns / 1e9, wall_s), .pixels = PIXELS };
	v->to_s = v->end_s;
	if (params_number(p, "from", 0, 1e9, &v->from_s, e) < 0 ||
		params_number(p, "to", 0, 1e9, &v->to_s, e) < 0 ||
		params_u32(p, "px", 10000, &v->pixels, e) < 0)
		return -(int)e->code;
	v->pixels += v->pixels == 0;
	if (v->to_s < v->from_s)
		return err_set(e, ERR_USAGE, "to must be later than from");
	return 0;
}

int answer_timeline(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const struct thread_states *t;
	struct selection *s;
	struct window v;

	if (library_select(l, p, LIBRARY_WHOLE_TIME, &s, e) < 0)
		return -(int)e->code;
	t = recording_strips(s->recording);
	if (parse_window(s->recording, t, p, &v, e) < 0)
		return -(int)e->code;
	json_kv_double(w, "begin", v.begin_s);
	json_kv_double(w, "end", v.end_s);
	json_kv_double(w, "from", v.from_s);
	json_kv_double(w, "to", v.to_s);
	write_threads(s, t, &v, w);
	write_regions(s->recording, t, &v, w);
	json_key(w, "processes");
	processes_json_rows(s->recording->usage, THREADS, w);
	write_counters(s->recording->usage, &v, w);
	return 0;
}
