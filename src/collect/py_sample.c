/* SPDX-License-Identifier: MIT
 *
 * The sampler: the Python stacks of every thread of every interpreter of the tree, by remote reads.
 * The target is never stopped and never written to.
 *
 * A look at one thread is py_thread.c; here are the schedule, the processes and threads, their states,
 * and the records. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/checks.h"
#include "collect/collector.h"
#include "collect/py_code.h"
#include "collect/py_sample.h"
#include "collect/py_search.h"
#include "collect/py_target.h"
#include "collect/py_thread.h"
#include "collect/py_tid.h"
#include "collect/rows.h"
#include "collect/sources.h"
#include "cpython/mem.h"
#include "cpython/walk.h"
#include "store/writer.h"
#include "sys/proc.h"
#include "sys/tree.h"
#include "wire/py_layout.h"
#include "wire/records.h"

#define LOG_TOPIC "sample"
#include "base/log.h"
#include "base/banned.h"

enum {
	THREADS_MOST = 4096,
	LOOK_FOR_MS = 2, /* interpreters */
	RELIST_MS = 100,
	WITHOUT_ID_MOST = 1000, /* then threads are taken without: a libc that keeps none */
};

static const uint64_t MS = 1000000;
static const uint64_t MAX_RATE_JITTER_NS = 8000;

struct sampled { /* a thread, and what of it is in the recording */
	struct py_thread image;
	uint32_t tid;
	int stat_fd;
	char state; /* as /proc says */
	uint64_t state_ns;
	/* The stack before, whose rows are used again as far as it is the same. */
	size_t n_last;
	struct walk_frame *last; /* owned, WALK_DEPTH */
	uint32_t *rows;          /* stack rows of last[0 … i] as callers */
	uint32_t segment;
	uint32_t row; /* in the thread table */
	bool is_listed, has_failed;
};

struct interpreter { /* as it was at the last look at one of its threads */
	uint64_t threads_head;
	uint64_t holder; /* of the GIL, if it is locked; a thread state */
	int32_t locked, collecting;
};

struct py_process {
	pid_t pid;
	uint64_t serial, start_ns;
	pid_t parent;
	struct py_target target;
	struct py_codes *codes;
	struct py_tids tids;
	uint32_t n_without_id; /* times a thread was left out because it had none yet */
	char interpreter[64];
	VEC(struct sampled *) threads;
	uint64_t threads_head; /* when they were listed */
	uint64_t relist_ns;
	uint64_t gil; /* address of the GIL's struct, 0 unknown */
	uint64_t interp;
	struct interpreter interpreter_now;
	uint32_t row, segment;
	struct py_view view;
	uint64_t n_failed; /* looks that failed at threads that are still there */
};

struct sampler {
	struct collect_context c;
	VEC(struct py_process *) processes;
	struct py_search *search;
	uint64_t interval_ns, next_ns, look_for_ns;
	uint64_t random;
	uint64_t n_samples, n_lost, n_shortened, n_missed, n_ticks;
	uint64_t told_lost;
	uint64_t first_ns, last_ns;
	struct walk walk;
};

static uint64_t u64_at(const unsigned char *p, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, p + offset, 8);
	return v;
}

static int read_u64(struct py_process *p, uint64_t address, uint64_t *ret)
{
	return mem_read_u64(&p->target.mem, address, ret);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct sampler *s, struct py_process *p)
{
	if (p->row && p->segment == writer_segment(s->c.writer))
		return p->row;
	p->segment = writer_segment(s->c.writer);
	return p->row = rows_process(s->c.writer, p->pid, p->start_ns, p->parent);
}

static void thread_rows(struct sampler *s, struct py_process *p, struct sampled *t)
{
	if (t->segment == writer_segment(s->c.writer))
		return;
	t->segment = writer_segment(s->c.writer);
	t->n_last = 0;
	t->row = writer_row(s->c.writer, RECORD_thread,
		&(struct rec_thread){ .process = process_row(s, p), .tid = t->tid });
}

/* The stack row of frames[0 … n-1] as callers. Rows of the same beginning as last time are reused. */
static uint32_t caller_stack(struct sampler *s, struct py_process *p, struct sampled *t, size_t n)
{
	const struct walk_frame *frames = s->walk.frames;
	struct writer *w = s->c.writer;
	size_t same = 0;

	while (same < n && same < t->n_last &&
		memcmp(&frames[same], &t->last[same], sizeof *frames) == 0)
		same++;
	for (size_t i = same; i < n; i++) {
		uint32_t frame = writer_row(w, RECORD_frame,
			&(struct rec_frame){ .tag = FRAME_PY,
				.code = py_codes_row(p->codes, frames[i].code, w),
				.position = frames[i].offset });

		t->rows[i] = writer_row(w, RECORD_stack,
			&(struct rec_stack){ .parent = i ? t->rows[i - 1] : 0, .frame = frame });
		t->last[i] = frames[i];
	}
	t->n_last = n;
	return n ? t->rows[n - 1] : 0;
}

