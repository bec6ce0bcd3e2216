/* SPDX-License-Identifier: MIT
 * See trace.h. */
#include "formats/torch/trace.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/torch/event_template.h"
#include "analyze/torch/events.h"
#include "analyze/torch/lines.h"
#include "analyze/torch/record.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "formats/input.h"
#include "formats/torch/event.h"
#include "formats/torch/facts.h"
#include "formats/torch/scan.h"
#include "store/container.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

enum {
	TRACKS = UINT16_MAX,
	COMMA = 64, /* and blanks between two events, bytes */
};

struct trace {
	struct scan_window w;
	struct op_events *to;
	struct err *e;
	struct buf text; /* a name being decoded */
	struct buf form;
	VEC(uint8_t) kept; /* by name: which arguments are kept with its shapes, enum kept */
};

/* ---- what it becomes ------------------------------------------------------------------------- */

static uint32_t name_of(struct trace *t, const struct scan_text *name)
{
	if (!name->has_escapes)
		return intern_add(&t->to->names, name->p ? name->p : "", name->n, NULL);
	buf_clear(&t->text);
	scan_decode(name, &t->text);
	return intern_add(&t->to->names, t->text.data, t->text.n, NULL);
}

static uint32_t track_in(struct trace *t, struct intern *tracks, const struct scan_text *pid,
	const struct scan_text *tid)
{
	size_t n = pid->n + 1 + tid->n;
	char some[128], *key = some;

	if (n > sizeof some) {
		buf_clear(&t->text);
		key = buf_reserve(&t->text, n);
	}
	if (pid->n)
		memcpy(key, pid->p, pid->n);
	key[pid->n] = '\0';
	if (tid->n)
		memcpy(key + pid->n + 1, tid->p, tid->n);
	return intern_add(tracks, key, n, NULL);
}

static int track_of(struct trace *t, const struct torch_event *f, uint16_t *ret)
{
	uint32_t track = track_in(t, &t->to->tracks, &f->pid, &f->tid);

	if (track >= TRACKS)
		return err_set(t->e, ERR_BAD_FILE, "byte %" PRIu64 ": more than %d threads",
			t->w.offset + t->w.at, TRACKS);
	*ret = (uint16_t)track;
	return 0;
}

enum kept { KEPT_ARGUMENTS = 1, KEPT_TYPES = 2, KEPT_UNKNOWN = 255 };

static uint8_t kept_of(const struct scan_text *name)
{
	static const struct {
		const char *name;
		uint8_t kept;
	} rows[] = { { "aten::mm", KEPT_TYPES }, { "aten::addmm", KEPT_TYPES },
		{ "aten::bmm", KEPT_TYPES }, { "aten::baddbmm", KEPT_TYPES },
		{ "aten::conv2d", KEPT_ARGUMENTS | KEPT_TYPES }, { "aten::conv1d", KEPT_ARGUMENTS },
		{ "aten::conv3d", KEPT_ARGUMENTS }, { "aten::convolution", KEPT_ARGUMENTS },
		{ "aten::_convolution", KEPT_ARGUMENTS },
		{ "aten::convolution_overrideable", KEPT_ARGUMENTS },
		{ "aten::convolution_backward", KEPT_ARGUMENTS },
		{ "mkldnn::_convolution_pointwise", KEPT_ARGUMENTS } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (scan_is(name, rows[i].name))
			return rows[i].kept;
	return 0;
}

/* Shapes are kept as written; of a convolution the arguments, too, which its FLOPs depend on, and of what multiplies the types. */
static uint32_t shapes_of(struct trace *t, const struct torch_event *f, uint32_t name)
{
	struct buf *all = &t->text;
	uint8_t kept;

	while (t->kept.n <= name)
		vec_push(&t->kept, KEPT_UNKNOWN);
	if (t->kept.v[name] == KEPT_UNKNOWN)
		t->kept.v[name] = kept_of(&f->name);
	kept = t->kept.v[name];
	if (!kept || !(f->concrete.n || f->types.n))
		return intern_add(&t->to->shapes, f->dims.p, f->dims.n, NULL) + 1;
	buf_clear(all);
	buf_add(all, f->dims.p, f->dims.n);
	buf_addc(all, '\0');
	if (kept & KEPT_ARGUMENTS && f->concrete.n)
		buf_add(all, f->concrete.p, f->concrete.n);
	buf_addc(all, '\0');
	if (f->types.n)
		buf_add(all, f->types.p, f->types.n);
	return intern_add(&t->to->shapes, all->data, all->n, NULL) + 1;
}

/* "[128, 1, 1]" */
static void take_dimensions(const struct scan_text *list, uint32_t to[3])
{
	const char *end = list->p + list->n, *at = list->p + 1;

	for (size_t i = 0; i < 3 && list->n && at < end; i++) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct scan_text number = { .p = at };
		int64_t value = 0;

		while (number.p < end && *number.p == ' ')
			number.p++;
		number.n = (size_t)((comma ? comma : end - 1) - number.p);
		if (scan_i64(&number, &value) && value > 0 && value <= UINT32_MAX)
			to[i] = (uint32_t)value;
		at = comma ? comma + 1 : end;
	}
}

