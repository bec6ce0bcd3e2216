/* SPDX-License-Identifier: MIT
 * See operators.h. */
#include "collect/torch/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "collect/agents/tick_map.h"
#include "collect/sources.h"
#include "store/writer.h"
#include "wire/ops.h"
#include "wire/records.h"
#include "base/banned.h"

enum {
	COST_MOST_NS = 1000000, /* of one operator; more is not believed */
	MODULES_DEPTH = 64,     /* modules in each other */
};

/* ---- what records tell ----------------------------------------------------------------------- */

static bool has_room(struct trace_ops *o, size_t n)
{
	if (o->n_bytes + n > TRACE_OPS_BYTES_MOST)
		return false;
	o->n_bytes += n;
	return true;
}

static char *copy(const void *p, size_t n)
{
	char *text = xmalloc(n + 1);

	memcpy(text, p, n);
	text[n] = '\0';
	return text;
}

static bool add_name(struct trace_ops *o, const struct op_name *r, size_t n)
{
	if (!r->number || r->number > OP_NAMES_MOST || n > OP_NAME_BYTES || !has_room(o, n + 1))
		return false;
	while (o->names.n <= r->number)
		vec_push(&o->names, (struct trace_op_name){ 0 });
	if (o->names.v[r->number].text)
		return false;
	o->names.v[r->number].text = copy(r + 1, n);
	return true;
}

static bool add_code(struct trace_ops *o, const struct op_code *r, size_t n)
{
	struct trace_op_code *to;

	if (!r->number || r->number > OP_PLACES_MOST || r->n_file > n || r->n_qualname > n ||
		r->n_linetable > n || (uint64_t)r->n_file + r->n_qualname + r->n_linetable != n ||
		!has_room(o, n + 1))
		return false;
	while (o->codes.n <= r->number)
		vec_push(&o->codes, (struct trace_op_code){ 0 });
	to = &o->codes.v[r->number];
	if (to->texts)
		return false;
	to->head = *r;
	to->texts = copy(r + 1, n);
	return true;
}

static bool add_place(struct trace_ops *o, const struct op_place *r)
{
	if (!r->number || r->number > OP_PLACES_MOST || !r->code)
		return false;
	while (o->places.n <= r->number)
		vec_push(&o->places, (struct op_place){ 0 });
	o->places.v[r->number] = *r;
	return true;
}

static bool add_module(struct trace_ops *o, const struct op_module *r, size_t n)
{
	const char *texts = (const char *)(r + 1);
	struct trace_op_module *to;

	if (!r->number || r->number > OP_MODULES_MOST || r->parent > OP_MODULES_MOST ||
		r->n_class > n || r->n_class + (uint64_t)r->n_path != n || !has_room(o, n + 2))
		return false;
	while (o->modules.n <= r->number)
		vec_push(&o->modules, (struct trace_op_module){ 0 });
	to = &o->modules.v[r->number];
	free(to->class);
	free(to->path);
	*to = (struct trace_op_module){ .class = copy(texts, r->n_class),
		.path = copy(texts + r->n_class, r->n_path),
		.parent = r->parent };
	return true;
}

static bool add_torch(struct trace_ops *o, const struct op_torch *r, size_t n)
{
	bool is_on = r->state == OP_TORCH_ON;
	char *to = is_on ? o->version : o->cannot;
	size_t room = is_on ? sizeof o->version : sizeof o->cannot;

	n = n < room ? n : room - 1;
	memcpy(to, r + 1, n);
	to[n] = '\0';
	o->n_threads_unseen = r->n_threads_unseen;
	return is_on || r->state == OP_TORCH_CANNOT;
}

static void take_block(struct trace_ops *o, const struct op_block *b)
{
	uint64_t lost = 0;

	map_find(&o->lost, b->number, &lost);
	if (b->n_lost > lost)
		o->n_lost += b->n_lost - lost;
	map_put(&o->lost, b->number, b->n_lost);
	map_put(&o->sent, b->number, b->sequence);
	buf_add(&o->blocks, b, sizeof *b + b->n * sizeof(struct op_row));
}

static bool add_block(struct trace_ops *o, const struct op_block *b, size_t n_bytes)
{
	if (b->n > OP_BLOCK_ROWS || n_bytes != sizeof *b + b->n * sizeof(struct op_row))
		return false;
	take_block(o, b);
	return true;
}

static bool add_gap(struct trace_ops *o, const struct op_gap *r)
{
	o->n_gaps++;
	o->gap_ticks += r->ticks;
	return true;
}

static bool add_cost(struct trace_ops *o, const struct op_cost *r)
{
	if (r->ns > COST_MOST_NS)
		return false;
	o->cost_ns = r->ns;
	return true;
}