static uint32_t cut_stack(struct sampler *s, uint32_t callers)
{
	struct writer *w = s->c.writer;
	uint32_t frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_SYNTH, .name = writer_string(w, "[cut]") });

	return writer_row(
		w, RECORD_stack, &(struct rec_stack){ .parent = callers, .frame = frame });
}

/* ---- one look at one thread ------------------------------------------------------------------ */

static uint16_t state_bits(const struct py_process *p, const struct sampled *t, bool is_shortened)
{
	const struct interpreter *i = &p->interpreter_now;
	bool holds_gil = i->locked == 1 && i->holder == t->image.address;
	uint16_t bits = 0;

	if (t->state == 'R')
		bits |= SAMPLE_ON_CPU;
	if (holds_gil)
		bits |= SAMPLE_HOLDS_GIL;
	if (holds_gil && i->collecting)
		bits |= SAMPLE_IN_GC;
	if (is_shortened)
		bits |= SAMPLE_SHORTENED;
	return bits;
}

static void look_at_state(struct sampled *t, uint64_t now_ns)
{
	char text[1024];
	struct proc_stat st;

	if (t->state && now_ns - t->state_ns < MS)
		return;
	t->state_ns = now_ns;
	if (t->stat_fd >= 0 && proc_read_fd(text, sizeof text, t->stat_fd) > 0 &&
		proc_stat_parse(text, &st))
		t->state = st.state;
}

static void record_sample(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	const struct walk *walk = &s->walk;
	struct rec_sample r = { .t_ns = now_ns, .state = state_bits(p, t, walk->is_shortened) };

	thread_rows(s, p, t);
	r.thread = t->row;
	if (walk->is_shortened) {
		r.stack = cut_stack(s, caller_stack(s, p, t, walk->n));
		s->n_shortened++;
	} else {
		const struct walk_frame *leaf = &walk->frames[walk->n - 1];

		r.stack = caller_stack(s, p, t, walk->n - 1);
		r.leaf_code = py_codes_row(p->codes, leaf->code, s->c.writer);
		r.leaf_offset = leaf->offset;
	}
	writer_add(s->c.writer, RECORD_sample, &r);
	s->n_samples++;
}

static void look_at_thread(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	switch (py_thread_look(&t->image, &p->view, &s->walk)) {
	case PY_LOOK_STACK:
		look_at_state(t, now_ns);
		record_sample(s, p, t, now_ns);
		break;
	case PY_LOOK_NONE:
		break;
	case PY_LOOK_LOST:
		s->n_lost++;
		break;
	case PY_LOOK_FAILED:
		t->has_failed = true; /* lost, unless the thread turns out to have ended */
		p->relist_ns = 0;
		break;
	}
}

/* ---- threads of a process -------------------------------------------------------------------- */

static void thread_free(struct sampled *t)
{
	py_thread_done(&t->image);
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	free(t->last);
	free(t->rows);
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
	char path[64];

	py_thread_init(&t->image, &p->view, address, bytes);
	t->tid = tid;
	t->last = xcalloc(WALK_DEPTH, sizeof *t->last);
	t->rows = xcalloc(WALK_DEPTH, sizeof *t->rows);
	snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)p->pid, t->tid);
	t->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	vec_push(&p->threads, t);
	return t;
}

static void along(struct py_view *v, void *to, uint64_t address, size_t n)
{
	v->along_to[v->n_along] = (struct iovec){ to, n };
	v->along_from[v->n_along++] = (struct iovec){ (void *)(uintptr_t)address, n };
}

/* Who holds the GIL, whether a collection runs, and whether threads came: told with each look. */
static void plan_interpreter(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	struct interpreter *i = &p->interpreter_now;

	p->view.n_along = 0;
	along(&p->view, &i->threads_head, p->interp + l->interp_threads_head, 8);
	along(&p->view, &i->collecting,
		l->gc_collecting +
			(l->interp_gc != PY_NONE ? p->interp + l->interp_gc
						 : p->target.runtime + l->runtime_gc), /* 3.8 */
		4);
	i->locked = 1;
	if (l->runtime_tstate_current != PY_NONE) { /* up to 3.11 */
		along(&p->view, &i->holder, p->target.runtime + l->runtime_tstate_current, 8);
	} else if (p->gil) {
		along(&p->view, &i->holder, p->gil + l->gil_last_holder, 8);
		along(&p->view, &i->locked, p->gil + l->gil_locked, 4);
	}
}

