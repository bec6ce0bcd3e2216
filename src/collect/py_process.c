/* SPDX-License-Identifier: MIT
 * See py_process.h. */
#include "collect/py_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "collect/py_code.h"
#include "collect/py_probe.h"
#include "collect/py_tasks.h"
#include "cpython/mem.h"
#include "cpython/names.h"
#include "cpython/object.h"
#include "cpython/walk.h"
#include "base/banned.h"

enum {
	THREADS_MOST = 4096,
	INTERPRETERS_MOST = 256,
	RELIST_MS = 100,
	BEGINNING_MS = 2,       /* until a thread that has just begun is looked for again */
	WITHOUT_ID_MOST = 1000, /* then threads are taken without: a libc that keeps none */
	NAME_FIRST_MS = 50,     /* between two looks for a thread's name; doubled each time … */
	NAME_LAST_MS = 10000,   /* … up to this */
};

static const uint64_t MS = 1000000;
_Static_assert(offsetof(struct interpreter, locked) == offsetof(struct interpreter, holder) + 8,
	"both may be copied at once");

/* ---- what leads to the threads, all read at once -------------------------------------------- */

/* A pointer on the way to the threads. */
static int read_link(struct py_process *p, uint64_t address, uint64_t *ret)
{
	int status = mem_read_u64(&p->target.mem, address, ret);

	vec_push(&p->links, (struct py_link){ .address = address, .words = { *ret } });
	return status;
}

static void note_thread(struct py_process *p, uint64_t address, const unsigned char *bytes)
{
	const struct py_layout *l = &p->target.layout;
	struct py_link link = { .address = address, .is_thread = true };

	link.words[0] = u64_at(bytes, l->thread_next);
	link.words[1] = u64_at(bytes, l->thread_thread_id);
	if (l->thread_native_thread_id != PY_NONE)
		link.words[2] = u64_at(bytes, l->thread_native_thread_id);
	vec_push(&p->links, link);
}

struct words { /* where the words of a link lie in a thread state */
	uint32_t from, n;
	uint32_t at[3];
};

static struct words words_of(const struct py_layout *l)
{
	struct words w = { .at = { l->thread_next, l->thread_thread_id,
				   l->thread_native_thread_id } };
	uint32_t end = 0;

	w.from = w.at[0];
	for (int i = 0; i < 3; i++) {
		w.from = w.at[i] < w.from ? w.at[i] : w.from;
		end = w.at[i] + 8 > end ? w.at[i] + 8 : end;
	}
	w.n = end - w.from;
	return w;
}

static bool is_link_same(const struct py_link *link, const struct words *w, const unsigned char *p)
{
	if (!link->is_thread)
		return u64_at(p, 0) == link->words[0];
	for (int i = 0; i < 3; i++)
		if (u64_at(p, w->at[i] - w->from) != link->words[i])
			return false;
	return true;
}

/* Whether all that led to the threads is as it was when they were listed. Where a thread state has no native
 * id, an address and a pthread_t may be another thread's by now. */
