/* SPDX-License-Identifier: MIT
 * See process.h. */
#include "collect/samples/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "collect/samples/code.h"
#include "collect/samples/probe.h"
#include "collect/samples/tasks.h"
#include "cpython/mem.h"
#include "cpython/names.h"
#include "cpython/object.h"
#include "cpython/walk.h"
#include "sys/proc.h"
#include "base/banned.h"

enum {
	THREADS_MOST = 4096,
	INTERPRETERS_MOST = 256,
	RELIST_MS = 100,
	BEGINNING_MS = 20,  /* a thread that has just begun is looked for at each look, so long */
	FOR_GOOD_MS = 1000, /* what has no thread is taken for one that begins again after this */
	BEYOND_MS = 1000,
	NUMBER_FAULTS_MOST = 16,
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

/* Where an interpreter keeps the last number it gave to a thread state. */
static uint64_t number_address(const struct py_process *p, uint64_t interp)
{
	const struct py_layout *l = &p->target.layout;

	return interp +
		(l->interp_next_thread_number != PY_NONE ? l->interp_next_thread_number
							 : l->interp_threads_head - 8);
}

struct words { /* where the words of a link lie in a thread state */
	uint32_t from, n;
	uint32_t at[4];
};

static struct words words_of(const struct py_layout *l)
{
	struct words w = { .at = { l->thread_next, l->thread_thread_id, l->thread_native_thread_id,
				   l->thread_number } };
	uint32_t end = 0;

