/* SPDX-License-Identifier: MIT
 * See live.h. Time is cut into slices of LIVE_SLICE_MS; each holds what its samples added to places
 * (a thread, a stack, a leaf), so that any window, thread and state can be asked for without reading
 * records again. How records come in is live_records.c. */
#include "analyze/samples/live.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/live_state.h"
#include "analyze/samples/weights.h"
#include "base/err.h"
#include "base/units.h"
#include "store/tables.h"
#include "base/banned.h"

struct live *live_new(struct tables *t)
{
	struct live *l = xcalloc(1, sizeof *l);

	l->tables = t;
	l->weights = weights_new(t);
	l->frames = frames_new(&l->arena, t);
	l->view.command = l->view.interpreter = "";
	l->view.rss_bytes = l->view.n_threads = l->view.n_processes = UNITS_UNKNOWN;
	l->view.status = -1;
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < LIVE_HISTORY; i++) {
		vec_done(&l->slices[i].places);
		vec_done(&l->slices[i].threads);
	}
	intern_done(&l->place_keys);
	intern_done(&l->function_keys);
	intern_done(&l->line_keys);
	vec_done(&l->places);
	vec_done(&l->touched);
	vec_done(&l->threads);
	vec_done(&l->by_thread_row);
	vec_done(&l->processes);
	vec_done(&l->stacks);
	vec_done(&l->functions);
	vec_done(&l->function_seen);
	vec_done(&l->lines);
	vec_done(&l->line_seen);
	map_done(&l->thread_index);
	weights_free(l->weights);
	arena_done(&l->arena);
	arena_done(&l->built);
	free(l);
}

/* ---- frames of places ------------------------------------------------------------------------ */

static uint32_t function_of(struct live *l, const struct stack_frame *f)
{
	struct {
		const char *name, *file; /* one pointer per distinct text */
		uint64_t first_line;
	} key = { f->name, f->file, f->first_line };
	bool added;
	uint32_t index = intern_add(&l->function_keys, &key, sizeof key, &added);

	if (added) {
		vec_push(&l->functions,
			(struct live_row){ .name = f->name,
				.file = f->file,
				.line = f->is_synthetic ? -1 : (int)f->first_line,
				.is_synthetic = f->is_synthetic });
		vec_push(&l->function_seen, 0);
	}
	return index;
}

static uint32_t line_of(struct live *l, const struct stack_frame *f)
{
	struct {
		const char *name, *file;
		int64_t line;
	} key = { f->name, f->file, f->line };
	bool added;
	uint32_t index = intern_add(&l->line_keys, &key, sizeof key, &added);

	if (added) {
		vec_push(&l->lines,
			(struct live_row){ .name = f->name,
				.file = f->file,
				.line = f->line,
				.is_synthetic = f->is_synthetic });
		vec_push(&l->line_seen, 0);
	}
	return index;
}

static struct live_frame frame_rows(struct live *l, const struct stack_frame *f)
{
	return (struct live_frame){ .function = function_of(l, f), .line = line_of(l, f) };
}

/* A row of the stack table: its frame's rows, found once. NULL for numbers that do not exist. */
static const struct live_stack *stack_at(struct live *l, uint32_t row)
{
	struct live_stack *s;

	if (row == 0 || row > tables_count(l->tables, RECORD_stack))
		return NULL;
	while (l->stacks.n < row)
		vec_push(&l->stacks, (struct live_stack){ 0 });
	s = &l->stacks.v[row - 1];
	if (!s->is_known) {
		const struct rec_stack *r = tables_row(l->tables, RECORD_stack, row);
		struct stack_frame f = frames_get(l->frames, r->frame);

		s->is_known = true;
		s->parent = r->parent < row ? r->parent : 0; /* parents come first: no cycles */
		s->frame = frame_rows(l, &f);
	}
	return s;
}

static void charge(
	struct live *l, struct live_frame f, bool is_leaf, double seconds, enum live_when when)
{
	struct live_row *function = &l->functions.v[f.function], *line = &l->lines.v[f.line];
	struct live_cost *of_function = when == LIVE_NOW ? &function->now : &function->since,
			 *of_line = when == LIVE_NOW ? &line->now : &line->since;

	if (is_leaf) {
		of_function->self_s += seconds;
		of_line->self_s += seconds;
	}
	if (l->function_seen.v[f.function] != l->serial)
		of_function->total_s += seconds;
	if (l->line_seen.v[f.line] != l->serial)
		of_line->total_s += seconds;
	l->function_seen.v[f.function] = l->line_seen.v[f.line] = l->serial;
}

