/* SPDX-License-Identifier: MIT
 * See stacks.h. */
#include "analyze/torch/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "analyze/torch/events.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/foreign.h"
#include "store/reader.h"
#include "store/writer.h"
#include "base/banned.h"

#define NO_END INT64_MIN /* of what has not ended yet */

struct span {
	int64_t start, end; /* ns */
	uint32_t frame, track;
	uint32_t number; /* in the file: of equal ones the first is the outer one */
};

struct track { /* a thread */
	uint32_t pid, tid;
	const char *name; /* borrowed */
	VEC(size_t) open; /* spans begun by "B" */
};

struct builder {
	const struct op_events *x;
	struct foreign *to;
	struct intern ids;   /* texts of "pid" and "tid" that are no numbers */
	struct map track_of; /* pid << 32 | tid → index in tracks */
	VEC(struct track) tracks;
	uint32_t *of_torch, *of_others; /* tracks of both as index + 1; 0: not met yet */
	uint32_t *frames;               /* by torch's names, row; 0: not made yet */
	uint32_t *other_frames;         /* the same by texts of others without a file */
	struct span *spans;
	size_t n_spans;
	struct buf text;
	uint64_t n_cut;
};

/* ---- spans in the file's order --------------------------------------------------------------- */

/* The number a text is, or one that is made for it. */
static uint32_t number_of(struct builder *b, const char *text, size_t n)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (n && !*end && value <= UINT32_MAX)
		return (uint32_t)value;
	return intern_add(&b->ids, text, n, NULL) + 1;
}

/* key: pid, NUL, tid. */
static uint32_t make_track(struct builder *b, const struct intern_item *key)
{
	const char *pid = key->p;
	size_t n_pid = strlen(pid);
	const char *tid = n_pid < key->n ? pid + n_pid + 1 : "";
	struct track t = { .pid = number_of(b, pid, n_pid), .name = "" };
	uint64_t at;

	t.tid = number_of(b, tid, strlen(tid));
	if (map_find(&b->track_of, (uint64_t)t.pid << 32 | t.tid, &at))
		return (uint32_t)at;
	foreign_hold(b->to, sizeof t + BUDGET_RECORD_BYTES);
	map_put(&b->track_of, (uint64_t)t.pid << 32 | t.tid, b->tracks.n);
	vec_push(&b->tracks, t);
	return (uint32_t)b->tracks.n - 1;
}

static uint32_t track_of(
	struct builder *b, const struct intern *tracks, uint32_t *known, uint32_t track)
{
	if (!known[track])
		known[track] = make_track(b, intern_get(tracks, track)) + 1;
	return known[track] - 1;
}

static uint32_t frame_of(struct builder *b, uint32_t name)
{
	const struct intern_item *text = intern_get(&b->x->names, name);

	if (b->frames[name])
		return b->frames[name];
	buf_clear(&b->text);
	text_add_valid(&b->text, text->p, text->n);
	b->frames[name] =
		foreign_frame(b->to, b->text.n ? buf_str(&b->text) : "(no name)", "", 0, 0);
	return b->frames[name];
}

static uint32_t other_frame_of(struct builder *b, const struct op_other *x)
{
	const struct intern *texts = &b->x->others.texts;
	const char *name = x->name ? intern_get(texts, x->name)->p : "(no name)";

	if (x->file || x->line)
		return foreign_frame(b->to, name, intern_get(texts, x->file)->p, 0, x->line);
	if (!b->other_frames[x->name])
		b->other_frames[x->name] = foreign_frame(b->to, name, "", 0, 0);
	return b->other_frames[x->name];
}

static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
	int64_t end;

	return __builtin_add_overflow(start_ns, duration_ns, &end) ? INT64_MAX : end;
}

static struct span *add_span(struct builder *b, uint32_t track, uint32_t frame)
{
	struct span *s = &b->spans[b->n_spans];

	*s = (struct span){ .frame = frame, .track = track, .number = (uint32_t)b->n_spans };
	b->n_spans++;
	return s;
}

static void take_event(struct builder *b, const struct op_event *x)
{
	/* Written wider by 1 ns on each side, so that what it is around lies in it: here it must. */
	int64_t wider = x->category == OP_DEVICE_ANNOTATION;
	struct span *s = add_span(
		b, track_of(b, &b->x->tracks, b->of_torch, x->track), frame_of(b, x->name));

	s->start = x->start_ns - wider;
	s->end = end_of(s->start, x->duration_ns + 2 * wider);
}

static void take_other(struct builder *b, const struct op_other *x)
{
	const struct op_others *all = &b->x->others;
	uint32_t track = track_of(b, &all->tracks, b->of_others, x->track);
	struct track *t = &b->tracks.v[track];
	struct span *s;

	if (x->phase == 'M') {
		t->name = intern_get(&all->texts, x->name)->p;
	} else if (x->phase != 'E') {
		if (x->phase == 'B')
			vec_push(&t->open, b->n_spans);
		s = add_span(b, track, other_frame_of(b, x));
		s->start = x->start_ns;
		s->end = x->phase == 'B' ? NO_END : x->end_ns;
	} else if (t->open.n) {
		s = &b->spans[t->open.v[--t->open.n]];
		s->end = x->start_ns > s->start ? x->start_ns : s->start;
	}
}

