/* SPDX-License-Identifier: MIT
 *
 * Reads the Firefox Profiler's processed profiles: those whose tables all threads share (from version 58 on, in steps) and
 * those with tables in each thread (what CPython's sampler and samply write). Where shared tables stand behind the threads,
 * the file is read twice. Threads weighed by something else than the first are left out, and told; so are markers and
 * counters, which are no stacks. A stack is weighed in samples unless the file says ms or bytes. */
#include "formats/firefox.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "base/banned.h"

struct column {
	VEC(int32_t) v; /* −1: null */
};

struct numbers {
	VEC(double) v; /* NAN: null */
};

struct text {
	const char *p;
	size_t n;
};

/* What is a thread's own, or all threads'. */
struct scope {
	struct column stack_frame, stack_prefix, stack_back, frame_func, frame_line, func_name,
		func_file, func_source, func_resource, func_line, source_name, resource_name;
	VEC(struct text) strings;
	bool has_strings;
	struct arena arena; /* of strings */
};

static const struct {
	const char *table, *column;
	size_t at;
} columns[] = { { "stackTable", "frame", offsetof(struct scope, stack_frame) },
	{ "stackTable", "prefix", offsetof(struct scope, stack_prefix) },
	{ "stackTable", "prefixOffset", offsetof(struct scope, stack_back) },
	{ "frameTable", "func", offsetof(struct scope, frame_func) },
	{ "frameTable", "line", offsetof(struct scope, frame_line) },
	{ "funcTable", "name", offsetof(struct scope, func_name) },
	{ "funcTable", "fileName", offsetof(struct scope, func_file) },
	{ "funcTable", "source", offsetof(struct scope, func_source) },
	{ "funcTable", "resource", offsetof(struct scope, func_resource) },
	{ "funcTable", "lineNumber", offsetof(struct scope, func_line) },
	{ "sources", "filename", offsetof(struct scope, source_name) },
	{ "resourceTable", "name", offsetof(struct scope, resource_name) } };
enum { COLUMNS = sizeof columns / sizeof *columns, TAKEN = 64 }; /* numbers at a time */

enum weight_type { WEIGHT_SAMPLES, WEIGHT_MS, WEIGHT_BYTES, WEIGHT_OTHER };

struct thread {
	struct scope own;
	char name[200];
	uint32_t pid, tid;
	enum weight_type weight_type;
	struct column stacks;
	struct numbers times, weights;
	bool are_deltas;
};

struct file {
	struct json_reader r;
	struct foreign *to;
	struct err *e;
	struct scope shared;
	struct thread thread; /* at hand */
	VEC(uint32_t) rows;   /* of the stacks of rows_of */
	const struct scope *rows_of;
	bool has_shared, is_behind, is_processed, is_ours, has_unit;
	enum weight_type unit;
	uint32_t n_threads, n_left_out;
};

static int bad(struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": %s", json_offset(&f->r), what);
}

static int next(struct file *f, enum json_token *ret)
{
	return json_next(&f->r, ret, f->e);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A number of an array, NAN for null; 0 at its end. */
static int next_item(struct file *f, double *ret)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t == JSON_ARRAY_END)
		return 0;
	if (t != JSON_NUMBER && t != JSON_NULL)
		return bad(f, "a column holds something that is not a number");
	*ret = t == JSON_NUMBER ? json_number_double(&f->r) : NAN;
	return 1;
}

static int read_indices(struct file *f, struct column *to)
{
	double value;
	int status;

	vec_clear(&to->v);
	do {
		uint32_t many[TAKEN];
		size_t n = json_take_u32s(&f->r, many, TAKEN);

		for (size_t i = 0; i < n; i++)
			vec_push(&to->v, (int32_t)many[i]);
		status = next_item(f, &value);
		if (status > 0)
			vec_push(&to->v, value >= 0 && value < INT32_MAX ? (int32_t)value : -1);
	} while (status > 0);
	return status;
}

