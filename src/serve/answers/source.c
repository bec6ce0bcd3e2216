/* SPDX-License-Identifier: MIT
 * Answers "files", "source" and "bytecode". Only text that the recording holds is shown: no file is opened because a
 * request, or a recording, names it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/code/disassembly.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/code/bytecode.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "analyze/code/source_texts.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "json/bytecode.h"
#include "json/lines.h"
#include "serve/answers/answer.h"
#include "serve/answers/parts.h"
#include "analyze/code/files.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "store/tables.h"
#include "view/samples/probes.h"
#include "base/banned.h"

enum { LINES = 20000 };

/* ---- files ----------------------------------------------------------------------------------- */

struct file {
	const char *name;
	double self, total; /* total: the largest of its functions */
};

static int by_self(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct file *file_of(struct map *index, struct file *files, size_t *n, const char *name)
{
	uint64_t at;

	if (!map_find(index, (uintptr_t)name, &at)) {
		at = (*n)++;
		files[at].name = name;
		map_put(index, (uintptr_t)name, at);
	}
	return &files[at];
}

static size_t gather_files(const struct selection *s, struct file **ret)
{
	const struct exact_lines *l = s->exact_lines;
	struct file *files =
		xcalloc(s->profile->n_functions + (l ? l->n_functions : 0) + 1, sizeof *files);
	struct map index = MAP_INIT; /* a file's name is one pointer (frames.h) */
	size_t n = 0;

	for (size_t i = 0; i < s->profile->n_functions; i++) {
		const struct profile_function *f = &s->profile->functions[i];
		struct file *x = *f->file ? file_of(&index, files, &n, f->file) : NULL;

		if (!x)
			continue;
		x->self += f->cost.self_value;
		x->total = f->cost.total_value > x->total ? f->cost.total_value : x->total;
	}
	for (size_t i = 0; l && i < l->n_functions; i++) {
		struct file *x = file_of(&index, files, &n, l->functions[i].file);

		x->total = l->functions[i].total_s > x->total ? l->functions[i].total_s : x->total;
	}
	map_done(&index);
	qsort(files, n, sizeof *files, by_self);
	*ret = files;
	return n;
}

int answer_files(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct selection *s;
	struct file *files;
	size_t n;

	if (answer_profile(l, p, &s, e) < 0)
		return -(int)e->code;
	n = gather_files(s, &files);
	answer_total(s, w);
	json_kv_u64(w, "n", n);
	json_key(w, "files");
	json_array_begin(w);
	for (size_t i = 0; i < n && i < ANSWER_FILES; i++) {
		size_t n_lines = source_texts_n_lines(recording_texts(s->recording), files[i].name);

		json_object_begin(w);
		json_kv_string(w, "file", files[i].name);
		json_kv_double(w, "self", files[i].self);
		json_kv_double(w, "total", files[i].total);
		json_kv_u64(w, "n_lines", n_lines);
		json_kv_bool(w, "has_text", n_lines > 0);
		json_kv_bool(w, "is_library", frames_is_library(files[i].name));
		json_object_end(w);
	}
	json_array_end(w);
	free(files);
	return 0;
}

/* ---- source ---------------------------------------------------------------------------------- */

struct source {
	struct selection *s;
	const char *file; /* as it was asked … */
	/* … and the pointer that its functions and lines have; NULL: none is in it */
	const char *own;
	uint32_t functions; /* of it: the first, + 1 (files.h) */
	uint32_t first, last;
};

static void write_sampled(struct source *x, const struct profile_line *l, struct json_writer *w)
{
	struct buf seen = BUF_INIT;

	probes_add_line(x->s->probes, l->file, l->line, l->cost.self_value, &seen);
	json_object_begin(w);
	line_json(x->s->profile, l, w);
	json_kv_string(w, "seen", buf_str(&seen));
	json_object_end(w);
	buf_done(&seen);
}

static void write_counted(const struct exact_lines *of, const struct exact_lines_function *f,
	const struct exact_line *l, struct json_writer *w)
{
	json_object_begin(w);
	counted_line_json(of, f, l, w);
	json_object_end(w);
}

static bool is_shown(const struct source *x, const char *file, int64_t line)
{
	return file == x->own && line >= x->first && line <= x->last;
}

static void write_lines(struct source *x, struct json_writer *w)
{
	const struct profile *p = x->s->profile;
	const struct exact_lines *l = x->s->exact_lines;

	json_key(w, "lines");
	json_array_begin(w);
	for (size_t i = 0; !l && i < p->n_lines; i++)
		if (is_shown(x, p->lines[i].file, p->lines[i].line))
			write_sampled(x, &p->lines[i], w);
	for (size_t i = 0; l && i < l->n_functions; i++)
		for (size_t k = 0; k < l->functions[i].n_lines; k++)
			if (is_shown(x, l->functions[i].file, l->functions[i].lines[k].line))
				write_counted(l, &l->functions[i], &l->functions[i].lines[k], w);
	json_array_end(w);
}

static void write_text(
	const struct source *x, const struct source_texts *texts, struct json_writer *w)
{
	json_key(w, "text");
	json_array_begin(w);
	for (uint32_t i = x->first; i <= x->last && i <= source_texts_n_lines(texts, x->file);
		i++) {
		struct text_line line = source_texts_line(texts, x->file, (int)i);

		json_string_n(w, line.p ? line.p : "", line.n);
	}
	json_array_end(w);
}

/* Those of the file, and which of them bytecode is held of. */
static void write_functions(struct source *x, struct json_writer *w)
{
	const struct files *files = x->s->recording->files;
	struct mentioned functions = { 0 };

	json_key(w, "bytecode");
	json_array_begin(w);
	for (uint32_t f = x->functions; f; f = files->next[f - 1]) {
		if (files->has_bytecode[f - 1])
			json_u64(w, f - 1);
		mention(&functions, f - 1);
	}
	json_array_end(w);
	answer_functions(&functions, x->s->recording->frames, w);
}

/* What to know of the file, or else of its numbers. */
static const char *note_of(
	const struct selection *s, const struct source_texts *texts, const char *file)
{
	const char *note = source_texts_note(texts, file);

	return *note || !s->exact_lines ? note : exact_lines_note(s->exact_lines);
}

int answer_source(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct source x = { .file = params_find(p, "file"), .first = 1 };
	const struct source_texts *texts;
	struct selection *s;

	if (answer_profile(l, p, &s, e) < 0 || params_u32(p, "first", INT32_MAX, &x.first, e) < 0)
		return -(int)e->code;
	if (!x.file || !*x.file)
		return err_set(e, ERR_USAGE, "file: whose source?");
	x.s = s;
	x.first += x.first == 0;
	x.last = x.first + LINES - 1;
	if (params_u32(p, "last", INT32_MAX, &x.last, e) < 0)
		return -(int)e->code;
	if (x.last - x.first >= LINES)
		x.last = x.first + LINES - 1;
	x.own = files_find(recording_files(s->recording), x.file, &x.functions);
	texts = recording_texts(s->recording);
	json_kv_string(w, "file", x.file);
	json_kv_string(w, "note", note_of(s, texts, x.file));
	json_kv_u64(w, "n_lines", source_texts_n_lines(texts, x.file));
	json_kv_u64(w, "first", x.first);
	answer_total(s, w);
	write_text(&x, texts, w);
	write_lines(&x, w);
	write_functions(&x, w);
	return 0;
}

/* ---- bytecode -------------------------------------------------------------------------------- */

int answer_bytecode(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct arena a = ARENA_INIT;
	const struct disassembly *d;
	struct selection *s;
	uint32_t function;
	size_t n = 0;

	if (answer_profile(l, p, &s, e) < 0 || answer_function(s, p, &function, e) < 0)
		return -(int)e->code;
	if (s->memory)
		return err_set(e, ERR_UNSUPPORTED,
			"instructions are shown with their time: choose time instead of memory");
	d = !recording_files(s->recording)->has_bytecode[function]
		? NULL
		: disassembly_build(&a, s->stacks, function,
			  &(struct disassembly_options){ .lost_share = selection_lost_share(s),
				  .texts = recording_texts(s->recording),
				  .lines = s->exact_lines },
			  &n);
	if (!n) {
		arena_done(&a);
		return err_set(e, ERR_UNSUPPORTED, "the recording holds no bytecode of %.200s: %s",
			frames_function(s->recording->frames, function)->name,
			recording_why(s->recording,
				"it is kept of functions that ten samples or more ended in"));
	}
	json_kv_u64(w, "function_id", function);
	answer_total(s, w);
	bytecode_json(d, n, w);
	arena_done(&a);
	return 0;
}
