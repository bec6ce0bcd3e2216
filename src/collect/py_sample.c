/* SPDX-License-Identifier: MIT
 *
 * The sampler: the Python stacks of every thread of every interpreter of the tree, by remote reads.
 * The target is never stopped and never written to.
 *
 * One look at a thread is one system call that copies its thread state, the chunks of its data stack,
 * the thread state again, and the frames outside the data stack that were needed before; walk.c makes a
 * stack of that one image. No look is repeated because of what it shows. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/checks.h"
#include "collect/collector.h"
#include "collect/py_code.h"
#include "collect/py_sample.h"
#include "collect/py_target.h"
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
	CFRAMES = 3,        /* a generator driven from C goes to and fro between two */
	OUTSIDE_MOST = 48,  /* frames outside the data stack that are copied along */
	FRAME_MOST = 256,   /* bytes of a frame before its locals */
	THREAD_MOST = 4096, /* bytes of a thread state */
	CHUNK_MOST = 4 << 20,
	TRY_AGAIN_MS = 5,  /* while an interpreter starts */
	GIVEN_UP_MS = 500, /* for what is no Python now */
	RELIST_MS = 100,
	HOT_MORE = 1024, /* bytes beyond the top of the last look that are copied with it */
};

static const uint64_t MS = 1000000;
static const uint64_t MAX_RATE_JITTER_NS = 8000;

struct outside {
	uint64_t address;
	uint64_t used_ns; /* when it was last needed */
	bool is_copied;   /* in the newest image */
	unsigned char bytes[FRAME_MOST];
};

struct cframe { /* of one C-level eval, on the C stack */
	uint64_t address;
	bool is_copied;
	unsigned char bytes[64];
};

struct py_thread {
	uint64_t address; /* of the thread state */
	uint32_t tid;
	int stat_fd;
	char state; /* as /proc says */
	uint64_t state_ns;
	size_t n_chunks;
	struct walk_chunk chunks[WALK_CHUNKS]; /* from the root on; bytes owned */
	size_t capacity[WALK_CHUNKS];
	unsigned char before[THREAD_MOST], after[THREAD_MOST];
	struct cframe cframes[CFRAMES]; /* 3.11, 3.12: those seen last, newest first */
	size_t n_outside;
	struct outside outside[OUTSIDE_MOST];
	/* The stack before, whose rows are used again as far as it is the same. */
	size_t n_last;
	struct walk_frame *last; /* owned, WALK_DEPTH */
	uint32_t *rows;          /* stack rows of last[0 … i] as callers */
	uint32_t segment;
	uint32_t row; /* in the thread table */
	bool is_listed;
};

struct py_process {
	pid_t pid;
	uint64_t serial, start_ns;
	pid_t parent;
	struct py_target target;
	struct py_codes *codes;
	char interpreter[64];
	VEC(struct py_thread *) threads;
	uint64_t threads_head; /* when they were listed */
	uint64_t relist_ns;
	uint64_t gil;        /* address of the GIL's struct, 0 unknown */
	uint64_t gil_holder; /* thread state, 0 nobody */
	uint64_t interp;
	bool is_collecting;
	uint32_t row, segment;
	struct py_thread *looking; /* for the walker's callbacks */
	uint64_t now_ns;
};

struct sampler {
	struct collect_context c;
	VEC(struct py_process *) processes;
	struct map known; /* serial → when to try again; never for those we sample */
	uint64_t interval_ns, next_ns, look_for_ns;
	uint64_t random;
	uint64_t n_samples, n_lost, n_shortened, n_missed, n_ticks, n_errors;
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

/* ---- chunks ---------------------------------------------------------------------------------- */

static void set_chunk(struct py_thread *t, size_t i, uint64_t address, uint64_t size)
{
	struct walk_chunk *c = &t->chunks[i];

	if (size > t->capacity[i]) {
		c->bytes = xrealloc((void *)c->bytes, size, 1);
		t->capacity[i] = size;
	}
	c->address = address;
	c->n = size;
}

/* Finds the chain of chunks anew, newest first in memory, root first in our list. */
static void find_chunks(struct py_process *p, struct py_thread *t, uint64_t newest)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t address[WALK_CHUNKS], size[WALK_CHUNKS];
	size_t n = 0;

