/* SPDX-License-Identifier: MIT
 * See asides.h. */
#include "analyze/torch/asides.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/samples/imports.h"
#include "analyze/samples/thread_states.h"
#include "analyze/torch/events.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "store/reader.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Whether a function saves a model: file as from a folder that modules are looked up in. */
static bool op_asides_is_saving(const char *file, const char *name)
{
	static const struct {
		const char *file, *name; /* both begin so */
	} rows[] = { { "torch/serialization.py", "save" }, { "torch/serialization.py", "_save" },
		{ "torch/distributed/checkpoint/", "save" },
		{ "torch/distributed/checkpoint/", "async_save" },
		{ "torch/jit/_serialization.py", "save" }, { "safetensors/torch.py", "save_" },
		{ "safetensors/numpy.py", "save_" } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (begins(file, rows[i].file) && begins(name, rows[i].name))
			return true;
	return false;
}

/* ---- samples --------------------------------------------------------------------------------- */

enum doing { NOTHING, IMPORTS, SAVES };

struct stack_state {
	struct import_step import;
	bool is_saving;
};

struct reading {
	struct tables *t;
	struct op_events *to;
	struct arena arena;
	struct frames *frames;
	struct stack_state *stacks; /* by row */
	size_t n_stacks;
};

static void take(struct stack_state *x, const struct stack_frame *f)
{
	imports_step(IMPORTS_FOLDED, &x->import, f);
	x->is_saving |= f->is_library && op_asides_is_saving(frames_module_path(f->file), f->name);
}

/* A stack's callers stand in earlier rows. */
static void take_stacks(struct reading *r)
{
	r->n_stacks = tables_count(r->t, RECORD_stack);
	r->stacks = xcalloc(r->n_stacks + 1, sizeof *r->stacks);
	for (uint32_t i = 1; i <= r->n_stacks; i++) {
		const struct rec_stack *s = tables_row(r->t, RECORD_stack, i);
		struct stack_frame f;

		if (!s || s->parent >= i)
			continue;
		r->stacks[i] = r->stacks[s->parent];
		f = frames_get(r->frames, s->frame);
		take(&r->stacks[i], &f);
	}
}

static enum doing doing_of(const struct reading *r, const struct state_span *s)
{
	struct stack_state x = { 0 };

	if (s->state == STRIP_NONE || s->state == STRIP_LATE || s->stack > r->n_stacks)
		return NOTHING;
	x = r->stacks[s->stack];
	if (s->leaf_code) {
		struct stack_frame f = frames_of_code(r->frames, s->leaf_code, s->leaf_offset);

		take(&x, &f);
	}
	return x.is_saving ? SAVES : x.import.is_import ? IMPORTS : NOTHING;
}

static void add_aside(struct reading *r, struct op_aside x)
{
	struct op_aside *last = r->to->asides.n ? &r->to->asides.v[r->to->asides.n - 1] : NULL;

	if (last && last->pid == x.pid && last->is_saving == x.is_saving &&
		last->end_ns == x.start_ns)
		last->end_ns = x.end_ns;
	else if (x.end_ns > x.start_ns)
		vec_push(&r->to->asides, x);
}

static bool is_late(const struct state_span *s)
{
	return s->state == STRIP_LATE;
}

/* Where nobody looked it went on with what it did before, if it did the same afterwards. */
static void take_thread(struct reading *r, const struct state_thread *x, int64_t zero_ns)
{
	enum doing before = NOTHING;

	for (size_t i = 0, k; i < x->n; i = k) {
		enum doing doing = doing_of(r, &x->v[i]);
		uint64_t end;

		for (k = i + 1; k < x->n && is_late(&x->v[i]) && is_late(&x->v[k]);)
			k++;
		if (is_late(&x->v[i]) && k < x->n && doing_of(r, &x->v[k]) == before)
			doing = before;
		end = k < x->n ? x->v[k].t_ns : x->end_ns;
		if (doing != NOTHING)
			add_aside(r,
				(struct op_aside){ zero_ns + (int64_t)x->v[i].t_ns,
					zero_ns + (int64_t)end, x->pid, doing == SAVES });
		before = doing;
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

static int rank_of(struct tables *t, uint32_t thread)
{
	const struct rec_thread *row = tables_row(t, RECORD_thread, thread);
	const struct rec_process *process = row ? tables_process(t, row->process) : NULL;
	uint64_t rank;

	return process && text_parse_u64(tables_string(t, process->rank), &rank) &&
			rank <= INT16_MAX
		? (int)rank
		: -1;
}

static void take_process(struct reading *r, const struct state_thread *x, int64_t zero_ns)
{
	if (x->n)
		vec_push(&r->to->processes,
			(struct op_process){ .pid = x->pid,
				.rank = rank_of(r->t, x->row),
				.start_ns = zero_ns + (int64_t)x->v[0].t_ns,
				.end_ns = zero_ns + (int64_t)x->end_ns });
}

static int by_time(const void *a, const void *b)
{
	const struct op_told_step *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void take_told(struct tables *t, struct op_events *to)
{
	struct record_iter it = record_iter(t, RECORD_region);

	for (const struct rec_region *g; (g = record_next(&it));) {
		const struct rec_thread *row = tables_row(t, RECORD_thread, g->thread);
		const struct rec_process *process = row ? tables_process(t, row->process) : NULL;

		if (!process || g->t_ns > INT64_MAX / 4 || g->duration_ns > INT64_MAX / 4 ||
			strcmp(tables_string(t, g->category), "training") != 0)
			continue;
		vec_push(&to->told,
			(struct op_told_step){ (int64_t)g->t_ns,
				(int64_t)(g->t_ns + g->duration_ns), process->pid });
	}
	record_iter_done(&it);
	if (to->told.n)
		qsort(to->told.v, to->told.n, sizeof *to->told.v, by_time);
}

void op_asides_read(struct tables *t, struct op_events *to)
{
	int64_t zero_ns = (int64_t)tables_reader(t)->begun_monotonic_ns;
	struct reading r = { .t = t, .to = to, .arena = ARENA_INIT };
	const struct thread_states *strips;

	take_told(t, to);
	r.frames = frames_new(&r.arena, t);
	strips = thread_states_build(&r.arena, t, r.frames);
	if (strips->has_states && strips->n_threads) {
		take_stacks(&r);
		for (size_t i = 0; i < strips->n_threads; i++)
			if (strips->threads[i].tid == strips->threads[i].pid) {
				take_thread(&r, &strips->threads[i], zero_ns);
				take_process(&r, &strips->threads[i], zero_ns);
			}
	}
	free(r.stacks);
	arena_done(&r.arena);
}

/* ---- Python functions ------------------------------------------------------------------------ */

/* "torch/serialization.py(944): save" */
static bool is_saving(const char *name)
{
	const char *colon = strstr(name, "): ");

	return colon && op_asides_is_saving(name, colon + 3);
}

static int aside_by_time(const void *a, const void *b)
{
	const struct op_aside *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* One that calls another is one with it. */
static void join(struct op_events *x)
{
	size_t n = 0;

	if (x->asides.n)
		qsort(x->asides.v, x->asides.n, sizeof *x->asides.v, aside_by_time);
	vec_each (&x->asides, a) {
		struct op_aside *last = n ? &x->asides.v[n - 1] : NULL;

		if (!last || last->pid != a->pid || last->end_ns < a->start_ns)
			x->asides.v[n++] = *a;
		else if (a->end_ns > last->end_ns)
			last->end_ns = a->end_ns;
	}
	x->asides.n = n;
}

void op_asides_of_python(struct op_events *x)
{
	size_t n = x->names.items.n;
	bool *is;

	if (!x->has_python || x->asides.n || x->processes.n)
		return;
	is = xcalloc(n + 1, sizeof *is);
	for (size_t i = 0; i < n; i++)
		is[i] = is_saving(op_events_name(x, (uint32_t)i));
	vec_each (&x->v, e) {
		uint64_t pid;

		if (e->category == OP_PYTHON && is[e->name] && e->duration_ns &&
			text_parse_u64(intern_get(&x->tracks, e->track)->p, &pid))
			vec_push(&x->asides,
				(struct op_aside){ e->start_ns, e->start_ns + e->duration_ns,
					(uint32_t)pid, true });
	}
	join(x);
	free(is);
}
