/* SPDX-License-Identifier: MIT
 * See sources.h. */
#include "collect/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/writer.h"
#include "sys/reach.h"
#include "wire/records.h"
#include "base/banned.h"

enum { DESCRIPTORS_MOST = 128, LATE_MOST = 1 }; /* kept open; processes whose files are too slow */
enum { TICK_NS = 10000000 };                    /* what the kernel tells of a start is cut to */

struct process {
	pid_t pid;
	struct reach reach;
	int64_t start_ns; /* realtime; of the process, told in ticks */
	unsigned n_files; /* that it named first */
	bool is_free;     /* ended without any: its place is given to the next */
};

struct sources {
	struct intern names;   /* files, each once */
	VEC(unsigned) process; /* that named it first */
	VEC(struct process) processes;
	size_t n_free; /* of them */
	unsigned n_descriptors;
	unsigned n_late;
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
	vec_each (&s->processes, p)
		if (!p->is_free)
			reach_done(&p->reach);
	vec_done(&s->processes);
	vec_done(&s->process);
	intern_done(&s->names);
	free(s);
}

/* ---- while programs run ---------------------------------------------------------------------- */

static int64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

unsigned sources_process(struct sources *s, pid_t pid, uint64_t start_ns, bool is_own)
{
	struct process p = { .pid = pid };

	reach_init(&p.reach, pid);
	if (is_own && !p.reach.rights.is_known)
		rights_own(&p.reach.rights);
	s->n_descriptors += reach_descriptors(&p.reach);
	if (s->n_descriptors > DESCRIPTORS_MOST) {
		s->n_descriptors -= reach_descriptors(&p.reach);
		reach_forget(&p.reach);
	}
	p.start_ns = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME) + (int64_t)start_ns;
	for (size_t i = s->n_free ? 0 : s->processes.n; i < s->processes.n; i++)
		if (s->processes.v[i].is_free) {
			s->n_free--;
			s->processes.v[i] = p;
			return (unsigned)i;
		}
	vec_push(&s->processes, p);
	return (unsigned)s->processes.n - 1;
}

void sources_process_ended(struct sources *s, unsigned process)
{
	struct process *p = &s->processes.v[process];

	if (p->n_files || p->is_free)
		return;
	s->n_descriptors -= reach_descriptors(&p->reach);
	reach_done(&p->reach);
	p->is_free = true;
	s->n_free++;
}

void sources_file(struct sources *s, unsigned process, const char *file)
{
	bool added;

	if (!*file || *file == '<' || s->process.n >= SOURCES_FILES)
		return;
	intern_add(&s->names, file, strlen(file), &added);
	if (!added)
		return;
	vec_push(&s->process, process);
	s->processes.v[process].n_files++;
	reach_lower(&s->processes.v[process].reach, s->processes.v[process].pid);
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* Text has no NUL; what else a name can lead to (an extension, an archive) has one soon. */
static bool is_text(const struct buf *b)
{
	return !b->n || !memchr(b->data, '\0', b->n < 4096 ? b->n : 4096);
}

static enum source_state read_source(
	struct sources *s, struct process *p, const char *file, struct buf *to)
{
	enum source_state state = SOURCE_MISSING;
	uint64_t size_bytes = 0;
	int64_t changed_ns = 0;
	int status = s->n_late > LATE_MOST
		? -ETIMEDOUT
		: reach_load(&p->reach, file, SOURCES_FILE_BYTES, to, &changed_ns, &size_bytes);

	if (status == -ETIMEDOUT)
		s->n_late++;
	if (status == -EFBIG || s->n_bytes + to->n > SOURCES_ALL_BYTES)
		state = SOURCE_TOO_LARGE;
	else if (status == 0 && is_text(to))
		state = changed_ns > p->start_ns + TICK_NS ? SOURCE_CHANGED : SOURCE_AS_RUN;
	if (state != SOURCE_CHANGED && state != SOURCE_AS_RUN)
		buf_clear(to);
	s->n_bytes += to->n;
	return state;
}

struct named { /* a file, by the process that named it */
	unsigned process;
	uint32_t name;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* One process after another: each may need somebody who looks for it. */
void sources_write(struct sources *s, struct writer *w)
{
	struct buf text = BUF_INIT;
	VEC(struct named) all = VEC_INIT;

	for (uint32_t i = 0; i < s->process.n; i++)
		vec_push(&all, ((struct named){ s->process.v[i], i }));
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, compare_named);
	for (size_t i = 0; i < all.n; i++) {
		const char *file = intern_get(&s->names, all.v[i].name)->p;
		struct process *p = &s->processes.v[all.v[i].process];
		struct rec_source r = { .file = writer_path(w, file, strlen(file)) };

		buf_clear(&text);
		r.state = (uint8_t)read_source(s, p, file, &text);
		r.text = (rec_bytes){ text.data, (uint32_t)text.n };
		writer_add(w, RECORD_source, &r);
		if (i + 1 == all.n || all.v[i + 1].process != all.v[i].process)
			reach_rest(&p->reach);
	}
	vec_done(&all);
	buf_done(&text);
}
