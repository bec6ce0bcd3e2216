/* SPDX-License-Identifier: MIT
 * See rows.h. */
#include "collect/memory/rows.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "collect/agents/session.h"
#include "collect/rows.h"
#include "collect/samples/code.h"
#include "cpython/layout.h"
#include "store/writer.h"
#include "wire/records.h"
#include "base/banned.h"

enum { THREADS_MOST = 1024 }; /* then all are forgotten: rows are made anew */

void memory_rows_init(struct memory_rows *r, struct writer *w, const struct session_process *p,
	memory_read_fn *read, const struct py_layout *layout, uint64_t period_bytes)
{
	struct buf version = BUF_INIT;

	*r = (struct memory_rows){ .writer = w,
		.process = p,
		.read = read,
		.period_bytes = period_bytes,
		.memory = { .process = p, .read = read } };
	r->mem = memory_codes_mem(&r->memory);
	if (!layout || !layout->major)
		return;
	r->layout = *layout;
	layout_format_version(&r->layout, &version);
	snprintf(r->interpreter, sizeof r->interpreter, "cpython %s", buf_str(&version));
	buf_done(&version);
	r->codes = py_codes_new(&r->layout, &r->mem, r->interpreter);
}

void memory_rows_sources(struct memory_rows *r, struct sources *sources, unsigned process)
{
	if (r->codes)
		py_codes_tell_sources(r->codes, sources, process);
}

static void forget_threads(struct memory_rows *r)
{
	vec_each (&r->all, t)
		free(*t);
	vec_clear(&r->all);
	map_clear(&r->threads);
}

void memory_rows_done(struct memory_rows *r)
{
	forget_threads(r);
	vec_done(&r->all);
	map_done(&r->threads);
	py_codes_free(r->codes);
	memory_codes_done(&r->memory);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct memory_rows *r)
{
	const struct session_process *p = r->process;

	if (r->row && r->segment == writer_segment(r->writer))
		return r->row;
	r->segment = writer_segment(r->writer);
	return r->row = rows_process(r->writer, p->pid, p->start_ns, p->parent_pid);
}

static struct memory_thread *get_thread(struct memory_rows *r, int32_t tid)
{
	struct memory_thread *t;
	uint64_t index;

	if (map_find(&r->threads, (uint32_t)tid, &index))
		t = r->all.v[index];
	else {
		if (r->all.n >= THREADS_MOST)
			forget_threads(r);
		t = xcalloc(1, sizeof *t);
		t->tid = tid;
		map_put(&r->threads, (uint32_t)tid, r->all.n);
		vec_push(&r->all, t);
	}
	if (!t->row || t->segment != writer_segment(r->writer)) {
		t->n_last = 0;
		t->segment = writer_segment(r->writer);
		t->row = writer_row(r->writer, RECORD_thread,
			&(struct rec_thread){ .process = process_row(r), .tid = (uint32_t)tid });
	}
	return t;
}

static uint32_t add_named(struct writer *w, uint32_t parent, const char *name)
{
	uint32_t frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_SYNTH, .name = writer_string(w, name) });

	return writer_row(w, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame });
}

static uint32_t add_frame(struct memory_rows *r, uint32_t parent, struct memory_frame f)
{
	uint32_t code = f.code && f.code <= MEMORY_CODES && r->codes
		? py_codes_row(r->codes, memory_codes_address(f.code - 1), r->writer)
		: 0;
	uint32_t frame;

	if (!code)
		return add_named(r->writer, parent, "[unknown function]");
	frame = writer_row(r->writer, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_PY, .code = code, .position = f.offset });
	return writer_row(
		r->writer, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame });
}

/* Callers beyond what the library keeps are cut off below everything. */
static uint32_t frames_row(
	struct memory_rows *r, struct memory_thread *t, const struct memory_taken *a)
{
	uint32_t n = a->head.n_frames, same = 0;

	if (!n)
		return add_named(r->writer, 0, "[no Python code]");
	if (a->head.is_cut)
		t->n_last = 0;
	while (same < n && same < t->n_last && t->last[same].code == a->frames[n - 1 - same].code &&
		t->last[same].offset == a->frames[n - 1 - same].offset)
		same++;
	for (uint32_t i = same; i < n; i++) {
		uint32_t parent = i      ? t->rows[i - 1]
			: a->head.is_cut ? add_named(r->writer, 0, "[cut]")
					 : 0;

		t->last[i] = a->frames[n - 1 - i];
		t->rows[i] = add_frame(r, parent, t->last[i]);
	}
	t->n_last = a->head.is_cut ? 0 : n;
	return t->rows[n - 1];
}