static int read_numbers(struct file *f, struct numbers *to)
{
	double value;
	int status;

	vec_clear(&to->v);
	do {
		vec_reserve(&to->v, TAKEN + 1);
		to->v.n += json_take_doubles(&f->r, to->v.v + to->v.n, TAKEN);
		status = next_item(f, &value);
		if (status > 0)
			vec_push(&to->v, value);
	} while (status > 0);
	return status;
}

static int32_t at(const struct column *c, int32_t i)
{
	return i >= 0 && (size_t)i < c->v.n ? c->v.v[i] : -1;
}

static int read_strings(struct file *f, struct scope *s)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_ARRAY_BEGIN)
		return bad(f, "the strings are not an array");
	vec_clear(&s->strings);
	while (next(f, &t) == 0 && t == JSON_STRING)
		vec_push(&s->strings,
			(struct text){ arena_strndup(&s->arena, f->r.text, f->r.n), f->r.n });
	if (f->e->code)
		return -(int)f->e->code;
	s->has_strings = true;
	return t == JSON_ARRAY_END ? 0 : bad(f, "one of the strings is not a string");
}

/* Reads over the value whose first token was just read. */
static int skip_begun(struct file *f, enum json_token t)
{
	return t == JSON_OBJECT_BEGIN || t == JSON_ARRAY_BEGIN ? json_skip(&f->r, f->e) : 0;
}

static int read_table(struct file *f, struct scope *s, const char *table)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_OBJECT_BEGIN)
		return bad(f, "a table is not an object");
	while (next(f, &t) == 0 && t == JSON_KEY) {
		struct column *to = NULL;

		for (size_t i = 0; i < COLUMNS; i++)
			if (strcmp(columns[i].table, table) == 0 &&
				json_text_is(&f->r, columns[i].column))
				to = (struct column *)(void *)((char *)s + columns[i].at);
		if (next(f, &t) < 0 ||
			(to && t == JSON_ARRAY_BEGIN ? read_indices(f, to) : skip_begun(f, t)) < 0)
			return -(int)f->e->code;
	}
	return -(int)f->e->code;
}

/* A key of a thread, or of what all share: 1 where it is one of these tables. */
static int read_scope_key(struct file *f, struct scope *s, const char *key)
{
	if (strcmp(key, "stringArray") == 0 || strcmp(key, "stringTable") == 0)
		return read_strings(f, s) < 0 ? -(int)f->e->code : 1;
	for (size_t i = 0; i < COLUMNS; i++)
		if (strcmp(columns[i].table, key) == 0)
			return read_table(f, s, columns[i].table) < 0 ? -(int)f->e->code : 1;
	return 0;
}

static void scope_clear(struct scope *s)
{
	for (size_t i = 0; i < COLUMNS; i++)
		vec_clear(&((struct column *)(void *)((char *)s + columns[i].at))->v);
	vec_clear(&s->strings);
	s->has_strings = false;
	arena_done(&s->arena);
	s->arena = (struct arena)ARENA_INIT;
}