	for (uint64_t at = newest; at && n < WALK_CHUNKS; n++) {
		unsigned char head[64];

		if (l->chunk_data > sizeof head ||
			mem_read(&p->target.mem, at, head, l->chunk_data) < 0)
			break;
		address[n] = at;
		size[n] = u64_at(head, l->chunk_size);
		if (size[n] < l->chunk_data || size[n] > CHUNK_MOST)
			break;
		at = u64_at(head, l->chunk_previous);
	}
	t->n_chunks = n;
	for (size_t i = 0; i < n; i++)
		set_chunk(t, i, address[n - 1 - i], size[n - 1 - i]);
}

/* ---- one image ------------------------------------------------------------------------------- */

enum { SEGMENTS_MOST = WALK_CHUNKS + OUTSIDE_MOST + CFRAMES + 4 };

struct segments {
	struct iovec local[SEGMENTS_MOST], remote[SEGMENTS_MOST];
	size_t n;
};

static void add_segment(struct segments *s, void *to, uint64_t from, size_t n)
{
	s->local[s->n] = (struct iovec){ to, n };
	s->remote[s->n] = (struct iovec){ (void *)(uintptr_t)from, n };
	s->n++;
}

/* Bytes of the newest chunk that were in use at the last look, and some more. */
static size_t hot_bytes(const struct py_process *p, const struct py_thread *t)
{
	const struct walk_chunk *c = &t->chunks[t->n_chunks - 1];
	uint64_t top = u64_at(t->after, p->target.layout.thread_datastack_top);
	uint64_t used = top > c->address && top - c->address <= c->n ? top - c->address : c->n;

	return used + HOT_MORE < c->n ? used + HOT_MORE : c->n;
}

/* Copies everything in one call, and what belongs together close together: the used part of the newest
 * chunk, the thread state, the frames outside. The rest of the chunk, mostly dead, comes last. The call
 * stops at the first hole, so what may be unmapped by now comes after what must be there; then the rest
 * is read by a call of its own. false when the thread or its chunks could not be read. */
static bool copy_image(struct py_process *p, struct py_thread *t)
{
	const struct py_layout *l = &p->target.layout;
	struct walk_chunk *newest = t->n_chunks ? &t->chunks[t->n_chunks - 1] : NULL;
	size_t hot = newest ? hot_bytes(p, t) : 0, must = 0, n_cframes = 0, all, at;
	struct segments s = { .n = 0 };
	ssize_t copied;

	for (size_t i = 0; i + 1 < t->n_chunks; i++)
		add_segment(&s, (void *)t->chunks[i].bytes, t->chunks[i].address, t->chunks[i].n);
	add_segment(&s, t->before, t->address, l->thread_sizeof);
	if (newest)
		add_segment(&s, (void *)newest->bytes, newest->address, hot);
	add_segment(&s, t->after, t->address, l->thread_sizeof);
	for (size_t i = 0; i < s.n; i++)
		must += s.local[i].iov_len;
	for (int i = 0; i < CFRAMES && t->cframes[i].address; i++, n_cframes++)
		add_segment(&s, t->cframes[i].bytes, t->cframes[i].address, l->cframe_sizeof);
	for (size_t i = 0; i < t->n_outside; i++)
		add_segment(&s, t->outside[i].bytes, t->outside[i].address, l->frame_localsplus);
	all = must + t->n_outside * l->frame_localsplus;
	if (n_cframes)
		all += n_cframes * l->cframe_sizeof;
	if (newest && hot < newest->n) {
		add_segment(
			&s, (char *)newest->bytes + hot, newest->address + hot, newest->n - hot);
		all += newest->n - hot;
	}
	copied = mem_readv(&p->target.mem, s.local, s.remote, s.n);
	if (copied < (ssize_t)must)
		return false;
	if (copied < (ssize_t)all && newest && hot < newest->n &&
		mem_read(&p->target.mem, newest->address + hot, (char *)newest->bytes + hot,
			newest->n - hot) < 0)
		return false;
	at = must;
	for (size_t i = 0; i < n_cframes; i++) {
		at += l->cframe_sizeof;
		t->cframes[i].is_copied = (size_t)copied >= at;
	}
	for (size_t i = 0; i < t->n_outside; i++) {
		at += l->frame_localsplus;
		t->outside[i].is_copied = (size_t)copied >= at;
	}
	return true;
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	struct py_process *p = ctx;

	return py_codes_find(p->codes, address);
}

