/* SPDX-License-Identifier: MIT
 * See sources.h. */
#include "collect/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/writer.h"
#include "wire/records.h"
#include "base/banned.h"

enum { ROOTS_MOST = 64 }; /* descriptors kept open */

struct process {
	int root;      /* O_PATH; -1: ours */
	char *folder;  /* owned; its working folder, NULL unknown */
	int64_t start; /* seconds, realtime */
};

struct sources {
	struct intern names;   /* files, each once */
	VEC(unsigned) process; /* that named it first */
	VEC(struct process) processes;
	unsigned n_roots;
	size_t n_bytes; /* written */
};

struct sources *sources_new(void)
{
	return xcalloc(1, sizeof(struct sources));
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	vec_each (&s->processes, p) {
		if (p->root >= 0)
			close(p->root);
		free(p->folder);
	}
	vec_done(&s->processes);
	vec_done(&s->process);
	intern_done(&s->names);
	free(s);
}

/* ---- while programs run ---------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A descriptor of the process's root, or -1 when it sees files as we do. */
static int open_root(struct sources *s, pid_t pid)
{
	char root[64], mounts[64];

	snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
	snprintf(mounts, sizeof mounts, "/proc/%d/ns/mnt", (int)pid);
	if (s->n_roots >= ROOTS_MOST ||
		(is_same(root, "/") && is_same(mounts, "/proc/self/ns/mnt")))
		return -1;
	s->n_roots++;
	return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static char *read_folder(pid_t pid)
{
	char path[64], folder[4096];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
	n = readlink(path, folder, sizeof folder - 1);
	if (n <= 0)
		return NULL;
	folder[n] = '\0';
	return xstrdup(folder);
}

static int64_t seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec;
}

unsigned sources_process(struct sources *s, pid_t pid, uint64_t start_ns)
{
	struct process p = { .root = open_root(s, pid), .folder = read_folder(pid) };

	p.start = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) +
		(int64_t)(start_ns / 1000000000u);
	vec_push(&s->processes, p);
	return (unsigned)s->processes.n - 1;
}

void sources_file(struct sources *s, unsigned process, const char *file)
{
	bool added;

	if (!*file || *file == '<' || s->process.n >= SOURCES_FILES)
		return;
	intern_add(&s->names, file, strlen(file), &added);
	if (added)
		vec_push(&s->process, process);
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* As the process would open it; links cannot lead out of its root. */
static int open_source(const struct process *p, const char *file)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_IN_ROOT };
	char path[8192];

	if (*file != '/' && !p->folder)
		return -1;
	if (snprintf(path, sizeof path, "%s%s%s", *file == '/' ? "" : p->folder,
		    *file == '/' ? "" : "/", file) >= (int)sizeof path)
		return -1;
	if (p->root < 0)
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return (int)syscall(SYS_openat2, p->root, path, &how, sizeof how);
}

/* Text has no NUL; what else a name can lead to (an extension, an archive) has one soon. */
static bool is_text(const struct buf *b)
{
	return !b->n || !memchr(b->data, '\0', b->n < 4096 ? b->n : 4096);
}

static bool read_all(int fd, size_t n, struct buf *to)
{
	while (to->n < n) {
		ssize_t got = read(fd, buf_reserve(to, n - to->n), n - to->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		buf_advance(to, (size_t)got);
	}
	return true;
}

static enum source_state read_source(
	struct sources *s, const struct process *p, const char *file, struct buf *to)
{
	int fd = open_source(p, file);
	enum source_state state = SOURCE_MISSING;
	struct stat st;

	if (fd < 0)
		return state;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (st.st_size > SOURCES_FILE_BYTES ||
			s->n_bytes + (size_t)st.st_size > SOURCES_ALL_BYTES)
			state = SOURCE_TOO_LARGE;
		else if (read_all(fd, (size_t)st.st_size, to) && is_text(to))
			state = st.st_mtime > p->start ? SOURCE_CHANGED : SOURCE_AS_RUN;
	}
	close(fd);
	if (state != SOURCE_CHANGED && state != SOURCE_AS_RUN)
		buf_clear(to);
	s->n_bytes += to->n;
	return state;
}

void sources_write(struct sources *s, struct writer *w)
{
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; i < s->process.n; i++) {
		const char *file = intern_get(&s->names, i)->p;
		struct rec_source r = { .file = writer_path(w, file, strlen(file)) };

		buf_clear(&text);
		r.state = (uint8_t)read_source(s, &s->processes.v[s->process.v[i]], file, &text);
		r.text = (rec_bytes){ text.data, (uint32_t)text.n };
		writer_add(w, RECORD_source, &r);
	}
	buf_done(&text);
}
