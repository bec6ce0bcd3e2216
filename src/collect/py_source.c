/* SPDX-License-Identifier: MIT
 * See py_source.h. */
#include "collect/py_source.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "base/xalloc.h"
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
	const char *root;
	VEC(struct file) files;
};

struct py_sources *py_sources_new(pid_t pid, const char *root)
{
	struct py_sources *s = xcalloc(1, sizeof *s);

	s->pid = pid;
	s->root = root;
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
	free(s);
}

/* A name that climbs out of the process's root would be another file of ours. */
static bool climbs(const char *name)
{
	for (const char *p = name; (p = strstr(p, "..")); p += 2)
		if ((p == name || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return true;
	return false;
}

static void load(pid_t pid, const char *root, const char *name, struct buf *text)
{
	char path[4352];
	struct stat st;
	ssize_t n;
	int fd;

	if (*name == '/' ? climbs(name) : !pid)
		return;
	if (pid)
		snprintf(path, sizeof path, "/proc/%d/%s/%s", (int)pid,
			*name == '/' ? "root" : "cwd", name);
	else
		snprintf(path, sizeof path, "%s%s", root, name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MOST)
		while ((n = read(fd, buf_reserve(text, 1 << 16), 1 << 16)) > 0 &&
			text->n <= FILE_MOST)
			buf_advance(text, (size_t)n);
	close(fd);
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
	load(s->pid, s->root, name, &f.text);
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
