/* SPDX-License-Identifier: MIT
 * See source_reader.h. */
#include "collect/samples/source_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "sys/reach.h"
#include "base/banned.h"

enum {
	FILES_MOST = 4096,
	FILE_MOST = 8 << 20, /* bytes */
	LINE_MOST = 2000,    /* bytes shown of one */
};

struct file {
	char *name;
	struct buf text;
};

struct py_sources {
	pid_t pid;
	struct reach own;    /* of the process */
	struct reach *reach; /* that one, or borrowed */
	VEC(struct file) files;
};

struct py_sources *py_sources_new(pid_t pid, struct reach *reach)
{
	struct py_sources *s = xcalloc(1, sizeof *s);

	s->pid = pid;
	s->own = REACH_NONE;
	s->reach = reach ? reach : &s->own;
	if (!reach)
		reach_init(&s->own, pid);
	return s;
}

void py_sources_free(struct py_sources *s)
{
	if (!s)
		return;
	vec_each (&s->files, f) {
		free(f->name);
		buf_done(&f->text);
	}
	vec_done(&s->files);
	reach_done(&s->own);
	free(s);
}

static const struct buf *file_get(struct py_sources *s, const char *name)
{
	struct file f = { 0 };

	vec_each (&s->files, known)
		if (strcmp(known->name, name) == 0)
			return &known->text;
	if (s->files.n == FILES_MOST || *name == '<' || !*name)
		return NULL;
	f.name = xstrdup(name);
	if (!s->files.n && s->reach == &s->own)
		reach_lower(
			s->reach, s->pid); /* it may have given up rights while it was looked at */
	reach_load(s->reach, name, FILE_MOST, &f.text, NULL, NULL);
	vec_push(&s->files, f);
	return &s->files.v[s->files.n - 1].text;
}

const char *py_sources_line(struct py_sources *s, struct arena *a, const char *file, int32_t line)
{
	const struct buf *text = line > 0 ? file_get(s, file) : NULL;
	const char *at, *end;

	if (!text || !text->n)
		return NULL;
	at = text->data;
	end = at + text->n;
	for (; line > 1 && at < end; line--) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		at = next ? next + 1 : end;
	}
	if (at >= end)
		return NULL;
	if (memchr(at, '\n', (size_t)(end - at)))
		end = memchr(at, '\n', (size_t)(end - at));
	if (end > at && end[-1] == '\r')
		end--;
	return arena_strndup(a, at, end - at < LINE_MOST ? (size_t)(end - at) : LINE_MOST);
}
