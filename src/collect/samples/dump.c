/* SPDX-License-Identifier: MIT
 * See dump.h. */
#include "collect/samples/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/samples/asyncio.h"
#include "collect/samples/code.h"
#include "collect/samples/source_reader.h"
#include "collect/samples/target.h"
#include "collect/samples/thread.h"
#include "collect/samples/tid.h"
#include "cpython/asyncio.h"
#include "cpython/code.h"
#include "cpython/mem.h"
#include "cpython/names.h"
#include "cpython/object.h"
#include "cpython/snapshot.h"
#include "cpython/value.h"
#include "sys/core.h"
#include "sys/proc.h"
#include "sys/rank.h"
#include "base/banned.h"

enum {
	INTERPRETERS_MOST = 256,
	THREADS_MOST = 4096,
	FRAMES_MOST = WALK_DEPTH,
	LOOKS = 5,           /* at a thread that moves */
	STARTS = 50,         /* looks at an interpreter that starts … */
	START_PAUSE_MS = 20, /* … and the time between them */
};

struct made {
	struct snapshot_frame *frames;
	size_t n;
};

struct dumper {
	struct arena *a;
	struct py_target target;
	struct objects objects;
	struct py_tids tids;
	struct py_codes *codes;
	struct py_sources *sources;
	const struct py_dump_options *o;
	struct map known;           /* address of a code object → struct code * */
	struct map names;           /* ident → name, of the interpreter looked at */
	struct stack_frame *frames; /* room, FRAMES_MOST */
	struct walk *walk;          /* room */
	VEC(struct snapshot_thread) threads;
	VEC(uint64_t) states; /* thread states of the interpreter looked at */
	struct asyncio asyncio;
	struct asyncio_offsets asyncio_offsets;
	VEC(struct snapshot_task) tasks;
	VEC(struct made) made; /* all frames, for their source lines */
};

/* ---- frames ---------------------------------------------------------------------------------- */

static const struct code *code_get(struct dumper *d, uint64_t address)
{
	uint64_t known = 0;

	if (!map_find(&d->known, address, &known)) {
		known = (uintptr_t)code_read(d->a, &d->objects, address);
		map_put(&d->known, address, known);
	}
	return (const struct code *)(uintptr_t)known;
}

struct locals {
	struct dumper *d;
	VEC(struct snapshot_local) items;
};

static void add_local(void *ctx, const struct local *l)
{
	struct locals *all = ctx;
	struct buf text = BUF_INIT;

	if (l->is_number)
		value_format_int(l->number, &text);
	else
		value_format(&all->d->objects, l->value, &value_limits_usual, &text);
	vec_push(&all->items,
		(struct snapshot_local){ .name = arena_strdup(all->d->a, l->name),
			.value = arena_strdup(all->d->a, buf_str(&text)),
			.kind = l->kind });
	buf_done(&text);
}

static void add_locals(struct dumper *d, uint64_t code, struct snapshot_frame *f)
{
	struct locals all = { .d = d };

	locals_each(&d->objects, code, f->address, add_local, &all);
	f->n_locals = all.items.n;
	f->locals = arena_copy(d->a, all.items.v, all.items.n * sizeof *all.items.v);
	vec_done(&all.items);
}

/* address 0: not known, and so no locals. */
static struct snapshot_frame make_frame(
	struct dumper *d, uint64_t code, uint64_t address, struct position at)
{
	const struct code *c = code_get(d, code);
	struct snapshot_frame f = { .address = address,
		.function = c ? c->qualname : "?",
		.file = c ? c->file : "?",
		.at = at };

	if (d->o->locals && address)
		add_locals(d, code, &f);
	return f;
}

static struct snapshot_frame *new_frames(struct dumper *d, size_t n)
{
	struct made made = { arena_new_n(d->a, struct snapshot_frame, n), n };

	vec_push(&d->made, made);
	return made.frames;
}

