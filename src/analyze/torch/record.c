/* SPDX-License-Identifier: MIT
 * See record.h. */
#include "analyze/torch/record.h"
#include "analyze/torch/waited.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/torch/asides.h"
#include "analyze/torch/events.h"
#include "analyze/torch/lines.h"
#include "analyze/torch/module_names.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

/* What a trace says of itself, as bits and as fields. */
#define FACT(bit, field)                                         \
	{                                                        \
		OP_FACT_##bit, offsetof(struct op_events, field) \
	}

static const struct fact {
	uint32_t bit;
	size_t field;
} facts[] = {
	FACT(ZERO, has_zero),
	FACT(MEMORY, has_memory),
	FACT(FLOPS, has_flops),
	FACT(STACK, has_stack),
	FACT(SHAPES, has_shapes),
	FACT(HOST, has_host),
	FACT(BASE, has_base),
	FACT(CALL_FROM, has_call_from),
	FACT(PYTHON, has_python),
	FACT(DEVICE, has_device),
	FACT(ARRAY, is_array),
	FACT(CUT, is_cut),
};

enum {
	N_FACTS = sizeof facts / sizeof *facts,
	TRACKS = UINT16_MAX,
};

/* ---- writing --------------------------------------------------------------------------------- */

struct rows { /* of the interned texts of a trace; made when first asked for */
	uint32_t *row;
	const struct intern *of;
	struct writer *w;
};

static struct rows rows_of(const struct intern *of, struct writer *w)
{
	return (struct rows){ .row = xcalloc(of->items.n + 1, sizeof(uint32_t)), .of = of, .w = w };
}

static uint32_t row(struct rows *r, uint32_t id)
{
	const struct intern_item *item;

	if (id >= r->of->items.n)
		return 0;
	if (!r->row[id]) {
		item = intern_get(r->of, id);
		r->row[id] = writer_string_n(r->w, item->p, item->n);
	}
	return r->row[id];
}

static rec_bytes numbers_of(const struct op_events *x, const struct op_written *from)
{
	return (rec_bytes){ .p = from->n ? x->numbers.data + from->at : NULL, .n = from->n };
}

static const struct op_written *written(const struct op_written *v, size_t n, size_t i)
{
	static const struct op_written none;

	return i < n ? &v[i] : &none;
}

struct all_rows {
	struct rows names, shapes, tracks, texts;
	/* by name: of a line that asked for something, made when first asked for */
	uint32_t *codes;
};

/* "train.py(12): step" as a function that is this line alone, as traces tell no more of it. 0: it is something else. */
static uint32_t line_row(const char *text, struct writer *w)
{
	for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '(')) {
		size_t n = strspn(at + 1, "0123456789");
		const char *end = at + 1 + n;
		unsigned long line = n && n < 10 ? strtoul(at + 1, NULL, 10) : 0;

		if (at == text || !line || *end != ')' || (end[1] && strncmp(end, "): ", 3) != 0))
			continue;
		return writer_row(w, RECORD_code,
			&(struct rec_code){ .file = writer_path(w, text, (size_t)(at - text)),
				.qualname = end[1] ? writer_string(w, end + 3) : 0,
				.first_line = (uint32_t)line });
	}
	return 0;
}

static uint32_t code_of(const struct op_events *x, size_t i, struct all_rows *r, struct writer *w)
{
	uint32_t source = i < x->sources.n ? x->sources.v[i] : 0;

	if (!source)
		return 0;
	if (!r->codes[source])
		r->codes[source] = line_row(op_events_name(x, source - 1), w);
	return r->codes[source];
}

static uint32_t launch_row(const struct op_events *x, const struct op_event *e, struct writer *w)
{
	const struct op_launch *launch = op_events_launch(x, e);

	return launch ? writer_string_n(w, (const char *)launch, sizeof *launch) : 0;
}

static void write_spans(const struct op_events *x, struct all_rows *r, struct writer *w)
{
	for (size_t i = 0, k = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];
		const struct op_written *from = written(x->v_written.v, x->v_written.n, i);
		struct rec_op to = { .t_ns = (uint64_t)e->start_ns,
			.duration_ns = (uint64_t)e->duration_ns,
			.track = row(&r->tracks, e->track),
			.name = row(&r->names, e->name),
			.category = e->category,
			.link = e->link,
			.is_backward = e->is_backward,
			.code = code_of(x, i, r, w),
			.form = row(&r->texts, from->form),
			.numbers = numbers_of(x, from) };

		if (op_is_device(e) && e->detail) {
			const struct op_device *d = &x->device.v[e->detail - 1];

			to.correlation = d->correlation;
			to.bytes = d->bytes;
			to.blocks_per_sm = (double)d->blocks_per_sm;
			to.occupancy = (double)d->occupancy;
			to.launch = launch_row(x, e, w);
		} else if (e->category == OP_RUNTIME) {
			to.correlation = e->detail;
		} else if (e->detail) {
			to.shapes = row(&r->shapes, e->detail - 1);
		}
		if (k < x->sequences.n && x->sequences.v[k].event == i)
			to.sequence = x->sequences.v[k++].number + UINT64_C(1);
		writer_add(w, RECORD_op, &to);
	}
}

