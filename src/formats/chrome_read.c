/* SPDX-License-Identifier: MIT
 *
 * Reads Chrome's trace events (as torch, VizTracer and browsers write them): an object with "traceEvents", or the array
 * alone. Complete events ("X") and those that begin and end ("B", "E") become stacks by the way they lie in each other in
 * their thread; where two overlap, the inner one is cut at the outer one's end. Instants, counters, flows and asynchronous
 * spans have no place on a stack and are left out. */
#include "formats/chrome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/foreign.h"
#include "formats/input.h"
#include "base/banned.h"

struct event {          /* a span */
	double ts, end; /* µs */
	uint32_t frame, track;
	uint32_t number; /* in the file: of equal ones the first is the outer one */
};

struct track { /* a thread */
	uint32_t pid, tid;
	char *name;       /* owned; NULL: none */
	VEC(size_t) open; /* events begun by "B" */
};

struct file {
	struct json_reader r;
	struct foreign *to;
	struct err *e;
	struct intern ids;   /* texts of "pid" and "tid" that are no numbers */
	struct map track_of; /* pid << 32 | tid → index in tracks */
	VEC(struct track) tracks;
	VEC(struct event) events;
	uint64_t n_cut;
};

struct fields { /* of the event at hand */
	struct buf name, phase, pid, tid, file, argument_name;
	double ts, dur, line;
};

/* ---- one event ------------------------------------------------------------------------------- */

static void keep_text(const struct json_reader *r, struct buf *to)
{
	buf_clear(to);
	buf_add(to, r->text, r->n);
}

/* A string or a number as text, or a number into *value; anything else is passed over. */
static int read_field(struct file *f, struct buf *text, double *value)
{
	enum json_token t;

	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	if (text && (t == JSON_STRING || t == JSON_NUMBER))
		keep_text(&f->r, text);
	else if (value && t == JSON_NUMBER)
		*value = json_number_double(&f->r);
	else if (value && t == JSON_STRING) { /* some write times as texts */
		char number[40];

		snprintf(number, sizeof number, "%.*s", (int)f->r.n, f->r.text);
		*value = strtod(number, NULL);
	}
	return t == JSON_OBJECT_BEGIN || t == JSON_ARRAY_BEGIN ? json_skip(&f->r, f->e) : 0;
}

static int read_arguments(struct file *f, struct fields *x)
{
	enum json_token t;
	int status = json_next(&f->r, &t, f->e);

	if (status < 0 || t != JSON_OBJECT_BEGIN)
		return status < 0 ? status : t == JSON_ARRAY_BEGIN ? json_skip(&f->r, f->e) : 0;
	while ((status = json_next(&f->r, &t, f->e)) == 0 && t == JSON_KEY) {
		bool is_line = json_text_is(&f->r, "line");
		struct buf *text = json_text_is(&f->r, "file") ? &x->file
			: json_text_is(&f->r, "name")          ? &x->argument_name
							       : NULL;

		status = text || is_line ? read_field(f, text, is_line ? &x->line : NULL)
					 : json_skip(&f->r, f->e);
		if (status < 0)
			return status;
	}
	return status;
}

static int read_fields(struct file *f, struct fields *x)
{
	enum json_token t;
	int status;

	buf_clear(&x->name);
	buf_clear(&x->phase);
	buf_clear(&x->pid);
	buf_clear(&x->tid);
	buf_clear(&x->file);
	buf_clear(&x->argument_name);
	x->ts = x->dur = NAN;
	x->line = 0;
	while ((status = json_next(&f->r, &t, f->e)) == 0 && t == JSON_KEY) {
		if (json_text_is(&f->r, "ts"))
			status = read_field(f, NULL, &x->ts);
		else if (json_text_is(&f->r, "dur"))
			status = read_field(f, NULL, &x->dur);
		else if (json_text_is(&f->r, "ph"))
			status = read_field(f, &x->phase, NULL);
		else if (json_text_is(&f->r, "name"))
			status = read_field(f, &x->name, NULL);
		else if (json_text_is(&f->r, "pid"))
			status = read_field(f, &x->pid, NULL);
		else if (json_text_is(&f->r, "tid"))
			status = read_field(f, &x->tid, NULL);
		else if (json_text_is(&f->r, "args"))
			status = read_arguments(f, x);
		else
			status = json_skip(&f->r, f->e);
		if (status < 0)
			return status;
	}
	return status;
}