/* Last of all: files are slow to read, and the program goes on between one thread's look and the next. */
static void add_sources(struct dumper *d)
{
	vec_each (&d->made, m)
		for (size_t i = 0; i < m->n; i++)
			m->frames[i].source = py_sources_line(
				d->sources, d->a, m->frames[i].file, m->frames[i].at.line);
}

static struct snapshot_frame frame_of(struct dumper *d, const struct stack_frame *f)
{
	const struct code *c = code_get(d, f->code);

	return make_frame(
		d, f->code, f->address, c ? code_position(&d->objects, c, f) : POSITION_UNKNOWN);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A stack that never stands still, in one image. Addresses, and so locals, are those of the part on the
 * root's side that stands still (d->frames[0 … n_still - 1], leaf first). */
static bool look_at_moving(struct dumper *d, uint64_t thread, const unsigned char *bytes,
	size_t n_still, struct snapshot_stack *ret)
{
	struct py_view view = { .l = &d->target.layout, .mem = &d->target.mem, .codes = d->codes };
	struct py_thread *t;
	struct snapshot_frame *frames;
	enum py_look look = PY_LOOK_LOST;

	t = xcalloc(1, sizeof *t);
	py_thread_init(t, &view, thread, bytes);
	for (int i = 0; i < LOOKS && !(look == PY_LOOK_STACK && !d->walk->is_shortened); i++)
		look = py_thread_look(t, &view, d->walk);
	py_thread_done(t);
	free(t);
	if (look != PY_LOOK_STACK || d->walk->n <= n_still)
		return false;
	frames = new_frames(d, d->walk->n);
	for (size_t i = 0; i < d->walk->n; i++) { /* from the root on */
		const struct walk_frame *w = &d->walk->frames[i];
		const struct code *c = code_get(d, w->code);
		uint64_t address = i < n_still && d->frames[n_still - 1 - i].code == w->code
			? d->frames[n_still - 1 - i].address
			: 0;

		frames[d->walk->n - 1 - i] = make_frame(
			d, w->code, address, c ? code_position_at(c, w->offset) : POSITION_UNKNOWN);
	}
	*ret = (struct snapshot_stack){ .state = d->walk->is_shortened ? STACK_MOVING : STACK_WHOLE,
		.frames = frames,
		.n = d->walk->n };
	return true;
}

static struct snapshot_stack thread_stack(
	struct dumper *d, uint64_t thread, const unsigned char *bytes)
{
	struct snapshot_stack s = { 0 };
	struct snapshot_frame *frames;

