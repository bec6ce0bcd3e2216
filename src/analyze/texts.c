/* SPDX-License-Identifier: MIT
 * See texts.h. */
#include "analyze/texts.h"

#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct file {
	const char *name, *text;
	size_t n; /* bytes */
	enum source_state state;
	const uint32_t
		*starts; /* byte at which each line begins, and the end; NULL: not counted yet */
	size_t n_lines;
};

struct texts {
	struct arena *a;
	struct file *files;
	size_t n;
};

struct texts *texts_load(struct arena *a, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_source);
	struct texts *x = arena_new(a, struct texts);
	VEC(struct file) files = VEC_INIT;

	for (const struct rec_source *r; (r = record_next(&it));)
		vec_push(&files,
			(struct file){ .name = tables_string(t, r->file),
				.text = arena_copy(a, r->text.p, r->text.n),
				.n = r->text.n,
				.state = r->state });
	record_iter_done(&it);
	x->a = a;
	x->n = files.n;
	x->files = arena_copy(a, files.v, files.n * sizeof *files.v);
	vec_done(&files);
	return x;
}

/* Of several with that name, the first that has a text: a program may have told what no file holds. */
static struct file *find(const struct texts *t, const char *file)
{
	struct file *found = NULL;

	for (size_t i = 0; i < t->n && !(found && found->n); i++)
		if (t->files[i].name == file || strcmp(t->files[i].name, file) == 0)
			found = found && !t->files[i].n ? found : &t->files[i];
	return found;
}

void texts_put(struct texts *t, const char *file, const char *text, size_t n)
{
	struct file *files;

	if (find(t, file))
		return;
	files = arena_new_n(t->a, struct file, t->n + 1);
	if (t->n)
		memcpy(files, t->files, t->n * sizeof *files);
	files[t->n++] = (struct file){
		.name = file, .text = arena_copy(t->a, text, n), .n = n, .state = SOURCE_AS_RUN
	};
	t->files = files;
}

static void count_lines(const struct texts *t, struct file *f)
{
	VEC(uint32_t) starts = VEC_INIT;

	for (size_t at = 0; at < f->n;) {
		const char *end = memchr(f->text + at, '\n', f->n - at);

		vec_push(&starts, (uint32_t)at);
		at = end ? (size_t)(end - f->text) + 1 : f->n;
	}
	f->n_lines = starts.n;
	vec_push(&starts, (uint32_t)f->n);
	f->starts = arena_copy(t->a, starts.v, starts.n * sizeof *starts.v);
	vec_done(&starts);
}

static struct file *with_lines(const struct texts *t, const char *file)
{
	struct file *f = find(t, file);

	if (f && !f->starts)
		count_lines(t, f);
	return f;
}

size_t texts_n_lines(const struct texts *t, const char *file)
{
	const struct file *f = with_lines(t, file);

	return f ? f->n_lines : 0;
}

struct text_line texts_line(const struct texts *t, const char *file, int line)
{
	const struct file *f = with_lines(t, file);
	struct text_line r = { 0 };

	if (!f || line < 1 || (size_t)line > f->n_lines)
		return r;
	r.p = f->text + f->starts[line - 1];
	r.n = f->starts[line] - f->starts[line - 1];
	while (r.n && (r.p[r.n - 1] == '\n' || r.p[r.n - 1] == '\r'))
		r.n--;
	return r;
}

const char *texts_note(const struct texts *t, const char *file)
{
	const struct file *f = find(t, file);

	if (!f)
		return "the recording does not hold it";
	switch (f->state) {
	case SOURCE_AS_RUN:
		return "";
	case SOURCE_CHANGED:
		return "changed after the program started: lines may not fit";
	case SOURCE_MISSING:
		return "was not there when the recording ended";
	case SOURCE_TOO_LARGE:
		return "too large to be recorded";
	}
	return "";
}
