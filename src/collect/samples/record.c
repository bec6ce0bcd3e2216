/* SPDX-License-Identifier: MIT
 * See record.h. */
#include "collect/samples/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "collect/rows.h"
#include "collect/samples/code.h"
#include "collect/samples/probe.h"
#include "collect/samples/process.h"
#include "collect/samples/tasks.h"
#include "cpython/walk.h"
#include "store/writer.h"
#include "wire/py_layout.h"
#include "wire/records.h"
#include "base/banned.h"

enum { PROBE_MS = 20 }; /* between two looks at operands */

static const uint64_t MS = 1000000;

static const char *const bare_names[PY_BARES] = { [PY_BARE_NONE] = "[no Python code]",
	[PY_BARE_STARTING] = "[interpreter starting]",
	[PY_BARE_ENDING] = "[interpreter ending]",
	[PY_BARE_STOPPED] = "[stopped]" };

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct py_record *to, struct py_process *p)
{
	if (p->row && p->segment == writer_segment(to->writer))
		return p->row;
	p->segment = writer_segment(to->writer);
	return p->row = rows_process(to->writer, p->pid, p->start_ns, p->parent);
}

static void thread_rows(struct py_record *to, struct py_process *p, struct sampled *t)
{
	bool is_known = t->segment == writer_segment(to->writer);
	struct rec_thread r = { .tid = t->tid };

	if (is_known && !t->is_renamed)
		return;
	r.process = process_row(to, p);
	r.name = t->name ? writer_name(to->writer, t->name, strlen(t->name)) : 0;
	if (!is_known)
		t->n_last = 0;
	t->segment = writer_segment(to->writer);
	t->row = is_known ? writer_row_again(to->writer, RECORD_thread, &r)
			  : writer_row(to->writer, RECORD_thread, &r);
	t->is_renamed = false;
}

static uint32_t stack_row(struct py_record *to, uint32_t parent, uint32_t code, uint32_t offset)
{
	struct writer *w = to->writer;
	uint64_t mixed = (parent * 0x9e3779b97f4a7c15u ^ code) * 0xff51afd7ed558ccdu ^ offset;
	struct py_known_stack *k =
		&to->known[(mixed * 0xc4ceb9fe1a85ec53u) >> (64 - PY_RECORD_STACKS_LOG2)];
	uint32_t frame;

	if (k->row && k->segment == writer_segment(w) && k->parent == parent && k->code == code &&
		k->offset == offset)
		return k->row;
	frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_PY, .code = code, .position = offset });
	*k = (struct py_known_stack){ .segment = writer_segment(w),
		.parent = parent,
		.code = code,
		.offset = offset,
		.row = writer_row(
			w, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame }) };
	return k->row;
}

/* The stack row of frames[0 … n-1] as callers. Rows of the same beginning as last time are reused. */
static uint32_t caller_stack(
	struct py_record *to, struct py_process *p, struct sampled *t, size_t n)
{
	const struct walk_frame *frames = to->walk.frames;
	struct writer *w = to->writer;
	size_t same = 0;

	if (t->code_changes != py_codes_changes(p->codes)) {
		t->code_changes = py_codes_changes(p->codes);
		t->n_last = 0;
	}
	if (n > t->depth) {
		t->depth = n > 2 * t->depth ? n : 2 * t->depth;
		t->last = xrealloc(t->last, t->depth, sizeof *t->last);
		t->rows = xrealloc(t->rows, t->depth, sizeof *t->rows);
	}
	while (same < n && same < t->n_last && frames[same].code == t->last[same].code &&
		frames[same].offset == t->last[same].offset)
		same++;
	for (size_t i = same; i < n; i++) {
		t->rows[i] = stack_row(to, i ? t->rows[i - 1] : 0,
			py_codes_row(p->codes, frames[i].code, w), frames[i].offset);
		t->last[i] = frames[i];
	}
	t->n_last = n;
	return n ? t->rows[n - 1] : 0;
}

static uint32_t cut_stack(struct py_record *to, uint32_t callers)
{
	struct writer *w = to->writer;
	uint32_t frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_SYNTH, .name = writer_string(w, "[cut]") });

	return writer_row(
		w, RECORD_stack, &(struct rec_stack){ .parent = callers, .frame = frame });
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* Whoever waits for the GIL sleeps on a futex inside its struct. */
static bool is_at_gil(const struct py_process *p, uint64_t futex)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t gil = l->runtime_gil != PY_NONE ? p->target.runtime + l->runtime_gil : p->gil;

	return gil && futex >= gil && futex - gil < l->gil_sizeof;
}

uint16_t py_record_state(const struct py_process *p, const struct sampled *t)
{
	const struct interpreter *i = &p->interpreter_now;
	bool holds_gil = i->locked == 1 && i->holder == t->image.address;
	uint16_t bits = 0;

	if (t->kernel.is_running)
		bits |= SAMPLE_ON_CPU;
	if (holds_gil)
		bits |= SAMPLE_HOLDS_GIL;
	else if (is_at_gil(p, t->kernel.futex))
		bits |= SAMPLE_WANTS_GIL;
	if (holds_gil && py_process_is_collecting(p))
		bits |= SAMPLE_IN_GC;
	return bits;
}

static uint32_t bare_stack(struct py_record *to, enum py_bare what)
{
	struct writer *w = to->writer;
	uint32_t frame;

	if (to->bare_segment != writer_segment(w)) {
		memset(to->bare_rows, 0, sizeof to->bare_rows);
		to->bare_segment = writer_segment(w);
	}
	if (!to->bare_rows[what]) {
		frame = writer_row(w, RECORD_frame,
			&(struct rec_frame){
				.tag = FRAME_SYNTH, .name = writer_string(w, bare_names[what]) });
		to->bare_rows[what] =
			writer_row(w, RECORD_stack, &(struct rec_stack){ .frame = frame });
	}
	return to->bare_rows[what];
}