	w.from = w.at[0];
	for (int i = 0; i < 4; i++) {
		if (w.at[i] == PY_NONE)
			continue;
		w.from = w.at[i] < w.from ? w.at[i] : w.from;
		end = w.at[i] + 8 > end ? w.at[i] + 8 : end;
	}
	w.n = end - w.from;
	return w;
}

static uint64_t word_at(const struct words *w, const unsigned char *bytes, int i)
{
	return w->at[i] == PY_NONE ? 0 : u64_at(bytes, w->at[i] - w->from);
}

static bool is_link_same(const struct py_link *link, const struct words *w, const unsigned char *p)
{
	if (!link->is_thread)
		return u64_at(p, 0) == link->words[0];
	for (int i = 0; i < 4; i++)
		if (word_at(w, p, i) != link->words[i])
			return false;
	return true;
}

/* Whether all that led to the threads is as it was when they were listed. Where a thread state has neither number nor
 * native id, an address and a pthread_t may be another thread's by now. */
static bool is_list_same(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct iovec to[MEM_VECTOR_MAX], from[MEM_VECTOR_MAX];
	bool is_same = p->links.n && p->links.n <= MEM_VECTOR_MAX;
	struct words w;
	unsigned char *bytes;
	size_t all = 0;

	if (!is_same || (l->thread_native_thread_id == PY_NONE && !p->has_numbers))
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

void py_process_free_thread(struct sampled *t)
{
	if (!t)
		return;
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
	uint64_t found;

	return map_find(&p->by_address, address, &found) ? (struct sampled *)(uintptr_t)found
							 : NULL;
}

/* A thread state is made by the thread that starts the new one, and has no id or its maker's until then. Those of
 * earlier makers are listed already. */
static bool is_beginning(struct py_process *p, uint32_t tid)
{
	bool may_have_none = p->target.layout.thread_native_thread_id == PY_NONE && !p->tids.offset;

	if (!tid)
		return !may_have_none || p->n_without_id++ < WITHOUT_ID_MOST;
	vec_each (&p->threads, t)
		if ((*t)->is_listed && (*t)->tid == tid)
			return true;
	return false;
}

static struct sampled *thread_new(struct py_process *p, uint32_t tid)
{
	struct sampled *t = xcalloc(1, sizeof *t);

	t->tid = tid;
	t->bound_ns = p->looked_ns;
	t->is_new = true;
	py_state_open(&t->kernel, p->pid, t->tid, p->sched_files);
	return t;
}

static struct sampled *thread_add(
	struct py_process *p, uint64_t address, uint32_t tid, const unsigned char *bytes)
{
	struct sampled *t = thread_new(p, tid);

	if (t->kernel.is_gone) {
		py_process_free_thread(t);
		return NULL;
	}
	py_thread_init(&t->image, &p->view, address, bytes);
	t->ident = u64_at(bytes, p->target.layout.thread_thread_id);
	vec_push(&p->threads, t);
	map_put(&p->by_address, address, (uint64_t)(uintptr_t)t);
	py_sleepers_forget(&p->sleepers);
	return t;
}

struct sampled *py_process_bare(struct py_process *p)
{
	if (!p->bare) {
		p->bare = thread_new(p, (uint32_t)p->pid);
		p->bare->is_new = false;
	}
	return p->bare;
}

static void along(struct py_view *v, void *to, uint64_t address, size_t n)
{
	v->along_to[v->n_along] = (struct iovec){ to, n };
	v->along_from[v->n_along++] = (struct iovec){ (void *)(uintptr_t)address, n };
}

/* From the next number to the head of the list (side by side from 3.11 on) and the collector, as far as they are close
 * together. */
static void plan_part(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct interpreter *i = &p->interpreter_now;
	uint64_t head = p->interp + l->interp_threads_head, number = number_address(p, p->interp),
		 from = head;
	uint64_t collecting = l->gc_collecting +
		(l->interp_gc != PY_NONE ? p->interp + l->interp_gc
					 : p->target.runtime + l->runtime_gc); /* 3.8 */
	uint32_t end = 8;

	i->head_at = 0;
	if (number + 8 == head) {
		from = number;
		i->head_at = 8;
		end = 16;
	}
	if (collecting > head && collecting - from <= sizeof i->part - 4 - 16) {
		i->collecting_at = (uint32_t)(collecting - from);
		end = i->collecting_at + 4;
		along(&p->view, i->part, from, end);
	} else {
		along(&p->view, i->part, from, end);
		i->collecting_at = end;
		along(&p->view, i->part + end, collecting, 4);
		end += 4;
	}
	i->number_at = 0;
	if (number + 8 != head) {
		i->number_at = (end + 7) & ~7u;
		along(&p->view, i->part + i->number_at, number, 8);
	}
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

struct node { /* a thread state in a list */
	uint64_t address;
	uint64_t words[4];
};

struct listing {
	struct words w;
	unsigned char *copies; /* of the words of those that were listed before, by sampled.copy */
	VEC(struct node) nodes;
};

/* The words of all threads known, by as few calls as can be. */
static void copy_known(struct py_process *p, struct listing *c)
{
	struct iovec to[MEM_VECTOR_MAX], from[MEM_VECTOR_MAX];

	c->copies = xcalloc(p->threads.n + 1, c->w.n);
	for (size_t i = 0; i < p->threads.n;) {
		size_t first = i, n = 0;
		ssize_t got;

		for (; i < p->threads.n && n < MEM_VECTOR_MAX; i++, n++) {
			to[n] = (struct iovec){ c->copies + i * c->w.n, c->w.n };
			from[n] = (struct iovec){
				(void *)(uintptr_t)(p->threads.v[i]->image.address + c->w.from),
				c->w.n
			};
		}
		got = mem_readv(&p->target.mem, to, from, n);
		for (size_t k = 0; k < n; k++) /* up to the first hole */
			p->threads.v[first + k]->copy =
				got >= (ssize_t)((k + 1) * c->w.n) ? first + k + 1 : 0;
	}
}

static bool read_node(struct py_process *p, struct listing *c, uint64_t at)
{
	const struct sampled *known = thread_find(p, at);
	struct node node = { .address = at };
	unsigned char bytes[PY_THREAD_BYTES_MAX];
	const unsigned char *words = bytes;

	if (known && known->copy)
		words = c->copies + (known->copy - 1) * c->w.n;
	else if (mem_read(&p->target.mem, at + c->w.from, bytes, c->w.n) < 0)
		return false;
	for (int i = 0; i < 4; i++)
		node.words[i] = word_at(&c->w, words, i);
	vec_push(&c->nodes, node);
	vec_push(&p->links, (struct py_link){ .address = at, .is_thread = true });
	memcpy(p->links.v[p->links.n - 1].words, node.words, sizeof node.words);
	return true;
}

static bool is_same_thread(
	const struct py_process *p, const struct sampled *t, const struct node *node, uint32_t tid)
{
	return (p->has_numbers && t->image.number) ? t->image.number == node->words[3]
						   : t->tid == tid;
}

static uint32_t node_tid(struct py_process *p, const struct node *node, unsigned char *bytes)
{
	const struct py_layout *l = &p->target.layout;

	if (mem_read(&p->target.mem, node->address, bytes, l->thread_sizeof) < 0)
		return 0;
	return py_tids_find(&p->tids, l, &p->target.mem, bytes);
}

/* It begins, or it is there without a thread for good (an interpreter that nobody runs): then it is not asked for at
 * each look. */
static void wait_for_beginning(struct py_process *p, uint64_t now_ns)
{
	if (!p->is_beginning && now_ns - p->beginning_ns > FOR_GOOD_MS * MS)
		p->beginning_ns = now_ns;
	p->is_beginning = true;
	if (now_ns - p->beginning_ns < BEGINNING_MS * MS)
		p->relist_ns = 0;
}

/* A thread state that is alone in its process is the main thread's, whatever id it says: some releases keep the parent's
 * after a fork. */
static void take_node(
	struct py_process *p, const struct node *node, bool is_alone, bool is_main, uint64_t now_ns)
{
	struct sampled *t = thread_find(p, node->address);
	unsigned char bytes[PY_THREAD_BYTES_MAX];
	uint32_t tid = 0;

	if (t && (!p->has_numbers || !t->image.number))
		tid = node_tid(p, node, bytes);
	if (t && is_same_thread(p, t, node, tid)) {
		t->is_listed = true;
		return;
	}
	if (p->threads.n >= THREADS_MOST)
		return;
	tid = node_tid(p, node, bytes);
	if (is_beginning(p, tid)) {
		wait_for_beginning(p, now_ns);
		return;
	}
	t = thread_add(p, node->address, tid, bytes);
	if (!t && is_alone)
		t = thread_add(p, node->address, (uint32_t)p->pid, bytes);
	if (!t)
		return;
	t->is_listed = true;
	t->is_counted = is_main;
	if (p->has_numbers && is_main)
		t->image.number = node->words[3];
}

/* New ones are put at the head of the list and numbered: from there on the numbers fall. Where they do not, the field is
 * not where it should be, or the list changed while it was read. */
static void check_numbers(struct py_process *p, const struct listing *c)
{
	uint64_t last = p->next_number;

	for (size_t i = 0; i < c->nodes.n; i++) {
		uint64_t number = c->nodes.v[i].words[3];

		if (number > last || !number) {
			if (++p->n_number_faults >= NUMBER_FAULTS_MOST)
				p->has_numbers = false;
			return;
		}
		last = number - 1;
	}
	p->n_number_faults /= 2;
}

/* The threads of one interpreter. false when they cannot be read. */
static bool list_interpreter(
	struct py_process *p, struct listing *c, uint64_t interp, bool is_main, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t at;

	vec_clear(&c->nodes);
	if (read_link(p, interp + l->interp_threads_head, &at) < 0)
		return false;
	if (is_main) {
		p->threads_head = at;
		if (mem_read_u64(&p->target.mem, number_address(p, interp), &p->next_number) < 0)
			p->has_numbers = false;
	}
	while (at && c->nodes.n < THREADS_MOST) {
		if (!read_node(p, c, at))
			return false;
		at = c->nodes.v[c->nodes.n - 1].words[0];
	}
	if (is_main && p->has_numbers)
		check_numbers(p, c);
	for (size_t i = c->nodes.n; i-- > 0;) /* makers before those they made */
		take_node(p, &c->nodes.v[i], c->nodes.n == 1, is_main, now_ns);
	if (is_main && !p->first_number && p->next_number)
		p->first_number = p->next_number + 1 - c->nodes.n;
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

static void drop_unlisted(struct py_process *p)
{
	for (size_t i = p->threads.n; i-- > 0;) {
		struct sampled *t = p->threads.v[i];

		if (t->is_listed)
			continue;
		p->n_lines_ended += t->image.cost.n_lines;
		if (thread_find(p, t->image.address) == t)
			map_remove(&p->by_address, t->image.address);
		vec_push(&p->ended, t);
		vec_remove_swap(&p->threads, i);
		py_sleepers_forget(&p->sleepers);
	}
}

/* Which interpreters there are; the main one is the last. */
static size_t list_interpreters(struct py_process *p, uint64_t all[INTERPRETERS_MOST])
{
	const struct py_layout *l = &p->target.layout;
	uint64_t interp;
	size_t n = 0;

	if (read_link(p, p->target.runtime + l->runtime_interpreters_head, &interp) < 0)
		return 0;
	while (interp && n < INTERPRETERS_MOST) {
		all[n++] = interp;
		if (read_link(p, interp + l->interp_next, &interp) < 0)
			break;
	}
	return n;
}

static void list_anew(struct py_process *p, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t interpreters[INTERPRETERS_MOST];
	struct listing c = { .w = words_of(l) };
	size_t n;
	bool is_whole;

	vec_clear(&p->links);
	vec_each (&p->threads, t)
		(*t)->is_listed = false;
	n = list_interpreters(p, interpreters);
	is_whole = true;
	copy_known(p, &c);
	for (size_t i = n; i-- > 0 && is_whole;) {
		is_whole = list_interpreter(p, &c, interpreters[i], i + 1 == n, now_ns);
		if (i + 1 == n)
			p->interp = interpreters[i];
	}
	free(c.copies);
	vec_done(&c.nodes);
	p->is_ending = n == 0;
	if (!is_whole) { /* it changed under our eyes: nobody is gone for that */
		p->relist_ns = 0;
		return;
	}
	drop_unlisted(p);
	if (p->is_ending)
		return;
	if (l->interp_ceval_gil != PY_NONE &&
		read_link(p, p->interp + l->interp_ceval_gil, &p->gil) < 0)
		p->gil = 0;
	plan_interpreter(p);
	tell_threads(p);
}

static void count_beyond(struct py_process *p, uint64_t now_ns)
{
	struct proc_stat st;
	char text[1024];

	if (p->threads.n < THREADS_MOST || now_ns < p->beyond_ns)
		return;
	p->beyond_ns = now_ns + BEYOND_MS * MS;
	if (proc_read(text, sizeof text, "/proc/%d/stat", (int)p->pid) > 0 &&
		proc_stat_parse(text, &st) && st.n_threads > p->threads.n + p->n_beyond)
		p->n_beyond = st.n_threads - p->threads.n;
}

void py_process_list_now(struct py_process *p, uint64_t now_ns)
{
	p->relist_ns = now_ns + RELIST_MS * MS;
	p->is_beginning = false;
	list_anew(p, now_ns);
	count_beyond(p, now_ns);
}

void py_process_list(struct py_process *p, uint64_t now_ns)
{
	if (now_ns < p->relist_ns)
		return;
	if (p->is_beginning || p->is_ending || !is_list_same(p))
		py_process_list_now(p, now_ns);
	else
		p->relist_ns = now_ns + RELIST_MS * MS;
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
	p->has_numbers = p->target.layout.thread_number != PY_NONE;
	p->looked_ns = now_ns;
	py_process_list_now(p, now_ns);
	name_threads(p, now_ns);
}

bool py_process_has_changed(const struct py_process *p)
{
	const struct interpreter *i = &p->interpreter_now;

	return u64_at(i->part, i->head_at) != p->threads_head ||
		(p->has_numbers && u64_at(i->part, i->number_at) != p->next_number);
}

uint64_t py_process_n_made(const struct py_process *p)
{
	return p->has_numbers && p->first_number ? p->next_number + 1 - p->first_number
						 : RECORD_UNKNOWN;
}

bool py_process_is_finalizing(const struct py_process *p)
{
	uint64_t by = 0;

	return mem_read_u64(&p->target.mem, p->target.runtime + p->target.layout.runtime_finalizing,
		       &by) == 0 &&
		by;
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
		py_process_free_thread(*t);
	vec_each (&p->ended, t)
		py_process_free_thread(*t);
	py_process_free_thread(p->bare);
	vec_done(&p->threads);
	vec_done(&p->ended);
	map_done(&p->by_address);
	vec_done(&p->links);
	py_sleepers_done(&p->sleepers);
	py_codes_free(p->codes);
	py_tasks_free(p->tasks);
	py_probes_free(p->probes);
	py_tids_done(&p->tids);
	py_target_close(&p->target);
	free(p);
}