/* ---- tracks and spans ------------------------------------------------------------------------ */

/* The number a text is, or one that is made for it. */
static uint32_t number_of(struct file *f, const struct buf *text)
{
	char *end;
	unsigned long value = strtoul(buf_str(text), &end, 10);

	if (text->n && !*end && value <= UINT32_MAX)
		return (uint32_t)value;
	return intern_add(&f->ids, buf_str(text), text->n, NULL) + 1;
}

static size_t track_of(struct file *f, const struct fields *x)
{
	uint32_t pid = number_of(f, &x->pid), tid = number_of(f, &x->tid);

	uint64_t key = (uint64_t)pid << 32 | tid, at;

	if (map_find(&f->track_of, key, &at))
		return (size_t)at;
	foreign_hold(f->to, sizeof(struct track) + BUDGET_RECORD_BYTES);
	map_put(&f->track_of, key, f->tracks.n);
	vec_push(&f->tracks, (struct track){ .pid = pid, .tid = tid });
	return f->tracks.n - 1;
}

static void add_span(struct file *f, const struct fields *x, size_t track, double end)
{
	double line = x->line > 0 && x->line < INT32_MAX ? x->line : 0;
	struct event span = { .ts = x->ts,
		.end = end,
		.track = (uint32_t)track,
		.number = (uint32_t)f->events.n,
		.frame = foreign_frame(f->to, x->name.n ? buf_str(&x->name) : "(no name)",
			buf_str(&x->file), 0, (uint32_t)line) };

	foreign_hold(f->to, 2 * sizeof span); /* a vector that grows may stand there twice */
	vec_push(&f->events, span);
}

static void name_track(struct track *t, const char *name)
{
	free(t->name);
	t->name = xstrdup(name);
}

/* NAN: it has not ended yet. */
static void take_span(struct file *f, const struct fields *x, char phase)
{
	size_t track = track_of(f, x);
	struct track *t = &f->tracks.v[track];

	if (phase == 'X') {
		add_span(f, x, track, x->ts + (x->dur > 0 ? x->dur : 0));
	} else if (phase == 'B') {
		vec_push(&t->open, f->events.n);
		add_span(f, x, track, NAN);
	} else if (t->open.n) {
		struct event *begun = &f->events.v[t->open.v[--t->open.n]];

		begun->end = fmax(x->ts, begun->ts);
	}
}

static int take_event(struct file *f, const struct fields *x)
{
	char phase = x->phase.n == 1 ? x->phase.data[0] : ' ';

	if (f->events.n >= UINT32_MAX || f->tracks.n >= UINT32_MAX)
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": more events than can be numbered", json_offset(&f->r));
	if (phase == 'M' && strcmp(buf_str(&x->name), "thread_name") == 0) {
		size_t track = track_of(f, x);

		name_track(&f->tracks.v[track], buf_str(&x->argument_name));
	}
	if (memchr("XBE", phase, 3) && isfinite(x->ts))
		take_span(f, x, phase);
	return 0;
}

static int read_events(struct file *f)
{
	struct fields x = { 0 };
	enum json_token t;
	int status;

	while ((status = json_next(&f->r, &t, f->e)) == 0 && t == JSON_OBJECT_BEGIN) {
		status = read_fields(f, &x);
		if (status == 0)
			status = take_event(f, &x);
		if (status < 0)
			break;
	}
	if (status == 0 && t != JSON_ARRAY_END)
		status = err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": an event is no object",
			json_offset(&f->r));
	buf_done(&x.name);
	buf_done(&x.phase);
	buf_done(&x.pid);
	buf_done(&x.tid);
	buf_done(&x.file);
	buf_done(&x.argument_name);
	return status;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct level {
	double end;
	uint32_t stack;
};

struct replay {
	struct file *f;
	double zero, at;
	uint32_t thread;
	VEC(struct level) levels;
};

/* What is innermost has the time until then. */
static void pass(struct replay *p, double until)
{
	if (p->levels.n && until > p->at)
		foreign_weight(p->f->to, p->thread, p->levels.v[p->levels.n - 1].stack,
			foreign_value((p->at - p->zero) * 1e3), 0,
			foreign_value((until - p->at) * 1e3));
	p->at = fmax(p->at, until);
}

