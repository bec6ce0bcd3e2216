/* SPDX-License-Identifier: MIT
 * See source_texts.h. */
#include "analyze/code/source_texts.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct file {
	const char *name, *text;
	size_t n; /* bytes */
	enum source_state state;
	/* byte at which each line begins, and the end; NULL: not counted yet */
	const uint32_t *starts;
	size_t n_lines;
};

struct source_texts {
	struct arena *a;
	struct file *files;
	size_t n, capacity;
	uint32_t *slots; /* by hash of the name: index + 1; half of them are free at least */
	size_t n_slots;  /* power of two */
};

/* The slot of that name, or the free one where it would be. */
static uint32_t *slot_of(const struct source_texts *t, const char *name)
{
	size_t at = hash_place_bytes(name, strlen(name)) & (t->n_slots - 1);

	while (t->slots[at] && strcmp(t->files[t->slots[at] - 1].name, name) != 0)
		at = (at + 1) & (t->n_slots - 1);
	return &t->slots[at];
}

/* Of several with that name, the first that has a text: a program may have told what no file holds. */
static void put_in(struct source_texts *t, size_t file)
{
	uint32_t *slot = slot_of(t, t->files[file].name);

	if (!*slot || (!t->files[*slot - 1].n && t->files[file].n))
		*slot = (uint32_t)file + 1;
}

static void index_files(struct source_texts *t)
{
	t->n_slots = 16;
	while (t->n_slots < 2 * t->capacity)
		t->n_slots *= 2;
	t->slots = arena_new_n(t->a, uint32_t, t->n_slots);
	for (size_t i = 0; i < t->n; i++)
		put_in(t, i);
}

struct source_texts *source_texts_load(struct arena *a, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_source);
	struct source_texts *x = arena_new(a, struct source_texts);
	VEC(struct file) files = VEC_INIT;

	for (const struct rec_source *r; (r = record_next(&it));)
		vec_push(&files,
			(struct file){ .name = tables_string(t, r->file),
				.text = arena_copy(a, r->text.p, r->text.n),
				.n = r->text.n,
				.state = r->state });
	record_iter_done(&it);
	x->a = a;
	x->n = x->capacity = files.n;
	x->files = arena_copy(a, files.v, files.n * sizeof *files.v);
	index_files(x);
	vec_done(&files);
	return x;
}

static struct file *find(const struct source_texts *t, const char *file)
{
	uint32_t at = *slot_of(t, file);

	return at ? &t->files[at - 1] : NULL;
}

void source_texts_put(struct source_texts *t, const char *file, const char *text, size_t n)
{
	if (find(t, file))
		return;
	if (t->n == t->capacity) {
		struct file *files = arena_new_n(t->a, struct file, 2 * t->n + 8);

		if (t->n)
			memcpy(files, t->files, t->n * sizeof *files);
		t->capacity = 2 * t->n + 8;
		t->files = files;
		index_files(t);
	}
	t->files[t->n] = (struct file){
		.name = file, .text = arena_copy(t->a, text, n), .n = n, .state = SOURCE_AS_RUN
	};
	put_in(t, t->n++);
}

static void count_lines(const struct source_texts *t, struct file *f)
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

static struct file *with_lines(const struct source_texts *t, const char *file)
{
	struct file *f = find(t, file);

	if (f && !f->starts)
		count_lines(t, f);
	return f;
}

size_t source_texts_n_lines(const struct source_texts *t, const char *file)
{
	const struct file *f = with_lines(t, file);

	return f ? f->n_lines : 0;
}

struct text_line source_texts_line(const struct source_texts *t, const char *file, int line)
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

const char *source_texts_note(const struct source_texts *t, const char *file)
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