static uint32_t stack_row(
	struct memory_rows *r, struct memory_thread *t, const struct memory_taken *a)
{
	char name[MEMORY_NAME_BYTES + 16];

	switch ((enum memory_where)a->head.where) {
	case MEMORY_FRAMES:
		return frames_row(r, t, a);
	case MEMORY_STARTING:
		return add_named(r->writer, 0, "[interpreter starting]");
	case MEMORY_NO_PYTHON:
		snprintf(name, sizeof name, "[no Python: %s]", a->name);
		return add_named(r->writer, 0, name);
	case MEMORY_UNREADABLE:
	case MEMORY_WHERES:
		break;
	}
	return add_named(r->writer, 0, "[Python not readable]");
}

/* ---- records --------------------------------------------------------------------------------- */

static void add_alloc(struct memory_rows *r, const struct memory_taken *a)
{
	struct memory_thread *t = get_thread(r, a->head.tid);
	struct rec_memory m = { .t_ns = a->head.t_ns,
		.thread = t->row,
		.event = MEMORY_ALLOC,
		.address = a->head.address,
		.size_bytes = a->head.size_bytes,
		.weight = memory_weight(a->head.size_bytes, r->period_bytes) };

	m.domain = writer_string(r->writer, memory_domain_name((enum memory_domain)a->head.domain));
	m.stack = stack_row(r, t, a);
	writer_add(r->writer, RECORD_memory, &m);
	r->n_samples++;
}

static void add_free(struct memory_rows *r, const struct memory_free *f)
{
	writer_add(r->writer, RECORD_memory,
		&(struct rec_memory){ .t_ns = f->t_ns,
			.thread = get_thread(r, f->tid)->row,
			.event = MEMORY_FREE,
			.address = f->address });
	r->n_releases++;
}

void memory_rows_add(struct memory_rows *r, uint16_t kind, const void *data, size_t n_bytes)
{
	struct memory_taken taken;
	struct memory_free freed;

	if (kind == MEMORY_RECORD_ALLOC && memory_parse_alloc(data, n_bytes, &taken))
		add_alloc(r, &taken);
	else if (kind == MEMORY_RECORD_FREE && memory_parse_free(data, n_bytes, &freed))
		add_free(r, &freed);
	else
		r->n_nonsense++;
}

static bool read_totals(struct memory_rows *r, struct memory_totals *ret)
{
	struct memory_counter counters[64];
	uint64_t magic;

	*ret = (struct memory_totals){ 0 };
	if (!r->read(r->process, 0, &magic, sizeof magic) || magic != MEMORY_AREA_MAGIC)
		return false;
	for (uint32_t i = 0; i < MEMORY_COUNTERS; i += 64) {
		if (!r->read(r->process,
			    offsetof(struct memory_area, counters) + i * sizeof *counters, counters,
			    sizeof counters))
			return false;
		for (int k = 0; k < 64; k++) {
			ret->allocated_bytes += counters[k].allocated_bytes;
			ret->n_allocated += counters[k].n_allocated;
			ret->n_sampled += counters[k].n_sampled;
			ret->n_dropped += counters[k].n_dropped;
			ret->n_frees_dropped += counters[k].n_frees_dropped;
		}
	}
	return true;
}

void memory_rows_total(struct memory_rows *r, uint64_t now_ns, bool is_last)
{
	struct memory_totals now;

	if (!read_totals(r, &now) ||
		(!is_last && r->has_told && memcmp(&now, &r->told, sizeof now) == 0))
		return;
	r->told = now;
	r->has_told = true;
	writer_add(r->writer, RECORD_memory_total,
		&(struct rec_memory_total){ .t_ns = now_ns,
			.process = process_row(r),
			.allocated_bytes = now.allocated_bytes,
			.n_allocated = now.n_allocated,
			.n_sampled = now.n_sampled,
			.n_dropped = now.n_dropped,
			.n_frees_dropped = now.n_frees_dropped,
			.period_bytes = r->period_bytes });
}

static void add_loss(struct memory_rows *r, const char *what, uint64_t count, uint64_t now_ns)
{
	if (count)
		writer_add(r->writer, RECORD_loss,
			&(struct rec_loss){ .t_ns = now_ns,
				.process = process_row(r),
				.what = writer_string(r->writer, what),
				.count = count });
}

void memory_rows_loss(struct memory_rows *r, uint64_t now_ns)
{
	add_loss(r, "memory samples", r->told.n_dropped, now_ns);
	add_loss(r, "memory releases", r->told.n_frees_dropped, now_ns);
	add_loss(r, "memory nonsense", r->n_nonsense, now_ns);
}