static bool is_list_same(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct iovec to[MEM_VECTOR_MAX], from[MEM_VECTOR_MAX];
	bool is_same = p->links.n && p->links.n <= MEM_VECTOR_MAX;
	struct words w;
	unsigned char *bytes;
	size_t all = 0;

	if (!is_same || l->thread_native_thread_id == PY_NONE)
		return false;
	w = words_of(l);
	bytes = xcalloc(p->links.n, w.n);
	for (size_t i = 0; i < p->links.n; i++) {
		const struct py_link *link = &p->links.v[i];
		uint64_t address = link->address + (link->is_thread ? w.from : 0);

		to[i] = (struct iovec){ bytes + i * w.n, link->is_thread ? w.n : 8 };
		from[i] = (struct iovec){ (void *)(uintptr_t)address, to[i].iov_len };
		all += to[i].iov_len;
	}
	is_same = mem_readv(&p->target.mem, to, from, p->links.n) == (ssize_t)all;
	for (size_t i = 0; i < p->links.n && is_same; i++)
		is_same = is_link_same(&p->links.v[i], &w, bytes + i * w.n);
	free(bytes);
	return is_same;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_free(struct sampled *t)
{
	py_thread_done(&t->image);
	py_state_close(&t->kernel);
	free(t->last);
	free(t->rows);
	free(t->name);
	free(t->task);
	free(t);
}

static struct sampled *thread_find(struct py_process *p, uint64_t address)
{
	vec_each (&p->threads, t)
		if ((*t)->image.address == address)
			return *t;
	return NULL;
}

static uint32_t thread_tid(struct py_process *p, const unsigned char *bytes)
{
	return py_tids_find(&p->tids, &p->target.layout, &p->target.mem, bytes);
}

/* A thread state is made by the thread that starts the new one, and has no id or its maker's until then. */
static bool is_beginning(struct py_process *p, uint32_t tid)
{
	if (!tid)
		return p->n_without_id++ < WITHOUT_ID_MOST;
	vec_each (&p->threads, t)
		if ((*t)->tid == tid)
			return true;
	return false;
}

static struct sampled *thread_add(
	struct py_process *p, uint64_t address, uint32_t tid, const unsigned char *bytes)
{
	struct sampled *t = xcalloc(1, sizeof *t);

	py_thread_init(&t->image, &p->view, address, bytes);
	t->tid = tid;
	t->ident = u64_at(bytes, p->target.layout.thread_thread_id);
	t->last = xcalloc(WALK_DEPTH, sizeof *t->last);
	t->rows = xcalloc(WALK_DEPTH, sizeof *t->rows);
	py_state_open(&t->kernel, p->pid, t->tid);
	vec_push(&p->threads, t);
	py_sleepers_forget(&p->sleepers);
	return t;
}

static void along(struct py_view *v, void *to, uint64_t address, size_t n)
{
	v->along_to[v->n_along] = (struct iovec){ to, n };
	v->along_from[v->n_along++] = (struct iovec){ (void *)(uintptr_t)address, n };
}

static void plan_part(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct interpreter *i = &p->interpreter_now;
	uint64_t head = p->interp + l->interp_threads_head;
	uint64_t collecting = l->gc_collecting +
		(l->interp_gc != PY_NONE ? p->interp + l->interp_gc
					 : p->target.runtime + l->runtime_gc); /* 3.8 */

	if (collecting > head && collecting - head <= sizeof i->part - 4) {
		i->collecting_at = (uint32_t)(collecting - head);
		along(&p->view, i->part, head, i->collecting_at + 4);
		return;
	}
	i->collecting_at = 8;
	along(&p->view, i->part, head, 8);
	along(&p->view, i->part + i->collecting_at, collecting, 4);
}

/* Who holds the GIL, whether a collection runs, and whether threads came: told with each look. */
static void plan_interpreter(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct interpreter *i = &p->interpreter_now;

	p->view.n_along = 0;
	plan_part(p);
	i->locked = 1;
	if (l->runtime_tstate_current != PY_NONE) { /* up to 3.11 */
		along(&p->view, &i->holder, p->target.runtime + l->runtime_tstate_current, 8);
	} else if (p->gil) {
		/* Side by side there as here. */
		bool is_pair = l->gil_locked == l->gil_last_holder + 8;

		along(&p->view, &i->holder, p->gil + l->gil_last_holder, is_pair ? 12 : 8);
		if (!is_pair)
			along(&p->view, &i->locked, p->gil + l->gil_locked, 4);
	}
}

static void take_name(void *ctx, uint64_t ident, const char *name)
{
	struct py_process *p = ctx;

	vec_each (&p->threads, t)
		if ((*t)->ident == ident && !(*t)->name) {
			(*t)->name = xstrdup(name);
			(*t)->is_renamed = true;
		}
}

/* A thread is in Python's list a moment after it began, the main one when threading is imported, and never
 * when C code made it. */
static void name_threads(struct py_process *p, uint64_t now_ns)
{
	struct objects o;
	bool want = false;

	vec_each (&p->threads, it) {
		struct sampled *t = *it;

		if (t->name || now_ns < t->name_ns)
			continue;
		want = true;
		t->name_wait_ns = t->name_wait_ns ? 2 * t->name_wait_ns : NAME_FIRST_MS * MS;
		if (t->name_wait_ns > NAME_LAST_MS * MS)
			t->name_wait_ns = NAME_LAST_MS * MS;
		t->name_ns = now_ns + t->name_wait_ns;
	}
	if (!want)
		return;
	objects_init(&o, &p->target.mem, &p->target.layout);
	names_each(&o, p->interp, take_name, p);
	objects_done(&o);
}

/* The threads of one interpreter. false when there are too many, or they cannot be read. */
static bool list_interpreter(struct py_process *p, uint64_t interp, int *n, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	unsigned char bytes[PY_THREAD_BYTES_MAX];
	uint64_t at;

	if (read_link(p, interp + l->interp_threads_head, &at) < 0)
		return false;
	p->threads_head = at; /* in the end that of the main interpreter, the last in the list */
	for (; at && *n < THREADS_MOST; ++*n) {
		struct sampled *t = thread_find(p, at);
		uint64_t address = at;
		uint32_t tid;

		if (mem_read(&p->target.mem, at, bytes, l->thread_sizeof) < 0)
			return false;
		note_thread(p, at, bytes);
		tid = thread_tid(p, bytes);
		if (t && t->tid != tid)
			t = NULL; /* the address was used again */
		at = u64_at(bytes, l->thread_next);
		if (!t && is_beginning(p, tid)) {
			p->relist_ns = now_ns + BEGINNING_MS * MS;
			p->is_beginning = true;
			continue;
		}
		if (!t)
			t = thread_add(p, address, tid, bytes);
		t->is_listed = true;
		p->n_failed += t->has_failed;
		t->has_failed = false;
	}
	return true;
}

static void tell_threads(struct py_process *p)
{
	VEC(uint64_t) addresses = VEC_INIT;

	vec_each (&p->threads, t)
		vec_push(&addresses, (*t)->image.address);
	py_tasks_threads(p->tasks, p->interp, addresses.v, addresses.n);
	vec_done(&addresses);
}

static bool has_failed(struct py_process *p)
{
	vec_each (&p->threads, t)
		if ((*t)->has_failed)
			return true;
	return false;
}

static void drop_ended(struct py_process *p)
{
	for (size_t i = p->threads.n; i-- > 0;)
		if (!p->threads.v[i]->is_listed) {
			p->n_lines_ended += p->threads.v[i]->image.cost.n_lines;
			thread_free(p->threads.v[i]);
			vec_remove_swap(&p->threads, i);
			py_sleepers_forget(&p->sleepers);
		}
}

static void list_anew(struct py_process *p, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t interp;
	int n = 0;

	vec_clear(&p->links);
	vec_each (&p->threads, t)
		(*t)->is_listed = false;
	if (read_link(p, p->target.runtime + l->runtime_interpreters_head, &interp) < 0 || !interp)
		return;
	for (int i = 0; interp && i < INTERPRETERS_MOST; i++) {
		p->interp = interp;
		if (!list_interpreter(p, interp, &n, now_ns) ||
			read_link(p, interp + l->interp_next, &interp) < 0)
			break;
	}
	drop_ended(p);
	if (l->interp_ceval_gil != PY_NONE &&
		read_link(p, p->interp + l->interp_ceval_gil, &p->gil) < 0)
		p->gil = 0;
	plan_interpreter(p);
	tell_threads(p);
}

void py_process_list(struct py_process *p, uint64_t now_ns)
{
	bool is_beginning_due = p->is_beginning;

	if (now_ns < p->relist_ns)
		return;
	p->relist_ns = now_ns + RELIST_MS * MS;
	p->is_beginning = false;
	if (is_beginning_due || has_failed(p) || !is_list_same(p))
		list_anew(p, now_ns);
	name_threads(p, now_ns);
}

void py_process_begin(struct py_process *p, uint64_t now_ns)
{
	snprintf(p->interpreter, sizeof p->interpreter, "cpython %s", p->target.version);
	py_tids_init(&p->tids, p->pid);
	py_sleepers_init(&p->sleepers, p->pid);
	p->codes = py_codes_new(&p->target.layout, &p->target.mem, p->interpreter);
	p->view = (struct py_view){
		.l = &p->target.layout, .mem = &p->target.mem, .codes = p->codes
	};
	p->tasks = py_tasks_new(&p->target);
	p->probes = py_probes_new(&p->target.layout, &p->target.mem);
	py_process_list(p, now_ns);
}

uint64_t py_process_threads_head(const struct py_process *p)
{
	return u64_at(p->interpreter_now.part, 0);
}

bool py_process_is_collecting(const struct py_process *p)
{
	return i32_at(p->interpreter_now.part, p->interpreter_now.collecting_at) != 0;
}

uint64_t py_process_lines(struct py_process *p)
{
	uint64_t n = p->n_lines_ended;

	vec_each (&p->threads, t)
		n += (*t)->image.cost.n_lines;
	return n;
}

void py_process_free(struct py_process *p)
{
	vec_each (&p->threads, t)
		thread_free(*t);
	vec_done(&p->threads);
	vec_done(&p->links);
	py_sleepers_done(&p->sleepers);
	py_codes_free(p->codes);
	py_tasks_free(p->tasks);
	py_probes_free(p->probes);
	py_tids_done(&p->tids);
	py_target_close(&p->target);
	free(p);
}