static uint32_t launch_of(struct trace *t, const struct torch_event *f)
{
	struct op_launch x = { .registers = f->registers > 0 ? (uint32_t)f->registers : 0,
		.shared_bytes = f->shared_bytes > 0 ? (uint32_t)f->shared_bytes : 0 };

	if (f->grid.n < 3 || *f->grid.p != '[' || f->block.n < 3 || *f->block.p != '[')
		return 0;
	take_dimensions(&f->grid, x.grid);
	take_dimensions(&f->block, x.block);
	return intern_add(&t->to->launches, &x, sizeof x, NULL) + 1;
}

static uint32_t device_of(struct trace *t, const struct torch_event *f)
{
	struct op_device x = { .correlation = (uint32_t)f->correlation,
		.launch = launch_of(t, f),
		.bytes = f->bytes > 0 ? (uint64_t)f->bytes : 0,
		.blocks_per_sm = f->blocks_per_sm < 0 ? NAN : (float)f->blocks_per_sm / 1000,
		.occupancy = f->occupancy < 0 ? NAN : (float)f->occupancy / 1000 };

	vec_push(&t->to->device, x);
	return (uint32_t)t->to->device.n;
}

/* The event as written, for whoever writes it again. */
static struct op_written keep(
	struct trace *t, const struct torch_event *f, bool is_span, int64_t link)
{
	struct op_written x = { .at = t->to->numbers.n };

	if (!f->whole.n)
		return x;
	buf_clear(&t->form);
	op_template_take(f->whole.p, f->whole.n, is_span, link, &t->form, &t->to->numbers);
	x.n = (uint32_t)(t->to->numbers.n - x.at);
	x.form = intern_add(&t->to->texts, t->form.data, t->form.n, NULL);
	return x;
}

static void keep_mark(struct trace *t, const struct torch_event *f)
{
	struct op_mark x = { 0 };
	int64_t id = 0;

	if (!t->to->keeps_all || !f->whole.n)
		return;
	if (scan_i64(&f->id, &id))
		x.link = (uint64_t)id;
	scan_milli(&f->ts, &x.t_ns);
	x.written = keep(t, f, false, id);
	vec_push(&t->to->marks, x);
}

static void keep_property(
	struct trace *t, const struct scan_text *key, const struct scan_text *value)
{
	struct op_property x;

	if (!t->to->keeps_all)
		return;
	x.key = intern_add(&t->to->texts, key->p, key->n, NULL);
	buf_clear(&t->form);
	if (value->p[-1] == '"') /* without its quotes */
		buf_printf(&t->form, "\"%.*s\"", (int)value->n, value->p);
	else
		buf_add(&t->form, value->p, value->n);
	x.value = intern_add(&t->to->texts, t->form.data, t->form.n, NULL);
	vec_push(&t->to->properties, x);
}

/* What a text or number says, as valid UTF-8; 0 where there is none. */
static uint32_t other_text(struct trace *t, const struct scan_text *text)
{
	struct intern *texts = &t->to->others.texts;

	if (!scan_is_scalar(text))
		return 0;
	if (!text->has_escapes && text_is_ascii(text->p, text->n))
		return intern_add(texts, text->p, text->n, NULL);
	buf_clear(&t->form);
	buf_clear(&t->text);
	scan_decode(text, &t->form);
	text_add_valid(&t->text, buf_str(&t->form), t->form.n);
	return intern_add(texts, t->text.data, t->text.n, NULL);
}