/* It is written again as it is, so it has to be what it says it is. */
static bool add_compiled(struct trace_ops *o, const void *text, size_t n)
{
	struct json_reader r;
	struct err e = ERR_INIT;
	enum json_token end;
	bool is_json;

	json_reader_init_memory(&r, text, n);
	is_json = n <= OP_COMPILED_BYTES && json_skip(&r, &e) == 0 &&
		json_next(&r, &end, &e) == 0 && end == JSON_END;
	json_reader_done(&r);
	buf_clear(&o->compiled);
	if (is_json)
		buf_add(&o->compiled, text, n);
	return is_json;
}

bool trace_ops_is_own(uint16_t kind)
{
	return kind >= TRACE_RECORD_OPS && kind <= TRACE_RECORD_OP_MODULE;
}

bool trace_ops_add(struct trace_ops *o, uint16_t kind, const void *data, size_t n)
{
	switch (kind) {
	case TRACE_RECORD_OPS:
		return n >= sizeof(struct op_block) && add_block(o, data, n);
	case TRACE_RECORD_OP_NAME:
		return n >= sizeof(struct op_name) && add_name(o, data, n - sizeof(struct op_name));
	case TRACE_RECORD_OP_CODE:
		return n >= sizeof(struct op_code) && add_code(o, data, n - sizeof(struct op_code));
	case TRACE_RECORD_OP_PLACE:
		return n == sizeof(struct op_place) && add_place(o, data);
	case TRACE_RECORD_OP_GAP:
		return n == sizeof(struct op_gap) && add_gap(o, data);
	case TRACE_RECORD_TORCH:
		return n >= sizeof(struct op_torch) &&
			add_torch(o, data, n - sizeof(struct op_torch));
	case TRACE_RECORD_OP_COST:
		return n == sizeof(struct op_cost) && add_cost(o, data);
	case TRACE_RECORD_OP_MODULE:
		return n >= sizeof(struct op_module) &&
			add_module(o, data, n - sizeof(struct op_module));
	case TRACE_RECORD_OP_COMPILED:
		return add_compiled(o, data, n);
	default:
		return false;
	}
}

void trace_ops_rest(struct trace_ops *o, const struct buf *area)
{
	for (size_t at = 0; at + TRACE_GRANULE_BYTES <= area->n; at += TRACE_GRANULE_BYTES) {
		const struct trace_granule *g =
			(const struct trace_granule *)(const void *)(area->data + at);
		const struct op_block *b = (const struct op_block *)(const void *)(g + 1);
		uint64_t sent = 0;

		if (g->magic == TRACE_GRANULE_MAGIC && g->kind == TRACE_GRANULE_OPS &&
			b->n <= OP_BLOCK_ROWS &&
			(!map_find(&o->sent, b->number, &sent) || b->sequence > sent))
			take_block(o, b);
	}
}

/* ---- records of the recording ---------------------------------------------------------------- */

static uint32_t name_row(struct trace_ops *o, uint32_t number, struct writer *w)
{
	struct trace_op_name *name = number < o->names.n ? &o->names.v[number] : NULL;

	if (!name || !name->text)
		return writer_string(w, "(without a name)");
	if (!name->row || name->segment != writer_segment(w)) {
		name->row = writer_name(w, name->text, strlen(name->text));
		name->segment = writer_segment(w);
	}
	return name->row;
}

static uint32_t code_row_new(const struct trace_op_code *c, const struct trace_ops_target *to)
{
	struct writer *w = to->writer;
	const char *qualname = c->texts + c->head.n_file, *lines = qualname + c->head.n_qualname;

	return writer_row(w, RECORD_code,
		&(struct rec_code){ .file = writer_path(w, c->texts, c->head.n_file),
			.qualname = writer_name(w, qualname, c->head.n_qualname),
			.first_line = c->head.first_line,
			.n_code_bytes = c->head.n_code,
			.linetable = { lines, c->head.n_linetable },
			.interpreter = writer_string(w, to->interpreter) });
}

static void tell_source(const struct trace_op_code *c, const struct trace_ops_target *to)
{
	char *file = copy(c->texts, c->head.n_file);

	if (to->sources)
		sources_file(to->sources, to->source_process, file);
	free(file);
}

/* 0: not known. */
static uint32_t code_row(struct trace_ops *o, uint32_t number, const struct trace_ops_target *to)
{
	struct trace_op_code *c = number < o->codes.n ? &o->codes.v[number] : NULL;

	if (!c || !c->texts)
		return 0;
	if (!c->row)
		tell_source(c, to);
	if (!c->row || c->segment != writer_segment(to->writer)) {
		c->row = code_row_new(c, to);
		c->segment = writer_segment(to->writer);
	}
	return c->row;
}