static void write_memory(const struct op_events *x, struct all_rows *r, struct writer *w)
{
	for (size_t i = 0; i < x->memory.n; i++) {
		const struct op_memory *m = &x->memory.v[i];
		const struct op_written *from =
			written(x->memory_written.v, x->memory_written.n, i);

		writer_add(w, RECORD_op_memory,
			&(struct rec_op_memory){ .t_ns = (uint64_t)m->t_ns,
				.track = row(&r->tracks, m->track),
				.bytes = (uint64_t)m->bytes,
				.total_bytes = m->total_bytes,
				.device_type = m->device_type,
				.is_failure = m->is_failure,
				.reserved_bytes = m->reserved_bytes,
				.address = m->address,
				.device = (uint16_t)(m->device + 1),
				.form = row(&r->texts, from->form),
				.numbers = numbers_of(x, from) });
	}
}

static void write_marks(const struct op_events *x, struct all_rows *r, struct writer *w)
{
	for (size_t i = 0; i < x->marks.n; i++) {
		const struct op_mark *m = &x->marks.v[i];

		writer_add(w, RECORD_op_mark,
			&(struct rec_op_mark){ .t_ns = (uint64_t)m->t_ns,
				.link = m->link,
				.form = row(&r->texts, m->written.form),
				.numbers = numbers_of(x, &m->written) });
	}
}