/* What stacks are made of beside torch's own events. */
static void keep_other(struct trace *t, const struct torch_event *f, char phase)
{
	static const struct scan_text nothing;
	struct op_others *to = &t->to->others;
	struct op_other x = { .phase = phase, .after = (uint32_t)t->to->v.n };
	int64_t line;

	if (phase == 'M') {
		x.name = other_text(t, &f->label);
	} else {
		if (!scan_milli_sum(&f->ts, &nothing, &x.start_ns) ||
			!scan_milli_sum(&f->ts, phase == 'X' ? &f->duration : &nothing, &x.end_ns))
			return;
		x.name = other_text(t, &f->name);
		x.file = other_text(t, &f->file);
		if (scan_milli(&f->line, &line) && line >= 1000 && line / 1000 < INT32_MAX)
			x.line = (uint32_t)(line / 1000);
		to->n_spans += phase != 'E';
	}
	x.track = track_in(t, &to->tracks, scan_is_scalar(&f->pid) ? &f->pid : &nothing,
		scan_is_scalar(&f->tid) ? &f->tid : &nothing);
	vec_push(&to->v, x);
}

/* "train.py:12" as "train.py(12)"; the function is that around it (python.h). 0: it is something else. */
static uint32_t call_from_of(struct trace *t, const struct scan_text *text)
{
	uint32_t at = name_of(t, text);
	const char *name = op_events_name(t->to, at), *colon = strrchr(name, ':');
	struct buf place = BUF_INIT;
	uint32_t id = 0;

	if (colon && colon > name && colon[1] >= '1' && colon[1] <= '9' &&
		!colon[1 + strspn(colon + 1, "0123456789")]) {
		buf_printf(&place, "%.*s(%s)", (int)(colon - name), name, colon + 1);
		id = intern_add(&t->to->names, place.data, place.n, NULL) + 1;
	}
	buf_done(&place);
	return id;
}

/* Of the event that was added last. */
static void take_source(struct trace *t, const struct torch_event *f)
{
	uint32_t source = f->source.n ? name_of(t, &f->source) + 1
		: f->call_from.n      ? call_from_of(t, &f->call_from)
				      : 0;

	if (!source)
		return;
	while (t->to->sources.n + 1 < t->to->v.n)
		vec_push(&t->to->sources, 0);
	vec_push(&t->to->sources, source);
}

static int take_span(struct trace *t, const struct torch_event *f)
{
	struct op_event x = { 0 };
	unsigned category = torch_event_category(&f->category);

	if (category == TORCH_NO_CATEGORY && !f->category.n && scan_is(&f->pid, "CPU functions"))
		category = OP_CPU; /* written without Kineto */
	if (category == TORCH_NO_CATEGORY || !scan_milli(&f->ts, &x.start_ns) ||
		!scan_milli(&f->duration, &x.duration_ns)) {
		t->to->others.n_foreign +=
			category == TORCH_NO_CATEGORY && !scan_is(&f->category, "Trace");
		t->to->n_skipped++;
		keep_other(t, f, 'X');
		keep_mark(t, f);
		return 0;
	}
	if (track_of(t, f, &x.track) < 0)
		return -(int)t->e->code;
	x.category = (uint8_t)category;
	x.name = name_of(t, &f->name);
	x.link = f->external > 0 && f->external <= UINT32_MAX ? (uint32_t)f->external : 0;
	if (category == OP_DEVICE_ANNOTATION) { /* written 1 ns wider on each side */
		x.start_ns++;
		x.duration_ns -= 2;
	}
	if (x.duration_ns < 0)
		x.duration_ns = 0;
	if (category >= OP_KERNEL)
		x.detail = device_of(t, f);
	else if (category == OP_RUNTIME)
		x.detail = (uint32_t)f->correlation;
	else if (category <= OP_PYTHON && f->dims.n)
		x.detail = shapes_of(t, f, x.name);
	if (category == OP_CPU && f->sequence >= 0 && f->sequence <= UINT32_MAX) {
		struct op_sequence s = { (uint32_t)t->to->v.n, (uint32_t)f->sequence };

		x.is_backward = (uint8_t)(f->forward_thread < 0 ? 0
				: f->forward_thread > UINT8_MAX ? UINT8_MAX
								: f->forward_thread);
		vec_push(&t->to->sequences, s);
	}
	t->to->has_device |= category >= OP_KERNEL;
	t->to->has_shapes |= f->dims.n > 0;
	t->to->has_call_from |= f->call_from.n > 0;
	t->to->has_python |= category == OP_PYTHON;
	vec_push(&t->to->v, x);
	take_source(t, f);
	if (t->to->keeps_all)
		vec_push(&t->to->v_written, keep(t, f, true, x.link));
	return 0;
}