static void take_all(struct builder *b)
{
	const struct op_others *others = &b->x->others;
	size_t next = 0;

	for (size_t i = 0; i <= b->x->v.n; i++) {
		while (next < others->v.n && others->v.v[next].after == i)
			take_other(b, &others->v.v[next++]);
		if (i < b->x->v.n)
			take_event(b, &b->x->v.v[i]);
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct level {
	int64_t end;
	uint32_t stack;
};

struct replay {
	struct builder *b;
	int64_t zero, at;
	uint32_t thread;
	VEC(struct level) levels;
};

/* From an earlier time to a later one. */
static uint64_t between(int64_t from, int64_t to)
{
	uint64_t ns = (uint64_t)to - (uint64_t)from;

	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* What is innermost has the time until then. */
static void pass(struct replay *p, int64_t until)
{
	if (until <= p->at)
		return;
	if (p->levels.n)
		foreign_weight(p->b->to, p->thread, p->levels.v[p->levels.n - 1].stack,
			between(p->zero, p->at), 0, between(p->at, until));
	p->at = until;
}

static void leave(struct replay *p, int64_t until)
{
	while (p->levels.n && p->levels.v[p->levels.n - 1].end <= until) {
		pass(p, p->levels.v[p->levels.n - 1].end);
		p->levels.n--;
	}
	pass(p, until);
}

static void enter(struct replay *p, const struct span *x)
{
	struct level inner = { .end = x->end };
	uint32_t parent = 0;

	if (p->levels.n >= STACKS_DEPTH)
		return;
	if (p->levels.n) {
		const struct level *outer = &p->levels.v[p->levels.n - 1];

		p->b->n_cut += inner.end > outer->end;
		inner.end = inner.end < outer->end ? inner.end : outer->end;
		parent = outer->stack;
	}
	inner.stack = foreign_stack(p->b->to, parent, x->frame);
	vec_push(&p->levels, inner);
}

/* What has not ended does with the last of all; returns the first moment. */
static int64_t settle(struct builder *b)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < b->n_spans; i++) {
		const struct span *s = &b->spans[i];

		first = s->start < first ? s->start : first;
		last = s->start > last ? s->start : last;
		last = s->end > last ? s->end : last;
	}
	for (size_t i = 0; i < b->n_spans; i++)
		if (b->spans[i].end == NO_END)
			b->spans[i].end = last;
	return first;
}

static void make_stacks(struct builder *b)
{
	struct replay p = { .b = b, .zero = settle(b) };
	uint32_t track = UINT32_MAX;

	if (b->n_spans)
		qsort(b->spans, b->n_spans, sizeof *b->spans, by_time);
	for (size_t i = 0; i < b->n_spans && foreign_goes_on(b->to); i++) {
		const struct span *x = &b->spans[i];

		if (x->track != track) {
			const struct track *t = &b->tracks.v[x->track];

			leave(&p, INT64_MAX);
			track = x->track;
			p.at = x->start;
			p.thread = foreign_thread(b->to, t->pid, t->tid, t->name);
		}
		leave(&p, x->start);
		enter(&p, x);
	}
	leave(&p, INT64_MAX);
	vec_done(&p.levels);
}

/* ---- the recording --------------------------------------------------------------------------- */

static void builder_init(struct builder *b, const struct op_events *x, struct foreign *to, size_t n)
{
	*b = (struct builder){ .x = x, .to = to };
	b->spans = xcalloc(n, sizeof *b->spans);
	b->of_torch = xcalloc(x->tracks.items.n + 1, sizeof *b->of_torch);
	b->of_others = xcalloc(x->others.tracks.items.n + 1, sizeof *b->of_others);
	b->frames = xcalloc(x->names.items.n + 1, sizeof *b->frames);
	b->other_frames = xcalloc(x->others.texts.items.n + 1, sizeof *b->other_frames);
}

static void builder_done(struct builder *b)
{
	vec_each (&b->tracks, t)
		vec_done(&t->open);
	vec_done(&b->tracks);
	intern_done(&b->ids);
	map_done(&b->track_of);
	buf_done(&b->text);
	free(b->spans);
	free(b->of_torch);
	free(b->of_others);
	free(b->frames);
	free(b->other_frames);
}

/* Whoever sees the stacks should know what of the file they are not made of. */
static void add_note(struct builder *b)
{
	const char *missing = op_events_missing(b->x);

	buf_clear(&b->text);
	if (b->n_cut)
		buf_printf(&b->text,
			"%" PRIu64 " events reach beyond the one they began in, and were cut there",
			b->n_cut);
	if (*missing)
		buf_printf(&b->text, "%s%s", b->text.n ? "; " : "", missing);
	if (b->text.n)
		foreign_note(b->to, buf_str(&b->text));
}

int op_stacks_write(const struct op_events *x, struct foreign *to, struct err *e)
{
	size_t n = x->v.n + (size_t)x->others.n_spans;
	struct builder b;

	if (!n)
		return err_set(e, ERR_BAD_FILE, "it holds no spans: no event has the phase X or B");
	foreign_hold(to, n * sizeof *b.spans);
	if (!foreign_goes_on(to))
		return budget_error(to->budget, e);
	builder_init(&b, x, to, n);
	foreign_unit(to, FOREIGN_NS, "");
	take_all(&b);
	make_stacks(&b);
	add_note(&b);
	builder_done(&b);
	return 0;
}

int op_stacks_open(struct reader **ret, const struct op_events *x, const char *name, struct err *e)
{
	/* The operators of a recording were measured when it was opened. */
	struct budget budget = x->budget.file_bytes ? x->budget : budget_for(UINT64_MAX);
	struct err ignored = ERR_INIT;
	struct foreign to = { 0 };
	int fd, status;

	if (foreign_begin(&to, "chrome", &budget, e) < 0)
		return err_note(e, "%s", name);
	status = op_stacks_write(x, &to, e);
	foreign_done(&to);
	if (status < 0) {
		writer_close(to.w, &ignored);
		return err_note(e, "%s: read as a chrome file", name);
	}
	if (writer_close_keep_fd(to.w, &fd, e) < 0)
		return err_note(e, "%s", name);
	return reader_open_own(ret, fd, name, e);
}