/* Once in a segment, and again when more is told of it. */
static void write_module(struct trace_ops *o, uint32_t number, const struct trace_ops_target *to)
{
	struct writer *w = to->writer;
	struct trace_op_module *m = number < o->modules.n ? &o->modules.v[number] : NULL;

	for (unsigned i = 0;
		m && m->class && m->segment != writer_segment(w) + 1 && i < MODULES_DEPTH; i++) {
		m->segment = writer_segment(w) + 1;
		writer_add(w, RECORD_op_module,
			&(struct rec_op_module){ .process = to->process,
				.number = number,
				.parent = m->parent,
				.class = writer_name(w, m->class, strlen(m->class)),
				.path = writer_name(w, m->path, strlen(m->path)) });
		number = m->parent;
		m = number && number < o->modules.n ? &o->modules.v[number] : NULL;
	}
}

static struct trace_op_thread *thread_of(struct trace_ops *o, uint32_t tid)
{
	uint64_t at;

	if (!map_find(&o->thread_at, tid, &at)) {
		at = o->threads.n;
		map_put(&o->thread_at, tid, at);
		vec_push(&o->threads, (struct trace_op_thread){ .first_ns = UINT64_MAX });
	}
	return &o->threads.v[at];
}

static void write_block(struct trace_ops *o, const struct op_block *b, const struct op_row *rows,
	const struct trace_ops_target *to)
{
	struct rec_thread thread = { .process = to->process, .tid = (uint32_t)b->tid };
	uint32_t thread_row = writer_row(to->writer, RECORD_thread, &thread);

	struct trace_op_thread *seen = thread_of(o, (uint32_t)b->tid);

	for (uint64_t i = 0; i < b->n; i++) {
		const struct op_row *row = &rows[i];
		uint32_t number = row->place & ~OP_IS_REGION;
		const struct op_place *place =
			number && number < o->places.n ? &o->places.v[number] : NULL;
		uint64_t start_ns = tick_map_ns(to->clock, row->start);
		uint64_t end_ns = tick_map_ns(to->clock, row->start + row->ticks);

		seen->first_ns = start_ns < seen->first_ns ? start_ns : seen->first_ns;
		seen->last_ns = end_ns > seen->last_ns ? end_ns : seen->last_ns;
		if (place && place->module)
			write_module(o, place->module, to);
		writer_add(to->writer, RECORD_op,
			&(struct rec_op){ .t_ns = start_ns,
				.duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
				.thread = thread_row,
				.name = name_row(o, row->name, to->writer),
				.category = row->place & OP_IS_REGION ? OP_ANNOTATION : OP_CPU,
				.code = place ? code_row(o, place->code, to) : 0,
				.offset = place ? place->offset : 0,
				.module = place ? place->module : 0 });
	}
	o->n_ops += b->n;
	seen->n += b->n;
}

static void write_until(struct trace_ops *o, size_t end, const struct trace_ops_target *to)
{
	size_t at = 0;

	while (at < end) {
		struct op_block b;
		struct op_row rows[OP_BLOCK_ROWS];

		memcpy(&b, o->blocks.data + at, sizeof b);
		memcpy(rows, o->blocks.data + at + sizeof b, b.n * sizeof *rows);
		at += sizeof b + b.n * sizeof *rows;
		write_block(o, &b, rows, to);
	}
	if (at && at < o->blocks.n)
		memmove(o->blocks.data, o->blocks.data + at, o->blocks.n - at);
	o->blocks.n -= at;
	o->n_old = o->blocks.n;
}

void trace_ops_write(struct trace_ops *o, const struct trace_ops_target *to)
{
	write_until(o, o->n_old, to);
}

void trace_ops_write_all(struct trace_ops *o, const struct trace_ops_target *to)
{
	write_until(o, o->blocks.n, to);
	for (uint32_t i = 0; i < o->modules.n; i++)
		if (!o->modules.v[i].segment)
			write_module(o, i, to);
}

double trace_ops_slowdown(const struct trace_ops *o)
{
	const struct trace_op_thread *most = NULL;
	double cost_s, rest_s;

	for (size_t i = 0; i < o->threads.n; i++)
		if (!most || o->threads.v[i].n > most->n)
			most = &o->threads.v[i];
	if (!most || !o->cost_ns || most->last_ns <= most->first_ns)
		return UNITS_UNKNOWN;
	cost_s = (double)most->n * o->cost_ns / 1e9;
	rest_s = (double)(most->last_ns - most->first_ns) / 1e9 - cost_s;
	return rest_s > 0 ? cost_s / rest_s : UNITS_UNKNOWN;
}

void trace_ops_done(struct trace_ops *o)
{
	vec_each (&o->names, name)
		free(name->text);
	vec_each (&o->codes, code)
		free(code->texts);
	vec_done(&o->names);
	vec_done(&o->codes);
	vec_each (&o->modules, module) {
		free(module->class);
		free(module->path);
	}
	vec_done(&o->modules);
	vec_done(&o->places);
	buf_done(&o->blocks);
	buf_done(&o->compiled);
	map_done(&o->sent);
	map_done(&o->lost);
	map_done(&o->thread_at);
	vec_done(&o->threads);
}