static void scope_done(struct scope *s)
{
	for (size_t i = 0; i < COLUMNS; i++)
		vec_done(&((struct column *)(void *)((char *)s + columns[i].at))->v);
	vec_done(&s->strings);
	arena_done(&s->arena);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Tables that a thread does not have are the shared ones. */
static const struct scope *scope_for(const struct file *f, size_t n_own)
{
	return n_own ? &f->thread.own : &f->shared;
}

static struct text string_at(const struct file *f, int32_t i)
{
	const struct scope *s = f->thread.own.has_strings ? &f->thread.own : &f->shared;

	return i >= 0 && (size_t)i < s->strings.n ? s->strings.v[i] : (struct text){ "", 0 };
}

static uint32_t frame_row(const struct file *f, int32_t frame)
{
	const struct scope *frames = scope_for(f, f->thread.own.frame_func.v.n),
			   *functions = scope_for(f, f->thread.own.func_name.v.n),
			   *sources = scope_for(f, f->thread.own.source_name.v.n),
			   *resources = scope_for(f, f->thread.own.resource_name.v.n);
	int32_t function = at(&frames->frame_func, frame), line = at(&frames->frame_line, frame),
		first_line = at(&functions->func_line, function),
		file = at(&functions->func_file, function);
	struct text name = string_at(f, at(&functions->func_name, function)), path;

	if (file < 0)
		file = at(&sources->source_name, at(&functions->func_source, function));
	if (file < 0)
		file = at(&resources->resource_name, at(&functions->func_resource, function));
	path = string_at(f, file);
	return foreign_frame_n(f->to, name.p, name.n, path.p, path.n,
		line > 0 && !f->is_ours ? (uint64_t)line : 0,
		first_line > 0 ? (uint32_t)first_line : 0);
}

/* The table has callers before those they call. */
static int make_rows(struct file *f)
{
	const struct scope *s = scope_for(f, f->thread.own.stack_frame.v.n);
	size_t n = s->stack_frame.v.n;
	uint16_t *depth;
	uint32_t *frame_rows; /* by frame; 0: not made yet */
	size_t n_frames = scope_for(f, f->thread.own.frame_func.v.n)->frame_func.v.n;
	int status = 0;

	if (f->rows_of == s && s == &f->shared)
		return 0;
	depth = xcalloc(n + 1, sizeof *depth);
	frame_rows = xcalloc(n_frames + 1, sizeof *frame_rows);
	vec_clear(&f->rows);
	for (size_t i = 0; i < n && status == 0; i++) {
		int32_t prefix = at(&s->stack_prefix, (int32_t)i),
			back = at(&s->stack_back, (int32_t)i), frame;

		if (s->stack_back.v.n)
			prefix = back > 0 ? (int32_t)i - back : -1;
		if (prefix >= (int32_t)i || (back > 0 && prefix < 0))
			status = bad(f, "a stack's caller comes after it");
		else if (prefix >= 0 && depth[prefix] + 1 >= STACKS_DEPTH)
			status = bad(f, "a stack has too many frames");
		if (status < 0)
			break;
		depth[i] = prefix >= 0 ? (uint16_t)(depth[prefix] + 1) : 0;
		frame = s->stack_frame.v.v[i];
		frame = frame >= 0 && (size_t)frame < n_frames ? frame : (int32_t)n_frames;
		if (!frame_rows[frame])
			frame_rows[frame] = frame_row(f, frame);
		vec_push(&f->rows,
			foreign_stack(
				f->to, prefix >= 0 ? f->rows.v[prefix] : 0, frame_rows[frame]));
	}
	free(depth);
	free(frame_rows);
	f->rows_of = s;
	return status;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int read_samples(struct file *f)
{
	static const char *const types[] = { "samples", "tracing-ms", "bytes" };
	struct thread *x = &f->thread;
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_OBJECT_BEGIN)
		return bad(f, "the samples are not an object");
	while (next(f, &t) == 0 && t == JSON_KEY) {
		char key[16];
		int status = 0;

		json_copy_text(&f->r, key, sizeof key);
		if (next(f, &t) < 0)
			break;
		if (t == JSON_ARRAY_BEGIN && strcmp(key, "stack") == 0) {
			status = read_indices(f, &x->stacks);
		} else if (t == JSON_ARRAY_BEGIN &&
			(strcmp(key, "time") == 0 || strcmp(key, "timeDeltas") == 0)) {
			x->are_deltas = key[4] != '\0';
			status = read_numbers(f, &x->times);
		} else if (t == JSON_ARRAY_BEGIN && strcmp(key, "weight") == 0) {
			status = read_numbers(f, &x->weights);
		} else if (t == JSON_STRING && strcmp(key, "weightType") == 0) {
			x->weight_type = WEIGHT_OTHER;
			for (size_t i = 0; i < sizeof types / sizeof *types; i++)
				if (json_text_is(&f->r, types[i]))
					x->weight_type = (enum weight_type)i;
		} else {
			status = skip_begun(f, t);
		}
		if (status < 0)
			return status;
	}
	return -(int)f->e->code;
}

static int keep(struct file *f)
{
	struct thread *x = &f->thread;
	uint32_t thread;
	double t_ms = 0;

	if (x->weights.v.n && x->weights.v.n != x->stacks.v.n)
		return bad(f, "a thread has different numbers of samples and weights");
	if (make_rows(f) < 0)
		return -(int)f->e->code;
	thread = foreign_thread(f->to, x->pid, x->tid, x->name);
	for (size_t i = 0; i < x->stacks.v.n; i++) {
		double weight = x->weights.v.n ? x->weights.v.v[i] : 1;
		int32_t stack = x->stacks.v.v[i];
		bool is_count = x->weight_type == WEIGHT_SAMPLES;

		if (i < x->times.v.n && !isnan(x->times.v.v[i]))
			t_ms = x->are_deltas ? t_ms + x->times.v.v[i] : x->times.v.v[i];
		if (stack < 0 || !(weight > 0))
			continue;
		if ((size_t)stack >= f->rows.n)
			return bad(f, "a sample has a stack that is not in the table");
		foreign_weight(f->to, thread, f->rows.v[stack], foreign_value(t_ms * 1e6),
			is_count ? foreign_value(weight) : 0,
			foreign_value(x->weight_type == WEIGHT_MS ? weight * 1e6 : weight));
	}
	return 0;
}

/* Of a thread that was read whole. */
static int finish_thread(struct file *f)
{
	static const enum foreign_unit units[] = { FOREIGN_COUNT, FOREIGN_NS, FOREIGN_BYTES };
	struct thread *x = &f->thread;
	bool has_tables = x->own.stack_frame.v.n > 0 && x->own.has_strings;

	f->n_threads++;
	if (!x->stacks.v.n)
		return 0;
	if (!has_tables && !f->has_shared) {
		f->is_behind = true;
		return 0;
	}
	if (!x->weights.v.n)
		x->weight_type = WEIGHT_SAMPLES;
	if (!f->has_unit && x->weight_type != WEIGHT_OTHER) {
		f->unit = x->weight_type;
		f->has_unit = true;
		foreign_unit(f->to, units[f->unit], "");
	}
	if (!f->has_unit || x->weight_type != f->unit) {
		f->n_left_out++;
		return 0;
	}
	return keep(f);
}

static uint32_t id_of(const struct json_reader *r, enum json_token t)
{
	char text[16];
	uint64_t number;

	if (t == JSON_NUMBER && json_number_u64(r, &number))
		return number <= UINT32_MAX ? (uint32_t)number : 0;
	if (t != JSON_STRING)
		return 0;
	json_copy_text(r, text, sizeof text);
	return (uint32_t)strtoul(text, NULL, 10);
}

static int read_thread(struct file *f)
{
	struct thread *x = &f->thread;
	enum json_token t;

	scope_clear(&x->own);
	vec_clear(&x->stacks.v);
	vec_clear(&x->times.v);
	vec_clear(&x->weights.v);
	x->weight_type = WEIGHT_SAMPLES;
	*x->name = '\0';
	x->pid = x->tid = 0;
	while (next(f, &t) == 0 && t == JSON_KEY) {
		char key[20];
		int status;

		json_copy_text(&f->r, key, sizeof key);
		status = read_scope_key(f, &x->own, key);
		if (status == 0 && strcmp(key, "samples") == 0)
			status = read_samples(f) < 0 ? -(int)f->e->code : 1;
		if (status < 0)
			return status;
		if (status > 0)
			continue;
		if (next(f, &t) < 0)
			break;
		if (t == JSON_STRING && strcmp(key, "name") == 0)
			json_copy_text(&f->r, x->name, sizeof x->name);
		else if (strcmp(key, "pid") == 0)
			x->pid = id_of(&f->r, t);
		else if (strcmp(key, "tid") == 0)
			x->tid = id_of(&f->r, t);
		if (skip_begun(f, t) < 0)
			break;
	}
	return f->e->code ? -(int)f->e->code : finish_thread(f);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_threads(struct file *f)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_ARRAY_BEGIN)
		return bad(f, "the threads are not an array");
	while (next(f, &t) == 0 && t == JSON_OBJECT_BEGIN)
		if (read_thread(f) < 0)
			return -(int)f->e->code;
	if (f->e->code || t == JSON_ARRAY_END)
		return -(int)f->e->code;
	return bad(f, "a thread is not an object");
}