static int take_instant(struct trace *t, const struct torch_event *f)
{
	struct op_memory x = { .bytes = f->bytes,
		.total_bytes = f->total_bytes > 0 ? (uint64_t)f->total_bytes : 0,
		.reserved_bytes = f->reserved_bytes > 0 ? (uint64_t)f->reserved_bytes : 0,
		.address = (uint64_t)f->address,
		.device_type = (uint8_t)f->device_type,
		.device = f->device >= 0 && f->device <= INT16_MAX ? (int16_t)f->device : -1 };

	if (x.bytes > OP_BYTES_MOST || x.bytes < -OP_BYTES_MOST)
		x.bytes = 0;
	x.is_failure = scan_is(&f->name, "[OutOfMemory]");
	if (f->name.n > 16 && memcmp(f->name.p, "Iteration Start:", 16) == 0 && !t->to->has_zero)
		t->to->has_zero = scan_milli(&f->ts, &t->to->zero_ns);
	if (!x.is_failure && !scan_is(&f->name, "[memory]")) {
		t->to->n_skipped++;
		keep_mark(t, f);
		return 0;
	}
	if (!scan_milli(&f->ts, &x.t_ns))
		return 0;
	t->to->has_memory = true;
	if (track_of(t, f, &x.track) < 0)
		return -(int)t->e->code;
	vec_push(&t->to->memory, x);
	if (t->to->keeps_all)
		vec_push(&t->to->memory_written, keep(t, f, false, 0));
	return 0;
}

/* "python3.14": its sums are made otherwise than those of 3.11. Where torch could not learn the name of the process, that of its
 * first thread says the same: "thread 7 (python3.14)". */
static void take_interpreter(struct trace *t, const struct torch_event *f)
{
	struct scan_text minor = f->label;
	const char *open;
	int64_t value;

	if (!minor.n)
		return;
	if (scan_is(&f->name, "thread_name") && !t->to->py_minor) {
		open = memchr(minor.p, '(', minor.n);
		if (!open)
			return;
		minor.n -= (size_t)(open + 1 - minor.p);
		minor.p = open + 1;
	} else if (!scan_is(&f->name, "process_name")) {
		return;
	}
	if (minor.n < 9 || memcmp(minor.p, "python3.", 8) != 0)
		return;
	minor.p += 8;
	minor.n -= 8;
	while (minor.n && !isdigit((unsigned char)minor.p[minor.n - 1]))
		minor.n--;
	if (scan_i64(&minor, &value) && value > 0 && value < 100)
		t->to->py_minor = (unsigned)value;
}