static void list_threads(struct py_process *p, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	unsigned char bytes[PY_THREAD_BYTES_MAX];
	uint64_t at = 0;

	p->relist_ns = now_ns + RELIST_MS * MS;
	vec_each (&p->threads, t)
		(*t)->is_listed = false;
	if (read_u64(p, p->target.runtime + l->runtime_interpreters_head, &p->interp) < 0 ||
		!p->interp || read_u64(p, p->interp + l->interp_threads_head, &at) < 0)
		return;
	p->threads_head = at;
	for (int n = 0; at && n < THREADS_MOST; n++) {
		struct sampled *t;
		uint32_t tid;

		if (mem_read(&p->target.mem, at, bytes, l->thread_sizeof) < 0)
			break;
		tid = thread_tid(p, bytes);
		t = thread_find(p, at);
		if (t && t->tid != tid)
			t = NULL; /* the address was used again */
		if (!t && is_beginning(p, tid)) {
			p->relist_ns = now_ns + LOOK_FOR_MS * MS;
			at = u64_at(bytes, l->thread_next);
			continue;
		}
		if (!t)
			t = thread_add(p, at, tid, bytes);
		t->is_listed = true;
		p->n_failed += t->has_failed;
		t->has_failed = false;
		at = u64_at(bytes, l->thread_next);
	}
	for (size_t i = p->threads.n; i-- > 0;)
		if (!p->threads.v[i]->is_listed) {
			thread_free(p->threads.v[i]);
			vec_remove_swap(&p->threads, i);
		}
	if (l->interp_ceval_gil != PY_NONE &&
		read_u64(p, p->interp + l->interp_ceval_gil, &p->gil) < 0)
		p->gil = 0;
	plan_interpreter(p);
}

static void look_at_process(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	p->view.now_ns = now_ns;
	py_codes_tick(p->codes, now_ns);
	if (now_ns >= p->relist_ns)
		list_threads(p, now_ns);
	s->n_lost += p->n_failed;
	p->n_failed = 0;
	if (p->target.layout.flags & PY_HEAP_FRAMES)
		mem_readv(&p->target.mem, p->view.along_to, p->view.along_from, p->view.n_along);
	vec_each (&p->threads, t)
		look_at_thread(s, p, *t, now_ns);
	if (p->interpreter_now.threads_head != p->threads_head)
		p->relist_ns = 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void process_free(struct py_process *p)
{
	vec_each (&p->threads, t)
		thread_free(*t);
	vec_done(&p->threads);
	py_codes_free(p->codes);
	py_tids_done(&p->tids);
	py_target_close(&p->target);
	free(p);
}

static void try_process(struct sampler *s, const struct tree_process *t, uint64_t now_ns)
{
	struct py_process *p = xcalloc(1, sizeof *p);
	struct err e = ERR_INIT;
	int status = py_search_try(s->search, t, &p->target, now_ns, &e);

	if (status == -(int)ERR_UNSUPPORTED)
		py_search_refuse(s->search, t, e.text);
	if (status != 0) {
		py_target_close(&p->target);
		free(p);
		return;
	}
	p->pid = t->pid;
	p->serial = t->serial;
	p->start_ns = t->start_ns;
	p->parent = t->parent;
	snprintf(p->interpreter, sizeof p->interpreter, "cpython %s", p->target.version);
	py_tids_init(&p->tids, p->pid);
	p->codes = py_codes_new(&p->target.layout, &p->target.mem, p->interpreter);
	if (s->c.sources)
		py_codes_tell_sources(
			p->codes, s->c.sources, sources_process(s->c.sources, p->pid, p->start_ns));
	p->view = (struct py_view){
		.l = &p->target.layout, .mem = &p->target.mem, .codes = p->codes
	};
	list_threads(p, now_ns);
	vec_push(&s->processes, p);
	writer_meta(s->c.writer, "interpreter", p->interpreter);
	log_debug(1, "%d: %s", (int)t->pid, p->interpreter);
}

static void look_for_interpreters(struct sampler *s, uint64_t now_ns)
{
	const struct tree_process *all;
	size_t n;

	s->look_for_ns = now_ns + LOOK_FOR_MS * MS;
	all = tree_processes(s->c.tree, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].is_alive && py_search_is_due(s->search, &all[i], now_ns))
			try_process(s, &all[i], now_ns);
}