static int read_shared(struct file *f)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_OBJECT_BEGIN)
		return bad(f, "what threads share is not an object");
	while (next(f, &t) == 0 && t == JSON_KEY) {
		char key[20];
		int status;

		json_copy_text(&f->r, key, sizeof key);
		status = read_scope_key(f, &f->shared, key);
		if (status == 0)
			status = json_skip(&f->r, f->e);
		if (status < 0)
			return status;
	}
	f->has_shared = true;
	return -(int)f->e->code;
}

static int read_meta(struct file *f)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_OBJECT_BEGIN)
		return bad(f, "meta is not an object");
	while (next(f, &t) == 0 && t == JSON_KEY) {
		bool is_from = json_text_is(&f->r, "importedFrom");

		f->is_processed |= json_text_is(&f->r, "preprocessedProfileVersion");
		if (next(f, &t) < 0)
			break;
		if (is_from && t == JSON_STRING)
			f->is_ours = f->r.n > 8 && memcmp(f->r.text, "leadline", 8) == 0;
		if (skip_begun(f, t) < 0)
			break;
	}
	return -(int)f->e->code;
}

static int read_file(struct file *f)
{
	enum json_token t;

	if (next(f, &t) < 0)
		return -(int)f->e->code;
	if (t != JSON_OBJECT_BEGIN)
		return bad(f, "expected an object");
	while (next(f, &t) == 0 && t == JSON_KEY) {
		int status = json_text_is(&f->r, "meta")                  ? read_meta(f)
			: json_text_is(&f->r, "shared") && !f->has_shared ? read_shared(f)
			: json_text_is(&f->r, "threads")                  ? read_threads(f)
									  : json_skip(&f->r, f->e);

		if (status < 0)
			return status;
		if (f->is_behind && f->has_shared)
			return 0; /* once more, with the tables */
	}
	return -(int)f->e->code;
}