static void charge_place(struct live *l, struct live_place *p, double seconds, enum live_when when)
{
	uint32_t at = p->stack;
	bool is_leaf = true;

	l->serial++;
	if (frames_is_unseen(at) && !p->has_leaf) {
		struct stack_frame f = frames_unseen(l->frames, at);

		p->leaf = frame_rows(l, &f);
		p->has_leaf = true;
	}
	if (p->leaf_code && !p->has_leaf) {
		struct stack_frame f = frames_of_code(l->frames, p->leaf_code, p->leaf_offset);

		p->leaf = frame_rows(l, &f);
		p->has_leaf = true;
	}
	if (p->has_leaf) {
		charge(l, p->leaf, true, seconds, when);
		is_leaf = false;
	}
	for (size_t n = 0; at && n < STACKS_DEPTH; n++) {
		const struct live_stack *s = stack_at(l, at);

		if (!s)
			break;
		charge(l, s->frame, is_leaf, seconds, when);
		is_leaf = false;
		at = s->parent;
	}
}

/* ---- what was selected ----------------------------------------------------------------------- */

static bool is_selected(const struct live *l, const struct live_place *p)
{
	const struct live_thread *t = &l->threads.v[p->thread].shown;

	return !l->select.tid || (t->tid == l->select.tid && t->pid == l->select.pid);
}

static void clear_costs(struct live *l, enum live_when when)
{
	vec_each (&l->functions, f)
		*(when == LIVE_NOW ? &f->now : &f->since) = (struct live_cost){ 0 };
	vec_each (&l->lines, f)
		*(when == LIVE_NOW ? &f->now : &f->since) = (struct live_cost){ 0 };
}

/* Another thread or state: all places are asked. Else only those with something new. */
static void build_since(struct live *l, bool is_same)
{
	if (!is_same) {
		clear_costs(l, LIVE_SINCE);
		l->view.selected_since = 0;
	}
	for (size_t i = 0; i < (is_same ? l->touched.n : l->places.n); i++) {
		struct live_place *p = &l->places.v[is_same ? l->touched.v[i] : i];
		double s = (is_same ? p->fresh : p->since)[l->select.state];

		if (s <= 0 || !is_selected(l, p))
			continue;
		charge_place(l, p, s, LIVE_SINCE);
		l->view.selected_since += s;
	}
	vec_each (&l->touched, i) {
		memset(l->places.v[*i].fresh, 0, sizeof l->places.v[*i].fresh);
		l->places.v[*i].is_touched = false;
	}
	vec_clear(&l->touched);
}

static void build_now(struct live *l, uint64_t first_slice)
{
	clear_costs(l, LIVE_NOW);
	l->view.selected_now = l->view.gil = 0;
	for (uint64_t k = first_slice; k <= l->last_slice; k++) {
		struct live_slice *slice = live_slice_find(l, k);

		if (!slice)
			continue;
		vec_each (&slice->places, d) {
			struct live_place *p = &l->places.v[d->place];
			double s = d->s[l->select.state];

			l->threads.v[p->thread].gil_s += d->s[STACKS_GIL];
			l->threads.v[p->thread].wall_s += d->s[STACKS_WALL];
			l->view.gil += d->s[STACKS_GIL];
			if (s <= 0 || !is_selected(l, p))
				continue;
			charge_place(l, p, s, LIVE_NOW);
			l->view.selected_now += s;
		}
	}
}

/* ---- threads, totals, graphs ----------------------------------------------------------------- */