static void drop_process(struct sampler *s, uint64_t serial)
{
	py_search_forget(s->search, serial);
	for (size_t i = s->processes.n; i-- > 0;)
		if (s->processes.v[i]->serial == serial) {
			process_free(s->processes.v[i]);
			vec_remove_swap(&s->processes, i);
		}
}

static void sample_event(void *state, const struct tree_event *ev)
{
	struct sampler *s = state;

	if (ev->kind != TREE_FORK)
		drop_process(s, ev->process->serial); /* ended, or runs another program now */
	s->look_for_ns = 0;
}

/* ---- the collector --------------------------------------------------------------------------- */

static uint64_t next_random(struct sampler *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	return s->random ^= s->random << 17;
}

/* Half an interval to one and a half: no aliasing with what the program does regularly. */
static uint64_t schedule(struct sampler *s, uint64_t now_ns)
{
	if (!s->interval_ns) /* as often as possible, and yet not in step with the program */
		return now_ns + next_random(s) % MAX_RATE_JITTER_NS;
	s->next_ns += s->interval_ns / 2 + next_random(s) % s->interval_ns;
	if (s->next_ns < now_ns) { /* late: the looks that cannot be made any more are counted */
		uint64_t missed = (now_ns - s->next_ns) / s->interval_ns;

		s->n_missed += missed;
		s->next_ns += missed * s->interval_ns;
	}
	return s->next_ns;
}

static void tell_losses(struct sampler *s, uint64_t now_ns)
{
	if (s->n_lost == s->told_lost)
		return;
	writer_add(s->c.writer, RECORD_loss,
		&(struct rec_loss){ .t_ns = now_ns,
			.what = writer_string(s->c.writer, "sample"),
			.count = s->n_lost - s->told_lost });
	s->told_lost = s->n_lost;
}

static uint64_t sample_drain(void *state, uint64_t now_ns)
{
	struct sampler *s = state;

	if (now_ns >= s->look_for_ns)
		look_for_interpreters(s, now_ns);
	if (s->processes.n && !s->first_ns) {
		s->first_ns = now_ns;
		s->next_ns = now_ns;
	}
	vec_each (&s->processes, p)
		look_at_process(s, *p, now_ns);
	if (!s->processes.n)
		return now_ns + MS;
	s->n_ticks++;
	s->last_ns = now_ns;
	if (s->n_ticks % 1024 == 0)
		tell_losses(s, now_ns);
	return schedule(s, now_ns);
}

static void sample_probe(struct probe *ret)
{
	check_find("remote-memory")->probe(ret);
}

static int sample_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct sampler *s = xcalloc(1, sizeof *s);

	(void)e;
	s->c = *c;
	s->search = py_search_new();
	s->random = 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	s->interval_ns = c->rate_hz > 0 ? (uint64_t)(1e9 / c->rate_hz) : 0;
	*ret_state = s;
	return 0;
}

static void meta_number(struct writer *w, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof text, "%.17g", value);
	writer_meta(w, key, text);
}

static void sample_stop(void *state)
{
	struct sampler *s = state;
	double seconds = s->last_ns > s->first_ns ? (double)(s->last_ns - s->first_ns) / 1e9 : 0;

	tell_losses(s, s->last_ns);
	writer_meta(s->c.writer, "engine", "sample/remote");
	meta_number(
		s->c.writer, "rate_asked_hz", s->interval_ns ? 1e9 / (double)s->interval_ns : 0);
	if (seconds > 0)
		meta_number(s->c.writer, "rate_reached_hz", (double)s->n_ticks / seconds);
	if (!s->n_samples)
		writer_meta(s->c.writer, "no_python", py_search_reason(s->search));
	meta_number(s->c.writer, "samples", (double)s->n_samples);
	meta_number(s->c.writer, "samples_lost", (double)s->n_lost);
	meta_number(s->c.writer, "samples_shortened", (double)s->n_shortened);
	meta_number(s->c.writer, "ticks_missed", (double)s->n_missed);
	vec_each (&s->processes, p)
		process_free(*p);
	vec_done(&s->processes);
	py_search_free(s->search);
	free(s);
}

const struct collector collector_sample = {
	.name = "sample/remote",
	.sees = "Python stacks of every thread, by reading the program's memory without stopping "
		"it",
	.probe = sample_probe,
	.start = sample_start,
	.drain = sample_drain,
	.on_event = sample_event,
	.stop = sample_stop,
};