static int read_all(struct file *f, struct input *in)
{
	int status;

	json_reader_init(&f->r, input_fill, in);
	status = read_file(f);
	json_reader_done(&f->r);
	if (status < 0 || !f->is_behind)
		return status;
	if (!f->has_shared)
		return err_set(f->e, ERR_BAD_FILE, "its threads have no tables of stacks");
	if (f->n_threads > 1 && f->has_unit) /* some were kept already: nobody writes such files */
		return err_set(f->e, ERR_BAD_FILE, "only some of its threads have tables");
	if (input_rewind(in, f->e) < 0)
		return -(int)f->e->code;
	f->is_behind = false;
	json_reader_init(&f->r, input_fill, in);
	status = read_file(f);
	json_reader_done(&f->r);
	return status;
}

int firefox_read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .to = to, .e = e };
	char note[100];
	int status = read_all(&f, in);

	if (status == 0 && !f.is_processed)
		status = err_set(e, ERR_BAD_FILE,
			"it is not processed: open it in the Firefox Profiler and save it there");
	if (status == 0 && !f.has_unit)
		status = err_set(e, ERR_BAD_FILE, "it holds no samples");
	if (status == 0 && f.n_left_out) {
		snprintf(note, sizeof note, "%u threads with another kind of weight were left out",
			f.n_left_out);
		foreign_note(to, note);
	}
	scope_done(&f.shared);
	scope_done(&f.thread.own);
	vec_done(&f.thread.stacks.v);
	vec_done(&f.thread.times.v);
	vec_done(&f.thread.weights.v);
	vec_done(&f.rows);
	return status;
}

/* The first key is "meta", and holds what only such a file's does. */
bool firefox_recognise(const char *head, size_t n)
{
	static const char *const words[] = { "\"preprocessedProfileVersion\"", "\"processType\"",
		"\"stackwalk\"", "\"categories\"" };
	size_t i = 0;

	while (i < n && (head[i] == '{' || (head[i] && strchr(" \t\r\n", head[i]))))
		i++;
	if (n - i < 6 || memcmp(head + i, "\"meta\"", 6) != 0)
		return false;
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (memmem(head, n, words[k], strlen(words[k])))
			return true;
	return false;
}