static struct outside *oldest(struct py_thread *t)
{
	struct outside *found = &t->outside[0];

	for (size_t i = 1; i < t->n_outside; i++)
		if (t->outside[i].used_ns < found->used_ns)
			found = &t->outside[i];
	return found;
}

/* From the image, or read now and copied along from the next look on. */
static const unsigned char *find_outside(void *ctx, uint64_t address)
{
	struct py_process *p = ctx;
	struct py_thread *t = p->looking;
	struct outside *o = NULL;

	for (size_t i = 0; i < t->n_outside && !o; i++)
		if (t->outside[i].address == address)
			o = &t->outside[i];
	if (!o) {
		o = t->n_outside < OUTSIDE_MOST ? &t->outside[t->n_outside++] : oldest(t);
		*o = (struct outside){ .address = address };
	}
	if (!o->is_copied &&
		mem_read(&p->target.mem, address, o->bytes, p->target.layout.frame_localsplus) < 0)
		return NULL;
	o->is_copied = true;
	o->used_ns = p->now_ns;
	return o->bytes;
}

static void forget_unused(struct py_thread *t, uint64_t now_ns)
{
	for (size_t i = t->n_outside; i-- > 0;)
		if (now_ns - t->outside[i].used_ns > 200 * MS)
			t->outside[i] = t->outside[--t->n_outside];
}

/* From the image, or read now and copied along from the next look on. */
static const struct cframe *cframe_get(struct py_process *p, struct py_thread *t, uint64_t address)
{
	uint32_t size = p->target.layout.cframe_sizeof;
	struct cframe *newest = &t->cframes[0];

	for (int i = 0; i < CFRAMES; i++)
		if (t->cframes[i].address == address && t->cframes[i].is_copied)
			return &t->cframes[i];
	if (!address || size > sizeof newest->bytes)
		return NULL;
	if (newest->address != address)
		memmove(newest + 1, newest, (CFRAMES - 1) * sizeof *newest);
	newest->address = address;
	newest->is_copied = mem_read(&p->target.mem, address, newest->bytes, size) == 0;
	return newest->is_copied ? newest : NULL;
}

/* The running frame's address: in the thread state, or (3.11, 3.12) behind a pointer to the C stack. */
static uint64_t current_frame(struct py_process *p, struct py_thread *t)
{
	const struct py_layout *l = &p->target.layout;
	const struct cframe *found;
	uint64_t cframe;

	if (l->thread_current_frame != PY_NONE)
		return u64_at(t->after, l->thread_current_frame);
	cframe = u64_at(t->after, l->thread_cframe);
	found = cframe_get(p, t, cframe);
	return found ? u64_at(found->bytes, l->cframe_current_frame) : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct sampler *s, struct py_process *p)
{
	char command[4096] = "", boot[40] = "";

	if (p->row && p->segment == writer_segment(s->c.writer))
		return p->row;
	proc_command(p->pid, command, sizeof command);
	if (proc_read(boot, sizeof boot, "/proc/sys/kernel/random/boot_id") > 0)
		boot[strcspn(boot, "\n")] = '\0';
	p->segment = writer_segment(s->c.writer);
	p->row = writer_row(s->c.writer, RECORD_process,
		&(struct rec_process){ .boot = writer_string(s->c.writer, boot),
			.pid = (uint32_t)p->pid,
			.start_ns = p->start_ns,
			.parent_pid = (uint32_t)p->parent,
			.command = writer_string(s->c.writer, command) });
	return p->row;
}

static void thread_rows(struct sampler *s, struct py_process *p, struct py_thread *t)
{
	if (t->segment == writer_segment(s->c.writer))
		return;
	t->segment = writer_segment(s->c.writer);
	t->n_last = 0;
	t->row = writer_row(s->c.writer, RECORD_thread,
		&(struct rec_thread){ .process = process_row(s, p), .tid = t->tid });
}

/* The stack row of frames[0 … n-1] as callers. Rows of the same beginning as last time are reused. */
static uint32_t caller_stack(struct sampler *s, struct py_process *p, struct py_thread *t, size_t n)
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