static void build_threads(struct live *l, uint64_t first_slice)
{
	double window = l->view.window_s;

	for (uint64_t k = first_slice; k <= l->last_slice; k++) {
		struct live_slice *slice = live_slice_find(l, k);

		if (slice)
			vec_each (&slice->threads, d)
				l->threads.v[d->thread].cpu_s += (double)d->cpu_ns / 1e9;
	}
	l->shown = arena_new_n(&l->built, struct live_thread, l->threads.n + 1);
	for (size_t i = 0; i < l->threads.n; i++) {
		struct live_thread_state *t = &l->threads.v[i];

		t->shown.is_seen = t->wall_s > 0 || t->cpu_s > 0;
		t->shown.cpu = !t->has_usage ? UNITS_UNKNOWN : window > 0 ? t->cpu_s / window : 0;
		t->shown.gil = window > 0 ? t->gil_s / window : 0;
		t->shown.on_cpu = t->bits & SAMPLE_ON_CPU;
		t->shown.holds_gil = t->bits & SAMPLE_HOLDS_GIL;
		t->shown.wants_gil = t->bits & SAMPLE_WANTS_GIL;
		t->shown.in_gc = t->bits & SAMPLE_IN_GC;
		t->cpu_s = t->gil_s = t->wall_s = 0;
		if (t->place != LIVE_NO_PLACE) {
			const struct live_place *p = &l->places.v[t->place];
			const struct rec_stack *s = tables_row(l->tables, RECORD_stack, p->stack);

			t->shown.has_stack = true;
			t->shown.at = p->leaf_code
				? frames_of_code(l->frames, p->leaf_code, p->leaf_offset)
				: frames_get(l->frames, s ? s->frame : 0);
		}
		l->shown[i] = t->shown;
	}
	l->view.threads = l->shown;
	l->view.n_live_threads = l->threads.n;
}

static void build_history(struct live *l)
{
	uint64_t first = l->last_slice >= LIVE_HISTORY ? l->last_slice - LIVE_HISTORY + 1 : 0;
	double *cpu = arena_new_n(&l->built, double, LIVE_HISTORY),
	       *rss = arena_new_n(&l->built, double, LIVE_HISTORY), rss_before = 0;
	size_t n = 0;

	for (uint64_t k = first; k <= l->last_slice && l->first_ns; k++) {
		struct live_slice *slice = live_slice_find(l, k);

		if (slice && slice->rss_bytes > 0)
			rss_before = slice->rss_bytes;
		if (k == l->last_slice && n) /* not over yet: its rate would be too low */
			break;
		cpu[n] = slice ? slice->cpu_s / (LIVE_SLICE_MS / 1e3) : 0;
		rss[n++] = rss_before;
	}
	l->view.cpu_history = cpu;
	l->view.rss_history = rss;
	l->view.n_history = n;
}

/* The window in whole slices, the last one as far as it goes. */
static uint64_t place_window(struct live *l)
{
	uint64_t n = (uint64_t)(l->select.window_s * 1e3 / LIVE_SLICE_MS + 0.5), first, from_ns;
	double cpu_s = 0, n_looks = 0;

	n = n < 1 ? 1 : n >= LIVE_HISTORY ? LIVE_HISTORY - 1 : n;
	first = l->last_slice > n ? l->last_slice - n : 0;
	from_ns = l->origin_ns + first * LIVE_SLICE_NS;
	if (from_ns < l->first_ns)
		from_ns = l->first_ns;
	l->view.window_s = l->last_ns > from_ns ? (double)(l->last_ns - from_ns) / 1e9 : 0;
	for (uint64_t k = first; k <= l->last_slice; k++) {
		struct live_slice *slice = live_slice_find(l, k);

		cpu_s += slice ? slice->cpu_s : 0;
		n_looks += slice ? (double)slice->n_looks : 0;
	}
	l->view.cpu = l->view.window_s > 0 ? cpu_s / l->view.window_s : 0;
	l->view.rate_hz = l->view.window_s > 0 ? n_looks / l->view.window_s : 0;
	return first;
}

const struct live_view *live_build(struct live *l, const struct live_select *s)
{
	bool is_same = !l->was_reset && l->select.state == s->state && l->select.pid == s->pid &&
		l->select.tid == s->tid;
	uint64_t first_slice;

	arena_done(&l->built);
	l->select = *s;
	l->was_reset = false;
	first_slice = place_window(l);
	build_since(l, is_same);
	build_now(l, first_slice);
	if (l->view.window_s > 0)
		l->view.gil /= l->view.window_s;
	build_threads(l, first_slice);
	build_history(l);
	l->view.elapsed_s = l->last_ns ? (double)(l->last_ns - l->first_ns) / 1e9 : 0;
	l->view.since_s = l->last_ns ? (double)(l->last_ns - l->since_ns) / 1e9 : 0;
	l->view.functions = l->functions.v;
	l->view.n_functions = l->functions.n;
	l->view.lines = l->lines.v;
	l->view.n_lines = l->lines.n;
	return &l->view;
}

void live_reset(struct live *l)
{
	vec_each (&l->places, p) {
		memset(p->since, 0, sizeof p->since);
		memset(p->fresh, 0, sizeof p->fresh);
	}
	l->since_ns = l->last_ns;
	l->was_reset = true;
}