static void leave(struct replay *p, double until)
{
	while (p->levels.n && p->levels.v[p->levels.n - 1].end <= until) {
		pass(p, p->levels.v[p->levels.n - 1].end);
		p->levels.n--;
	}
	pass(p, until);
}

static void enter(struct replay *p, const struct event *x)
{
	struct level inner = { .end = x->end };
	uint32_t parent = 0;

	if (p->levels.n >= STACKS_DEPTH)
		return;
	if (p->levels.n) {
		const struct level *outer = &p->levels.v[p->levels.n - 1];

		p->f->n_cut += inner.end > outer->end;
		inner.end = fmin(inner.end, outer->end);
		parent = outer->stack;
	}
	inner.stack = foreign_stack(p->f->to, parent, x->frame);
	vec_push(&p->levels, inner);
}

static void make_stacks(struct file *f)
{
	struct replay p = { .f = f, .zero = INFINITY };
	uint32_t track = UINT32_MAX;
	double last = -INFINITY;

	vec_each (&f->events, x) {
		p.zero = fmin(p.zero, x->ts);
		last = fmax(last, fmax(x->ts, isnan(x->end) ? x->ts : x->end));
	}
	vec_each (&f->events, x)
		if (isnan(x->end)) /* begun, and the trace is over */
			x->end = last;
	if (f->events.n)
		qsort(f->events.v, f->events.n, sizeof *f->events.v, by_time);
	vec_each (&f->events, x) {
		if (x->track != track) {
			const struct track *t = &f->tracks.v[x->track];

			leave(&p, INFINITY);
			track = x->track;
			p.at = x->ts;
			p.thread = foreign_thread(f->to, t->pid, t->tid, t->name ? t->name : "");
		}
		leave(&p, x->ts);
		enter(&p, x);
	}
	leave(&p, INFINITY);
	vec_done(&p.levels);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_file(struct file *f)
{
	enum json_token t;
	int status = json_next(&f->r, &t, f->e);

	if (status == 0 && t == JSON_ARRAY_BEGIN)
		return read_events(f);
	if (status == 0 && t != JSON_OBJECT_BEGIN)
		return err_set(f->e, ERR_BAD_FILE, "byte 0: neither an object nor an array");
	while (status == 0 && (status = json_next(&f->r, &t, f->e)) == 0 && t == JSON_KEY) {
		bool is_events = json_text_is(&f->r, "traceEvents");

		if (!is_events) {
			status = json_skip(&f->r, f->e);
			continue;
		}
		status = json_next(&f->r, &t, f->e);
		if (status == 0)
			status = t == JSON_ARRAY_BEGIN
				? read_events(f)
				: err_set(f->e, ERR_BAD_FILE,
					  "byte %" PRIu64 ": traceEvents is no array",
					  json_offset(&f->r));
	}
	return status;
}

static bool has(const char *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

bool chrome_recognise(const char *head, size_t n)
{
	size_t i = 0;

	while (i < n && strchr(" \t\r\n", head[i]))
		i++;
	if (i < n && head[i] == '[')
		return has(head, n, "\"ph\"") && has(head, n, "\"pid\"");
	return i < n && head[i] == '{' &&
		(has(head, n, "\"traceEvents\"") ||
			(has(head, n, "\"schemaVersion\"") &&
				has(head, n, "\"deviceProperties\"")));
}

int chrome_read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .to = to, .e = e };
	char note[120];
	int status;

	json_reader_init(&f.r, input_fill, in);
	status = read_file(&f);
	json_reader_done(&f.r);
	if (status == 0 && !f.events.n)
		status = err_set(
			e, ERR_BAD_FILE, "it holds no spans: no event has the phase X or B");
	if (status == 0) {
		foreign_unit(to, FOREIGN_NS, "");
		make_stacks(&f);
	}
	if (status == 0 && f.n_cut) {
		snprintf(note, sizeof note,
			"%" PRIu64 " events reach beyond the one they began in, and were cut there",
			f.n_cut);
		foreign_note(to, note);
	}
	vec_each (&f.tracks, t) {
		free(t->name);
		vec_done(&t->open);
	}
	vec_done(&f.tracks);
	vec_done(&f.events);
	intern_done(&f.ids);
	map_done(&f.track_of);
	return status;
}