static uint16_t state_bits(const struct py_process *p, const struct py_thread *t, bool is_shortened)
{
	uint16_t bits = 0;

	if (t->state == 'R')
		bits |= SAMPLE_ON_CPU;
	if (p->gil_holder == t->address)
		bits |= SAMPLE_HOLDS_GIL;
	if (p->is_collecting && p->gil_holder == t->address)
		bits |= SAMPLE_IN_GC;
	if (is_shortened)
		bits |= SAMPLE_SHORTENED;
	return bits;
}

static void look_at_state(struct py_thread *t, uint64_t now_ns)
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
	struct sampler *s, struct py_process *p, struct py_thread *t, uint64_t now_ns)
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
	struct sampler *s, struct py_process *p, struct py_thread *t, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	struct walk_callbacks callbacks = { .code = find_code, .outside = find_outside, .ctx = p };
	struct walk_image image = {
		.thread_before = t->before, .thread_after = t->after, .chunks = t->chunks
	};
	uint64_t newest;

	p->looking = t;
	for (size_t i = 0; i < t->n_outside; i++)
		t->outside[i].is_copied = false;
	if (!copy_image(p, t)) {
		s->n_errors++;
		t->n_chunks = 0;
		p->relist_ns = 0;
		return;
	}
	newest = u64_at(t->after, l->thread_datastack_chunk);
	image.n_chunks = t->n_chunks;
	image.current = current_frame(p, t);
	walk_stack(l, &image, &callbacks, &s->walk);
	if (newest != (t->n_chunks ? t->chunks[t->n_chunks - 1].address : 0))
		find_chunks(p, t, newest); /* for the next look */
	if (s->walk.n == 0 && !s->walk.is_shortened) {
		s->n_lost += image.current != 0 && t->n_chunks > 0;
		return;
	}
	look_at_state(t, now_ns);
	record_sample(s, p, t, now_ns);
	forget_unused(t, now_ns);
}

/* ---- threads of a process -------------------------------------------------------------------- */

static void thread_free(struct py_thread *t)
{
	for (size_t i = 0; i < WALK_CHUNKS; i++)
		free((void *)t->chunks[i].bytes);
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	free(t->last);
	free(t->rows);
	free(t);
}

static struct py_thread *thread_find(struct py_process *p, uint64_t address)
{
	vec_each (&p->threads, t)
		if ((*t)->address == address)
			return *t;
	return NULL;
}

static struct py_thread *thread_add(
	struct py_process *p, uint64_t address, const unsigned char *bytes)
{
	const struct py_layout *l = &p->target.layout;
	struct py_thread *t = xcalloc(1, sizeof *t);
	char path[64];

	t->address = address;
	t->tid = (uint32_t)u64_at(bytes, l->thread_native_thread_id);
	t->last = xcalloc(WALK_DEPTH, sizeof *t->last);
	t->rows = xcalloc(WALK_DEPTH, sizeof *t->rows);
	snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)p->pid, t->tid);
	t->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	find_chunks(p, t, u64_at(bytes, l->thread_datastack_chunk));
	vec_push(&p->threads, t);
	return t;
}