/* is_more: of those that tell of the program, whose first part had not come to its end. */
/* What a trace says of its own events; the rest a recording has once, of the first. */
static bool is_of_each_trace(const char *key)
{
	static const char *const keys[] = { OP_COMPILED_KEY, OP_LINES_KEY, "baseTimeNanoseconds" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static void write_properties(
	const struct op_events *x, bool is_more, struct all_rows *r, struct writer *w)
{
	for (size_t i = 0; i < x->properties.n; i++) {
		const struct op_property *p = &x->properties.v[i];
		const struct intern_item *value = intern_get(&x->texts, p->value);

		if (is_more && !is_of_each_trace(intern_get(&x->texts, p->key)->p))
			continue;
		writer_add(w, RECORD_op_property,
			&(struct rec_op_property){ .key = row(&r->texts, p->key),
				.value = { value->p, (uint32_t)value->n } });
	}
}

static void write_facts(const struct op_events *x, struct writer *w)
{
	struct rec_op_trace to = { .zero_ns = (uint64_t)x->zero_ns,
		.device_name = writer_string(w, x->device_name),
		.device_bytes = x->device_bytes,
		.device_capability = x->device_capability,
		.n_devices = x->n_devices,
		.backend = writer_string(w, x->backend),
		.py_minor = x->py_minor,
		.n_skipped = x->n_skipped,
		.n_lost = x->n_lost,
		.n_repaired = x->n_repaired,
		.rank = (uint32_t)(x->rank + 1),
		.world_size = x->world_size };

	for (size_t i = 0; i < N_FACTS; i++)
		if (*(const bool *)((const char *)x + facts[i].field))
			to.facts |= facts[i].bit;
	writer_add(w, RECORD_op_trace, &to);
}

static void write_events(const struct op_events *x, bool is_more, struct writer *w)
{
	struct all_rows r = { rows_of(&x->names, w), rows_of(&x->shapes, w), rows_of(&x->tracks, w),
		rows_of(&x->texts, w), xcalloc(x->names.items.n + 1, sizeof(uint32_t)) };

	if (!is_more)
		write_facts(x, w);
	write_spans(x, &r, w);
	write_memory(x, &r, w);
	write_marks(x, &r, w);
	write_properties(x, is_more, &r, w);
	free(r.names.row);
	free(r.shapes.row);
	free(r.tracks.row);
	free(r.texts.row);
	free(r.codes);
}

void op_record_write(const struct op_events *x, struct writer *w)
{
	write_events(x, false, w);
}

void op_record_write_more(const struct op_events *x, struct writer *w)
{
	write_events(x, true, w);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Numbers of texts already met + 1, by their row in the recording. */
struct ids {
	uint32_t *id;
	struct intern *in;
};

struct loading {
	struct tables *t;
	struct op_events *to;
	struct err *e;
	size_t n_strings;
	struct ids names, shapes, tracks, texts;
	uint32_t *thread_track; /* by thread row, + 1 */
	size_t n_threads;
	struct arena arena;    /* of frames */
	struct frames *frames; /* made when first asked for */
	struct map sources;    /* code and offset → what op_events.sources holds of them */
	struct module_names modules;
};

static uint32_t id_of(struct loading *l, struct ids *of, uint32_t row)
{
	const struct rec_string *s = tables_row(l->t, RECORD_string, row);

	if (row > l->n_strings)
		return 0;
	if (!of->id[row])
		of->id[row] = 1 +
			intern_add(
				of->in, s && s->text.n ? s->text.p : "", s ? s->text.n : 0, NULL);
	return of->id[row] - 1;
}

static uint32_t thread_track(struct loading *l, uint32_t thread)
{
	const struct rec_thread *row = tables_row(l->t, RECORD_thread, thread);
	const struct rec_process *process = row ? tables_process(l->t, row->process) : NULL;
	char key[64];
	int n_pid;

	if (thread > l->n_threads || !row)
		return id_of(l, &l->tracks, 0);
	if (!l->thread_track[thread]) {
		n_pid = snprintf(key, 32, "%u", process ? process->pid : 0);
		n_pid += 1 + snprintf(key + n_pid + 1, 32, "%u", row->tid);
		l->thread_track[thread] = 1 + intern_add(&l->to->tracks, key, (size_t)n_pid, NULL);
	}
	return l->thread_track[thread] - 1;
}

static int track_of(struct loading *l, uint32_t thread, uint32_t track, uint16_t *ret)
{
	uint32_t id = thread ? thread_track(l, thread) : id_of(l, &l->tracks, track);

	if (id >= TRACKS)
		return err_set(l->e, ERR_BAD_FILE, "more than %d threads", TRACKS);
	*ret = (uint16_t)id;
	return 0;
}

static struct op_written keep(struct loading *l, uint32_t form, const rec_bytes *numbers)
{
	struct op_written x = {
		.at = l->to->numbers.n, .n = numbers->n, .form = id_of(l, &l->texts, form)
	};

	if (x.n)
		buf_add(&l->to->numbers, numbers->p, x.n);
	return x;
}

/* Times and lengths as a trace can have them, up to the year 2065: three of them (begin, length, zero) add up to a number. */
static int64_t time_of(uint64_t ns)
{
	const int64_t most = INT64_C(3000000000000000000);
	int64_t x = (int64_t)ns;

	return x > most ? most : x < -most ? -most : x;
}

static uint32_t launch_of(struct loading *l, uint32_t row)
{
	const struct rec_string *s = row ? tables_row(l->t, RECORD_string, row) : NULL;

	return s && s->text.n == sizeof(struct op_launch)
		? intern_add(&l->to->launches, s->text.p, s->text.n, NULL) + 1
		: 0;
}

static uint32_t detail_of(struct loading *l, const struct rec_op *r)
{
	if (r->category >= OP_KERNEL) {
		vec_push(&l->to->device,
			(struct op_device){ .correlation = (uint32_t)r->correlation,
				.launch = launch_of(l, r->launch),
				.bytes = r->bytes,
				.blocks_per_sm = (float)r->blocks_per_sm,
				.occupancy = (float)r->occupancy });
		return (uint32_t)l->to->device.n;
	}
	if (r->category == OP_RUNTIME)
		return (uint32_t)r->correlation;
	return r->shapes ? id_of(l, &l->shapes, r->shapes) + 1 : 0;
}

/* "train.py(12): step", as torch names Python functions. */
static uint32_t source_of(struct loading *l, const struct rec_op *r)
{
	uint64_t key = (uint64_t)r->code << 32 | r->offset, id;
	const struct rec_code *code = tables_row(l->t, RECORD_code, r->code);
	struct buf text = BUF_INIT;
	struct stack_frame f;

	if (!r->code || !code)
		return 0;
	if (map_find(&l->sources, key, &id))
		return (uint32_t)id;
	if (!l->frames)
		l->frames = frames_new(&l->arena, l->t);
	f = frames_of_code(l->frames, r->code, r->offset);
	buf_printf(&text, "%s(%d)%s%s", frames_module_path(f.file),
		f.line > 0 ? f.line : (int)code->first_line, code->qualname ? ": " : "",
		code->qualname ? f.name : "");
	id = 1 + intern_add(&l->to->names, text.data, text.n, NULL);
	map_put(&l->sources, key, id);
	buf_done(&text);
	return (uint32_t)id;
}

static uint32_t module_of(struct loading *l, const struct rec_op *r)
{
	const struct rec_thread *thread =
		r->module ? tables_row(l->t, RECORD_thread, r->thread) : NULL;

	return thread ? module_names_find(&l->modules, thread->process, r->module) : 0;
}

/* Of the event that was added last; lists are as long as something is known. */
#define add_known(l, list, value)                          \
	do {                                               \
		uint32_t value_ = (value);                 \
		if (!value_ && !(l)->to->list.n)           \
			break;                             \
		while ((l)->to->list.n + 1 < (l)->to->v.n) \
			vec_push(&(l)->to->list, 0);       \
		vec_push(&(l)->to->list, value_);          \
	} while (0)

static int read_spans(struct loading *l)
{
	struct record_iter it = record_iter(l->t, RECORD_op);
	struct op_events *to = l->to;
	int status = 0;

	for (const struct rec_op *r; status == 0 && (r = record_next(&it));) {
		struct op_event x = { .start_ns = time_of(r->t_ns),
			.duration_ns = time_of(r->duration_ns),
			.link = r->link,
			.is_backward = r->is_backward,
			.category = r->category };

		if (x.category >= OP_N_CATEGORIES) { /* of a later version */
			to->n_skipped++;
			continue;
		}
		if (to->v.n >= UINT32_MAX - 1)
			status = err_set(l->e, ERR_BAD_FILE, "more operators than can be numbered");
		else
			status = track_of(l, r->thread, r->track, &x.track);
		x.duration_ns = x.duration_ns < 0 ? 0 : x.duration_ns;
		x.name = id_of(l, &l->names, r->name);
		x.detail = detail_of(l, r);
		to->has_device |= x.category >= OP_KERNEL;
		to->has_python |= x.category == OP_PYTHON;
		to->has_shapes |= r->shapes != 0;
		if (r->sequence && r->sequence - 1 <= UINT32_MAX)
			vec_push(&to->sequences,
				(struct op_sequence){
					(uint32_t)to->v.n, (uint32_t)(r->sequence - 1) });
		vec_push(&to->v, x);
		add_known(l, sources, source_of(l, r));
		add_known(l, modules, module_of(l, r));
		if (to->keeps_all)
			vec_push(&to->v_written, keep(l, r->form, &r->numbers));
	}
	record_iter_done(&it);
	return status;
}

static int read_memory(struct loading *l)
{
	struct record_iter it = record_iter(l->t, RECORD_op_memory);
	const int64_t most = OP_BYTES_MOST;
	struct op_events *to = l->to;
	int status = 0;

	for (const struct rec_op_memory *r; status == 0 && (r = record_next(&it));) {
		struct op_memory x = { .t_ns = time_of(r->t_ns),
			.bytes = (int64_t)r->bytes,
			.total_bytes = r->total_bytes,
			.device_type = r->device_type,
			.is_failure = r->is_failure != 0,
			.reserved_bytes = r->reserved_bytes,
			.address = r->address,
			.device = (int16_t)(r->device <= INT16_MAX ? r->device - 1 : -1) };

		if (x.bytes > most || x.bytes < -most)
			x.bytes = 0;
		to->has_memory = true;
		status = track_of(l, r->thread, r->track, &x.track);
		vec_push(&to->memory, x);
		if (to->keeps_all)
			vec_push(&to->memory_written, keep(l, r->form, &r->numbers));
	}
	record_iter_done(&it);
	return status;
}

static void read_facts(struct loading *l)
{
	struct record_iter it = record_iter(l->t, RECORD_op_trace);
	const struct rec_op_trace *r = record_next(&it);
	struct op_events *to = l->to;

	if (r) {
		to->zero_ns = time_of(r->zero_ns);
		for (size_t i = 0; i < N_FACTS; i++)
			*(bool *)((char *)to + facts[i].field) = r->facts & facts[i].bit;
		snprintf(to->device_name, sizeof to->device_name, "%s",
			tables_string(l->t, r->device_name));
		to->device_bytes = r->device_bytes;
		to->device_capability = r->device_capability;
		to->n_devices = r->n_devices;
		snprintf(to->backend, sizeof to->backend, "%s", tables_string(l->t, r->backend));
		to->py_minor = r->py_minor;
		to->n_skipped = r->n_skipped;
		to->n_lost = r->n_lost;
		to->n_repaired = r->n_repaired;
		to->rank = r->rank <= INT32_MAX ? (int)r->rank - 1 : -1;
		to->world_size = r->world_size;
	}
	record_iter_done(&it);
}

/* Of a program, or of the trace that torch's own profiler wrote in it. */
static void read_compiled(struct loading *l)
{
	struct record_iter metas = record_iter(l->t, RECORD_meta);
	struct record_iter properties = record_iter(l->t, RECORD_op_property);

	for (const struct rec_meta *m; (m = record_next(&metas));)
		if (strcmp(tables_string(l->t, m->key), "torch_compiled") == 0)
			buf_add(&l->to->compiled, m->value.p, m->value.n);
	for (const struct rec_op_property *r; (r = record_next(&properties));)
		if (!l->to->compiled.n && strcmp(tables_string(l->t, r->key), OP_COMPILED_KEY) == 0)
			buf_add(&l->to->compiled, r->value.p, r->value.n);
	record_iter_done(&metas);
	record_iter_done(&properties);
}

static int64_t number_of(const rec_bytes *text)
{
	char copy[32] = "";

	if (text->n < sizeof copy)
		memcpy(copy, text->n ? text->p : "", text->n);
	return strtoll(copy, NULL, 10);
}

/* Of traces that were written one after the other, each with its own beginning. */
static void read_lines(struct loading *l)
{
	struct record_iter it = record_iter(l->t, RECORD_op_property);
	int64_t base_ns = 0;

	for (const struct rec_op_property *r; (r = record_next(&it));) {
		const char *key = tables_string(l->t, r->key);

		if (strcmp(key, "baseTimeNanoseconds") == 0)
			base_ns = number_of(&r->value);
		else if (strcmp(key, OP_LINES_KEY) == 0)
			op_lines_take(l->to, r->value.n ? r->value.p : "", r->value.n, base_ns);
	}
	record_iter_done(&it);
}

static void read_rest(struct loading *l)
{
	struct record_iter marks = record_iter(l->t, RECORD_op_mark);
	struct record_iter properties = record_iter(l->t, RECORD_op_property);

	for (const struct rec_op_mark *r; (r = record_next(&marks));)
		vec_push(&l->to->marks,
			(struct op_mark){ .t_ns = time_of(r->t_ns),
				.link = r->link,
				.written = keep(l, r->form, &r->numbers) });
	for (const struct rec_op_property *r; (r = record_next(&properties));)
		vec_push(&l->to->properties,
			(struct op_property){ .key = id_of(l, &l->texts, r->key),
				.value = intern_add(&l->to->texts, r->value.n ? r->value.p : "",
					r->value.n, NULL) });
	record_iter_done(&marks);
	record_iter_done(&properties);
}

bool op_record_is_in(const struct reader *r)
{
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].kind == RECORD_op)
			return true;
	return false;
}

int op_record_read(struct tables *t, struct op_events *to, struct err *e)
{
	struct loading l = { .t = t,
		.to = to,
		.e = e,
		.n_strings = tables_count(t, RECORD_string),
		.n_threads = tables_count(t, RECORD_thread),
		.arena = ARENA_INIT };
	struct intern *const in[] = { &to->names, &to->shapes, &to->tracks, &to->texts };
	struct ids *const ids[] = { &l.names, &l.shapes, &l.tracks, &l.texts };
	int status;

	for (size_t i = 0; i < 4; i++)
		*ids[i] = (struct ids){ xcalloc(l.n_strings + 1, sizeof(uint32_t)), in[i] };
	l.thread_track = xcalloc(l.n_threads + 1, sizeof(uint32_t));
	intern_add(&to->texts, "", 0, NULL);
	to->rank = -1;
	read_facts(&l);
	module_names_init(&l.modules, t, to);
	to->collected = op_collected_build(t);
	status = read_spans(&l);
	if (status == 0)
		status = read_memory(&l);
	if (status == 0) {
		op_waited_find(t, to);
		read_compiled(&l);
		read_lines(&l);
		op_asides_read(t, to);
	}
	if (status == 0 && to->keeps_all)
		read_rest(&l);
	reader_check(tables_reader(t));
	damage_describe(&tables_reader(t)->damage, to->damage);
	if (status == 0 && !to->v.n && damage_is_loss(&tables_reader(t)->damage))
		status = err_set(e, ERR_BAD_FILE, "no operator could be read: %s", to->damage);
	else if (status == 0 && !to->v.n)
		status = err_set(e, ERR_NOT_PREPARED,
			"the recording holds no operators; leadline run --torch records them");
	op_events_find_zero(to);
	for (size_t i = 0; i < 4; i++)
		free(ids[i]->id);
	free(l.thread_track);
	map_done(&l.sources);
	module_names_done(&l.modules);
	arena_done(&l.arena);
	return status;
}