static int take_event(struct trace *t, const struct torch_event *f)
{
	char phase = f->phase.n == 1 ? *f->phase.p : 0;

	budget_take(&t->w.in->budget, sizeof(struct op_event) + BUDGET_RECORD_BYTES);
	if (t->to->v.n + t->to->others.v.n >= UINT32_MAX - 1)
		return err_set(t->e, ERR_BAD_FILE, "more events than can be numbered");
	switch (phase) {
	case 'X':
		return take_span(t, f);
	case 'i':
	case 'I':
		return take_instant(t, f);
	case 'B':
		t->to->others.n_foreign++;
		keep_other(t, f, phase);
		break;
	case 'E':
		keep_other(t, f, phase);
		break;
	case 'M':
		take_interpreter(t, f);
		if (scan_is(&f->name, "thread_name"))
			keep_other(t, f, phase);
		break;
	}
	t->to->n_skipped++;
	keep_mark(t, f);
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Of a place in the window, until that moves on. */
static uint64_t byte_of(const struct trace *t, const char *at)
{
	return t->w.data ? t->w.offset + (size_t)(at - t->w.data) : 0;
}

/* Of what is wrong the first is remembered. */
static void note_flaw(struct trace *t, uint64_t at_byte, const char *what)
{
	if (!t->to->flaw.what)
		t->to->flaw = (struct op_flaw){ at_byte, what };
}

/* The comma before a place, only blanks between them; NULL: something else is there. */
static const char *comma_before(const char *begin, const char *at)
{
	while (at > begin && strchr(" \n\r\t", at[-1]))
		at--;
	return at > begin && at[-1] == ',' ? at - 1 : NULL;
}

/* Where the next event begins after one that makes no sense: ", {" and then a key of an event's. Else *at is from where to
 * look on when there is more. */
static bool find_event(struct scan *s)
{
	const char *begin = s->at, *at = begin + 1, *comma;
	struct scan_text key;

	for (; at < s->end && (at = memchr(at, '{', (size_t)(s->end - at))); at++) {
		struct scan ahead = { .at = at + 1, .end = s->end };

		comma = comma_before(begin, at);
		if (comma && scan_key(&ahead, &key, true) && torch_event_has(&key)) {
			s->at = at;
			return true;
		}
		if (comma && ahead.status == SCAN_MORE) {
			s->at = comma;
			return false;
		}
	}
	s->at = s->end - begin > COMMA ? s->end - COMMA : begin;
	return false;
}

/* Goes on behind an event that cannot be read. */
static bool skip_event(struct trace *t)
{
	t->to->n_lost++;
	for (;;) {
		struct scan s = scan_begin(&t->w);
		bool is_found = s.at < s.end && find_event(&s);

		t->w.at = (size_t)(s.at - t->w.data);
		if (is_found)
			return true;
		if (!scan_window_more(&t->w))
			return false;
	}
}

/* 1 and the event, 0 after the last one. */
static int next_event(struct trace *t, struct torch_event *f, bool is_first)
{
	size_t n_commas = is_first;

	for (bool is_careful = false;;) {
		struct scan s = scan_begin(&t->w);
		const char *begin;
		uint64_t at;
		char next;

		for (; (next = scan_peek(&s)) == ','; n_commas++)
			s.at++;
		t->w.at = s.at - t->w.data;
		if (next == ']') {
			t->w.at++;
			return 0;
		}
		s.is_careful = is_careful;
		begin = s.at;
		if (next == '{' && torch_event_scan(&s, f)) {
			t->to->n_repaired += s.n_forgiven > 0;
			if (s.n_forgiven)
				note_flaw(t, byte_of(t, begin), "an event is not valid JSON");
			else if (n_commas != 1)
				note_flaw(
					t, byte_of(t, begin), "one comma belongs before an event");
			if (!s.n_forgiven)
				f->whole =
					(struct scan_text){ begin, (size_t)(s.at - begin), false };
			t->w.at = (size_t)(s.at - t->w.data);
			return 1;
		}
		at = byte_of(t, s.at);
		if (s.status == SCAN_MORE && scan_window_more(&t->w))
			continue;
		if (s.status == SCAN_MORE && t->w.has_ended) { /* nothing can follow */
			note_flaw(t, t->w.offset + t->w.n, "the file ends before its events do");
			t->to->is_cut = true;
			t->to->n_lost += next == '{';
			return 0;
		}
		note_flaw(t, at,
			next != '{'                     ? "an event is not an object"
				: s.status == SCAN_MORE ? "an event is too long"
							: "an event is not valid JSON");
		if (!is_careful) {
			is_careful = true;
		} else if (skip_event(t)) {
			is_careful = false;
		} else {
			t->to->is_cut = true;
			return 0;
		}
	}
}

static int read_events(struct trace *t)
{
	struct torch_event f;

	for (bool is_first = true; next_event(t, &f, is_first); is_first = false)
		if (take_event(t, &f) < 0)
			return -(int)t->e->code;
	return 0;
}

/* One key of the object around the events; 1, 0 at its end. */
static int read_property(struct trace *t, bool *is_first)
{
	for (;;) {
		struct scan s = scan_begin(&t->w);
		struct scan_text key, value;
		uint64_t at;
		bool is_there = scan_key(&s, &key, *is_first), is_events;

		is_events = is_there && scan_is(&key, "traceEvents") && scan_take(&s, '[');
		if (is_events || (is_there && scan_value(&s, &value))) {
			*is_first = false;
			t->w.at = (size_t)(s.at - t->w.data);
			if (is_events)
				return read_events(t) < 0 ? -(int)t->e->code : 1;
			if (scan_is(&key, "traceEvents"))
				note_flaw(t, byte_of(t, value.p), "traceEvents is not an array");
			torch_facts_take(t->to, &key, &value);
			keep_property(t, &key, &value);
			return 1;
		}
		if (s.status == SCAN_OK)
			return 0;
		at = byte_of(t, s.at);
		if (s.status == SCAN_MORE && scan_window_more(&t->w))
			continue;
		note_flaw(t, at,
			s.status != SCAN_MORE    ? "this is not JSON"
				: t->w.has_ended ? "the file ends before it should"
						 : "a value is too long");
		t->to->is_cut = true;
		return 0;
	}
}

static int read_all(struct trace *t)
{
	bool is_first = true;
	int status = 1;
	struct scan s;
	char next;

	scan_window_more(&t->w);
	s = scan_begin(&t->w);
	next = scan_peek(&s);
	if (next != '[' && next != '{')
		return err_set(t->e, ERR_BAD_FILE,
			s.at == s.end
				? "the file is empty"
				: "byte 0: neither an object nor an array, as a trace of torch.profiler is");
	t->w.at = (size_t)(s.at + 1 - t->w.data);
	t->to->is_array = next == '[';
	if (next == '[')
		return read_events(t);
	while (status > 0)
		status = read_property(t, &is_first);
	return status;
}

int torch_trace_check(const struct op_events *x, struct err *e)
{
	if (x->v.n)
		return 0;
	if (x->others.n_foreign)
		return err_set(e, ERR_BAD_FILE,
			"it holds %" PRIu64
			" spans, but none that torch.profiler writes: it is from another tool",
			x->others.n_foreign);
	return err_set(e, ERR_BAD_FILE,
		x->is_cut || x->n_lost ? "it ends before its first event"
				       : "it holds no events: nothing was profiled");
}

int torch_trace_read_any(struct input *in, struct op_events *to, struct err *e)
{
	struct trace t = { .to = to, .e = e };
	int status;

	scan_window_init(&t.w, in);
	intern_add(&to->texts, "", 0, NULL);
	intern_add(&to->others.texts, "", 0, NULL);
	to->rank = -1;
	status = read_all(&t);
	if (t.w.has_failed)
		status = err_set(e, ERR_SYSTEM, "reading failed");
	if (status == 0)
		op_events_find_zero(to);
	if (status == 0 && to->lines.n)
		op_lines_take(to, to->lines.data, to->lines.n, to->base_ns);
	buf_done(&to->lines);
	to->budget = in->budget;
	buf_done(&t.text);
	buf_done(&t.form);
	vec_done(&t.kept);
	scan_window_done(&t.w);
	return status;
}

int torch_trace_read(struct input *in, struct op_events *to, struct err *e)
{
	int status = torch_trace_read_any(in, to, e);

	return status == 0 ? torch_trace_check(to, e) : status;
}

/* Takes the descriptor. */
static int load_recording(struct op_events *to, int fd, const char *path, struct err *e)
{
	struct reader *r = NULL;
	struct tables *t = NULL;
	int status = reader_open_fd(&r, fd, path, e);

	if (status == 0 && (status = tables_load(&t, r, e)) == 0)
		status = op_record_read(t, to, e);
	if (status < 0 && r)
		err_note(e, "%s", path);
	tables_free(t);
	reader_close(r);
	return status;
}

/* Takes the descriptor. */
static int load_file(struct op_events *to, int fd, const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	struct input in;
	int status;

	input_init(&in, fd);
	status = torch_trace_read(&in, to, e);
	if (status < 0 && input_error(&in, &why) < 0)
		*e = why;
	input_done(&in);
	return status < 0 ? err_note(e, "%s: read as a trace of torch", path) : 0;
}

int torch_trace_load_file(struct op_events *to, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_errno(e, ERR_SYSTEM, "%s", path) : load_file(to, fd, path, e);
}

int torch_trace_load(struct op_events *to, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[4];

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	if (pread(fd, magic, sizeof magic, 0) == sizeof magic &&
		memcmp(magic, STORE_MAGIC, sizeof magic) == 0)
		return load_recording(to, fd, path, e);
	return load_file(to, fd, path, e);
}