static void list_threads(struct py_process *p, uint64_t now_ns)
{
	const struct py_layout *l = &p->target.layout;
	unsigned char bytes[THREAD_MOST];
	uint64_t at = 0;

	p->relist_ns = now_ns + RELIST_MS * MS;
	vec_each (&p->threads, t)
		(*t)->is_listed = false;
	if (read_u64(p, p->target.runtime + l->runtime_interpreters_head, &p->interp) < 0 ||
		!p->interp || read_u64(p, p->interp + l->interp_threads_head, &at) < 0)
		return;
	p->threads_head = at;
	for (int n = 0; at && n < THREADS_MOST; n++) {
		struct py_thread *t;

		if (mem_read(&p->target.mem, at, bytes, l->thread_sizeof) < 0)
			break;
		t = thread_find(p, at);
		if (t && t->tid != (uint32_t)u64_at(bytes, l->thread_native_thread_id))
			t = NULL; /* the address was used again */
		if (!t)
			t = thread_add(p, at, bytes);
		t->is_listed = true;
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
}

/* Who holds the GIL, whether a collection runs, and whether threads came: one call per look. */
static void look_at_interpreter(struct py_process *p)
{
	const struct py_layout *l = &p->target.layout;
	bool is_old = l->runtime_tstate_current != PY_NONE; /* up to 3.11 */
	uint64_t holder = 0, head = 0;
	int32_t locked = 1, collecting = 0;
	struct segments s = { .n = 0 };

	if (is_old)
		add_segment(&s, &holder, p->target.runtime + l->runtime_tstate_current, 8);
	else if (p->gil) {
		add_segment(&s, &holder, p->gil + l->gil_last_holder, 8);
		add_segment(&s, &locked, p->gil + l->gil_locked, 4);
	}
	add_segment(&s, &head, p->interp + l->interp_threads_head, 8);
	add_segment(&s, &collecting, p->interp + l->interp_gc + l->gc_collecting, 4);
	if (mem_readv(&p->target.mem, s.local, s.remote, s.n) <= 0)
		return;
	p->gil_holder = locked == 1 ? holder : 0;
	p->is_collecting = collecting != 0;
	if (head != p->threads_head)
		p->relist_ns = 0;
}

static void look_at_process(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	p->now_ns = now_ns;
	py_codes_tick(p->codes, now_ns);
	look_at_interpreter(p);
	if (now_ns >= p->relist_ns)
		list_threads(p, now_ns);
	vec_each (&p->threads, t)
		look_at_thread(s, p, *t, now_ns);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void process_free(struct py_process *p)
{
	vec_each (&p->threads, t)
		thread_free(*t);
	vec_done(&p->threads);
	py_codes_free(p->codes);
	py_target_close(&p->target);
	free(p);
}

/* When to try again: never after success, soon while it starts, later when it is no Python (it may exec
 * one without our being told). */
static uint64_t try_process(struct sampler *s, const struct tree_process *t, uint64_t now_ns)
{
	struct py_process *p = xcalloc(1, sizeof *p);
	struct err e = ERR_INIT;
	int status = py_target_open(&p->target, t->pid, &e);

	if (status == 0 && p->target.layout.frame_stacktop == PY_NONE)
		status = err_set(
			&e, ERR_UNSUPPORTED, "CPython %s cannot be sampled yet", p->target.version);
	if (status != 0) {
		log_debug(2, "%d: %s", (int)t->pid, e.text);
		py_target_close(&p->target);
		free(p);
		return now_ns + (status == PY_TARGET_STARTING ? TRY_AGAIN_MS : GIVEN_UP_MS) * MS;
	}
	p->pid = t->pid;
	p->serial = t->serial;
	p->start_ns = t->start_ns;
	p->parent = t->parent;
	snprintf(p->interpreter, sizeof p->interpreter, "cpython %s", p->target.version);
	p->codes = py_codes_new(&p->target.layout, &p->target.mem, p->interpreter);
	list_threads(p, now_ns);
	vec_push(&s->processes, p);
	writer_meta(s->c.writer, "interpreter", p->interpreter);
	log_debug(1, "%d: %s", (int)t->pid, p->interpreter);
	return UINT64_MAX;
}

static void look_for_interpreters(struct sampler *s, uint64_t now_ns)
{
	const struct tree_process *all;
	size_t n;

	s->look_for_ns = now_ns + TRY_AGAIN_MS * MS;
	all = tree_processes(s->c.tree, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t next = 0;

		if (!all[i].is_alive ||
			(map_find(&s->known, all[i].serial, &next) && next > now_ns))
			continue;
		map_put(&s->known, all[i].serial, try_process(s, &all[i], now_ns));
	}
}

static void drop_process(struct sampler *s, uint64_t serial)
{
	map_remove(&s->known, serial);
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
	meta_number(s->c.writer, "samples", (double)s->n_samples);
	meta_number(s->c.writer, "samples_lost", (double)s->n_lost);
	meta_number(s->c.writer, "samples_shortened", (double)s->n_shortened);
	meta_number(s->c.writer, "ticks_missed", (double)s->n_missed);
	meta_number(s->c.writer, "read_errors", (double)s->n_errors);
	vec_each (&s->processes, p)
		process_free(*p);
	vec_done(&s->processes);
	map_done(&s->known);
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