/* It is here for the first time. Its row is known. */
static void mark_came(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	struct rec_thread_mark mark = { .t_ns = now_ns,
		.thread = t->row,
		.event = MARK_CAME,
		.bound_ns = t->bound_ns,
		.is_exact = t->is_bound_exact };

	if (t->is_marked)
		return;
	t->is_marked = true;
	p->n_seen += t->is_counted;
	writer_add(to->writer, RECORD_thread_mark, &mark);
}

static void add_sample(
	struct py_record *to, struct py_process *p, struct sampled *t, const struct rec_sample *r)
{
	mark_came(to, p, t, r->t_ns);
	writer_add(to->writer, RECORD_sample, r);
	t->seen_ns = r->t_ns > t->seen_ns ? r->t_ns : t->seen_ns;
	to->n_samples++;
}

static void record_stack(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	const struct walk *walk = &to->walk;
	struct rec_sample r = { .t_ns = now_ns, .state = py_record_state(p, t) };

	thread_rows(to, p, t);
	r.thread = t->row;
	if (walk->is_shortened) {
		r.stack = cut_stack(to, caller_stack(to, p, t, walk->n));
		r.state |= SAMPLE_SHORTENED;
		to->n_shortened++;
	} else {
		const struct walk_frame *leaf = &walk->frames[walk->n - 1];

		r.stack = caller_stack(to, p, t, walk->n - 1);
		r.leaf_code = py_codes_row(p->codes, leaf->code, to->writer);
		r.leaf_offset = leaf->offset;
		py_codes_leaf(p->codes, leaf->code, to->writer, process_row(to, p));
	}
	add_sample(to, p, t, &r);
	if (t->kernel.is_running && t->recorded.t_ns)
		to->on_cpu_ns += now_ns - t->recorded.t_ns;
	t->recorded = r;
	t->slept_ns = 0;
	p->has_run = true;
}

void py_record_bare(struct py_record *to, struct py_process *p, struct sampled *t,
	enum py_bare what, uint16_t state, uint64_t t_ns)
{
	struct rec_sample r = { .t_ns = t_ns, .stack = bare_stack(to, what), .state = state };

	thread_rows(to, p, t);
	r.thread = t->row;
	add_sample(to, p, t, &r);
	t->recorded = r;
	t->slept_ns = 0;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Which asyncio task the thread runs, when that is another one than before. */
static void record_task(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	const char *name = py_tasks_find(p->tasks, &to->walk, now_ns);
	uint32_t segment = writer_segment(to->writer);

	if (is_same(name, t->task) && (!name || t->task_segment == segment))
		return;
	free(t->task);
	t->task = name ? xstrdup(name) : NULL;
	t->task_segment = segment;
	writer_add(to->writer, RECORD_task,
		&(struct rec_task){ .t_ns = now_ns,
			.thread = t->row,
			.name = name ? writer_name(to->writer, name, strlen(name)) : 0 });
}

/* What the instruction the thread stands on works with. */
static void record_probe(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	struct py_probe probe;

	if (now_ns < to->probe_ns || to->walk.is_shortened)
		return;
	switch (py_probe_take(p->probes, p->codes, &to->walk, now_ns, &probe)) {
	case PY_PROBE_NONE:
		return;
	case PY_PROBE_DROPPED:
		to->n_probes_dropped++;
		break;
	case PY_PROBE_TAKEN:
		to->n_probes++;
		for (size_t i = 0; i < probe.n; i++)
			writer_add(to->writer, RECORD_probe,
				&(struct rec_probe){ .t_ns = now_ns,
					.thread = t->row,
					.code = t->recorded.leaf_code,
					.offset = t->recorded.leaf_offset,
					.operand = probe.v[i].number,
					.type = writer_string(to->writer, probe.v[i].what.type),
					.name = writer_string(to->writer, probe.v[i].what.name),
					.size = probe.v[i].what.size });
		break;
	}
	to->probe_ns = now_ns + PROBE_MS * MS;
}

void py_record_sample(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	record_stack(to, p, t, now_ns);
	record_task(to, p, t, now_ns);
	record_probe(to, p, t, now_ns);
}

void py_record_again(struct py_record *to, struct sampled *t, uint64_t t_ns)
{
	t->recorded.t_ns = t_ns;
	t->slept_ns = 0;
	t->seen_ns = t_ns > t->seen_ns ? t_ns : t->seen_ns;
	writer_add(to->writer, RECORD_sample, &t->recorded);
	to->n_samples++;
}

void py_record_gone(struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns,
	bool is_exact)
{
	if (!t->is_marked)
		return;
	thread_rows(to, p, t); /* in this segment, too */
	writer_add(to->writer, RECORD_thread_mark,
		&(struct rec_thread_mark){ .t_ns = now_ns,
			.thread = t->row,
			.event = MARK_GONE,
			.bound_ns = is_exact ? now_ns : t->seen_ns,
			.is_exact = is_exact });
	t->is_marked = false;
}

void py_record_account(struct py_record *to, struct py_process *p, bool hears, uint64_t now_ns)
{
	writer_add(to->writer, RECORD_account,
		&(struct rec_account){ .t_ns = now_ns,
			.process = process_row(to, p),
			.cpu_ns = p->cpu_ns,
			.n_made = py_process_n_made(p),
			.n_seen = p->n_seen,
			.n_forked = hears ? p->n_forked : RECORD_UNKNOWN,
			.n_beyond = p->n_beyond });
}