	s.state = stack_read(&d->objects, thread, d->frames, FRAMES_MOST, &s.n);
	if ((s.state == STACK_MOVING || s.state == STACK_LOST) &&
		look_at_moving(d, thread, bytes, s.n, &s))
		return s;
	frames = new_frames(d, s.n);
	for (size_t i = 0; i < s.n; i++)
		frames[i] = frame_of(d, &d->frames[i]);
	s.frames = frames;
	return s;
}

static char run_state(pid_t pid, pid_t tid)
{
	struct proc_stat st;
	char text[1024];

	if (pid && tid &&
		proc_read(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid) > 0 &&
		proc_stat_parse(text, &st))
		return st.state;
	return 0;
}

/* What the system calls a thread that Python has no name for; NULL when it is only the process's. */
static const char *system_name(struct dumper *d, pid_t tid)
{
	char name[64], process[64];
	pid_t pid = d->target.pid;

	if (!pid || !tid || tid == pid ||
		proc_read(name, sizeof name, "/proc/%d/task/%d/comm", (int)pid, (int)tid) <= 0 ||
		proc_read(process, sizeof process, "/proc/%d/comm", (int)pid) <= 0 ||
		strcmp(name, process) == 0)
		return NULL;
	name[strcspn(name, "\n")] = '\0';
	return arena_strdup(d->a, name);
}

static void add_name(void *ctx, uint64_t ident, const char *name)
{
	struct dumper *d = ctx;

	map_put(&d->names, ident, (uintptr_t)arena_strdup(d->a, name));
}

/* The thread state that holds the interpreter's GIL; 0: none. */
static uint64_t gil_holder(struct dumper *d, uint64_t interp)
{
	const struct py_layout *l = &d->target.layout;
	const struct mem *m = &d->target.mem;
	uint64_t holder = 0, gil;
	uint32_t locked = 0;

	if (l->runtime_tstate_current != PY_NONE)
		mem_read_u64(m, d->target.runtime + l->runtime_tstate_current, &holder);
	else if (mem_read_u64(m, interp + l->interp_ceval_gil, &gil) == 0 && gil &&
		mem_read_u32(m, gil + l->gil_locked, &locked) == 0 && locked == 1)
		mem_read_u64(m, gil + l->gil_last_holder, &holder);
	return holder;
}

static bool is_collecting(struct dumper *d, uint64_t interp)
{
	const struct py_layout *l = &d->target.layout;
	uint64_t gc =
		l->interp_gc != PY_NONE ? interp + l->interp_gc : d->target.runtime + l->runtime_gc;
	uint32_t collecting = 0;

	mem_read_u32(&d->target.mem, gc + l->gc_collecting, &collecting);
	return collecting == 1;
}

static pid_t find_tid(struct dumper *d, const unsigned char *bytes)
{
	return (pid_t)py_tids_find(&d->tids, &d->target.layout, &d->target.mem, bytes);
}

static void add_thread(struct dumper *d, uint64_t address, const unsigned char *bytes,
	int64_t interpreter, uint64_t holder, bool in_gc)
{
	const struct py_layout *l = &d->target.layout;
	struct snapshot_thread t = { .interpreter = interpreter,
		.tid = find_tid(d, bytes),
		.ident = u64_at(bytes, l->thread_thread_id),
		.holds_gil = holder == address && !d->target.is_free_threaded,
		.task = SIZE_MAX };
	uint64_t name;
	int32_t requested = 0;

	t.is_collecting = in_gc && holder == address;
	if (l->thread_gil_requested != PY_NONE)
		memcpy(&requested, bytes + l->thread_gil_requested, 4);
	t.waits_for_gil = requested != 0 && !t.holds_gil;
	if (map_find(&d->names, t.ident, &name))
		t.name = (const char *)(uintptr_t)name;
	else
		t.name = system_name(d, t.tid);
	t.run_state = run_state(d->target.pid, t.tid);
	t.stack = thread_stack(d, address, bytes);
	vec_push(&d->threads, t);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* What people call it: a task by its name, a plain future as such, others by their type. */
static const char *future_name(struct dumper *d, uint64_t future)
{
	const struct object_type *t = future ? object_type(&d->objects, future) : NULL;
	struct buf text = BUF_INIT;
	const char *name = "";

	if (t && object_has_base(&d->objects, t, "_asyncio.Task") &&
		asyncio_name(&d->asyncio, future, &text) == 0)
		name = arena_printf(d->a, "task %s", buf_str(&text));
	else if (t && strcmp(t->name, "_asyncio.Future") == 0)
		name = "a future";
	else if (t && strcmp(t->name, "_GatheringFuture") == 0)
		name = "gather";
	else if (t && !object_is_static(t, "NoneType")) {
		object_type_name(&d->objects, t, &text);
		name = arena_strdup(d->a, buf_str(&text));
	}
	buf_done(&text);
	return name;
}

/* The thread on whose stack the frame is, and where; false when there is none. */
static bool find_frame(struct dumper *d, uint64_t address, size_t *ret_thread, size_t *ret_frame)
{
	for (size_t i = 0; i < d->threads.n; i++)
		for (size_t k = 0; k < d->threads.v[i].stack.n; k++)
			if (d->threads.v[i].stack.frames[k].address == address) {
				*ret_thread = i;
				*ret_frame = k;
				return true;
			}
	return false;
}

static struct snapshot_stack task_stack(struct dumper *d, const struct asyncio_task *t, size_t task)
{
	struct snapshot_frame *frames;
	size_t thread, at;

	/* A running one has its frames on the stack of a thread, plain calls included. */
	if (t->state == COROUTINE_RUNNING && t->n_frames &&
		find_frame(d, t->frames[t->n_frames - 1].address, &thread, &at)) {
		d->threads.v[thread].task = task;
		return (struct snapshot_stack){ .state = d->threads.v[thread].stack.state,
			.frames = d->threads.v[thread].stack.frames,
			.n = at + 1 };
	}
	frames = new_frames(d, t->n_frames);
	for (size_t i = 0; i < t->n_frames; i++)
		frames[i] = frame_of(d, &t->frames[i]);
	return (struct snapshot_stack){ .frames = frames, .n = t->n_frames };
}

static void look_at_tasks(struct dumper *d, uint64_t interp)
{
	struct asyncio_tasks tasks;
	size_t before = d->tasks.n;

	asyncio_read(&d->asyncio, d->a, interp, d->states.v, d->states.n, &tasks);
	for (size_t i = 0; i < tasks.n; i++) {
		const struct asyncio_task *t = &tasks.v[i];

		for (size_t k = 0; k < t->n_awaiters; k++)
			t->awaiters[k] += before;
		vec_push(&d->tasks,
			(struct snapshot_task){ .address = t->address,
				.name = t->name,
				.state = t->state,
				.stack = task_stack(d, t, before + i),
				.waits_for = future_name(d, t->waits_on),
				.awaiters = t->awaiters,
				.n_awaiters = t->n_awaiters });
	}
}

/* ---- interpreters ---------------------------------------------------------------------------- */

static void look_at_interpreter(struct dumper *d, uint64_t interp)
{
	const struct py_layout *l = &d->target.layout;
	const struct mem *m = &d->target.mem;
	unsigned char bytes[PY_THREAD_BYTES_MAX];
	uint64_t at = 0, id = 0, holder;
	bool in_gc = is_collecting(d, interp);

	mem_read_u64(m, interp + l->interp_id, &id);
	mem_read_u64(m, interp + l->interp_threads_head, &at);
	map_clear(&d->names);
	vec_clear(&d->states);
	names_each(&d->objects, interp, add_name, d);
	holder = gil_holder(d, interp);
	for (int n = 0; at && n < THREADS_MOST; n++) {
		if (at % 8 || mem_read(m, at, bytes, l->thread_sizeof) < 0)
			break;
		add_thread(d, at, bytes, (int64_t)id, holder, in_gc);
		vec_push(&d->states, at);
		at = u64_at(bytes, l->thread_next);
	}
	look_at_tasks(d, interp);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Lists are newest first; people want the main interpreter and the main thread first. */
static int compare_threads(const void *a, const void *b)
{
	const struct snapshot_thread *x = a, *y = b;

	if (x->interpreter != y->interpreter)
		return x->interpreter < y->interpreter ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static const struct snapshot *take(struct dumper *d)
{
	const struct py_layout *l = &d->target.layout;
	struct snapshot *s = arena_new(d->a, struct snapshot);
	char command[4096] = "", rank[RANK_TEXT] = "";
	uint64_t interp = 0;

	if (d->target.core) {
		snprintf(command, sizeof command, "%s", d->target.core->command);
		s->signal = d->target.core->signal;
	} else {
		proc_command(d->target.pid, command, sizeof command);
		rank_of(d->target.pid, rank);
	}
	s->pid = d->target.core ? d->target.core->pid : d->target.pid;
	s->command = arena_strdup(d->a, command);
	s->rank = arena_strdup(d->a, rank);
	s->interpreter = arena_printf(d->a, "CPython %s", d->target.version);
	mem_read_u64(&d->target.mem, d->target.runtime + l->runtime_interpreters_head, &interp);
	for (; interp && interp % 8 == 0 && s->n_interpreters < INTERPRETERS_MOST;
		s->n_interpreters++) {
		look_at_interpreter(d, interp);
		if (mem_read_u64(&d->target.mem, interp + l->interp_next, &interp) < 0)
			break;
	}
	for (size_t i = 0; i < d->threads.n / 2; i++) { /* newest first: turned round */
		struct snapshot_thread t = d->threads.v[i];

		d->threads.v[i] = d->threads.v[d->threads.n - 1 - i];
		d->threads.v[d->threads.n - 1 - i] = t;
	}
	if (d->threads.n && d->threads.v[0].tid)
		qsort(d->threads.v, d->threads.n, sizeof *d->threads.v, compare_threads);
	s->n_threads = d->threads.n;
	s->threads = arena_copy(d->a, d->threads.v, d->threads.n * sizeof *d->threads.v);
	s->n_tasks = d->tasks.n;
	s->tasks = arena_copy(d->a, d->tasks.v, d->tasks.n * sizeof *d->tasks.v);
	return s;
}

static int open_target(struct py_target *t, pid_t pid, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = START_PAUSE_MS * 1000000L };
	int status = py_target_open(t, pid, e);

	for (int i = 0; status == PY_TARGET_STARTING && i < STARTS; i++) {
		nanosleep(&pause, NULL);
		status = py_target_open(t, pid, e);
	}
	return status == PY_TARGET_STARTING ? -(int)ERR_NO_PYTHON_NOW : status;
}

/* Of an open target, which is closed. */
static int dump(struct dumper *d, const struct snapshot **ret, struct err *e)
{
	int status = 0;

	objects_init(&d->objects, &d->target.mem, &d->target.layout);
	d->codes = py_codes_new(&d->target.layout, &d->target.mem, d->target.version);
	d->sources = py_sources_new(d->target.pid, d->target.core ? &d->target.core->reach : NULL);
	py_tids_init(&d->tids, d->target.pid);
	if (d->target.core)
		vec_each (&d->target.core->threads, tid)
			py_tids_add(&d->tids, *tid);
	d->asyncio.o = &d->objects;
	if (py_asyncio_find(&d->target, &d->asyncio_offsets))
		d->asyncio.published = &d->asyncio_offsets;
	d->frames = xcalloc(FRAMES_MOST, sizeof *d->frames);
	d->walk = xcalloc(1, sizeof *d->walk);
	*ret = take(d);
	add_sources(d);
	if ((*ret)->n_threads == 0 && d->target.core)
		status = err_set(e, ERR_BAD_LAYOUT, "no thread ran Python code");
	else if ((*ret)->n_threads == 0)
		status = err_set(e, ERR_NO_PROCESS, "process %d ended while it was looked at",
			(int)d->target.pid);
	free(d->walk);
	free(d->frames);
	vec_done(&d->threads);
	vec_done(&d->states);
	vec_done(&d->tasks);
	vec_done(&d->made);
	map_done(&d->known);
	map_done(&d->names);
	py_sources_free(d->sources);
	py_codes_free(d->codes);
	objects_done(&d->objects);
	py_tids_done(&d->tids);
	py_target_close(&d->target);
	return status;
}

int py_dump(struct arena *a, pid_t pid, const struct py_dump_options *o,
	const struct snapshot **ret, struct err *e)
{
	struct dumper d = { .a = a, .o = o };
	int status = open_target(&d.target, pid, e);

	if (status < 0) {
		py_target_close(&d.target);
		return status;
	}
	return dump(&d, ret, e);
}

int py_dump_core(struct arena *a, const char *path, const struct py_dump_options *o,
	const struct snapshot **ret, struct err *e)
{
	struct dumper d = { .a = a, .o = o };
	struct snapshot *named;
	struct core core;
	int status = core_open(&core, path, o->root, e);

	if (status < 0)
		return status;
	status = py_target_open_core(&d.target, &core, e);
	if (status < 0)
		py_target_close(&d.target);
	else
		status = dump(&d, ret, e);
	core_close(&core);
	if (status < 0)
		return err_note(e, "%s", path);
	named = arena_copy(a, *ret, sizeof **ret);
	named->core = arena_strdup(a, path);
	*ret = named;
	return 0;
}
