/* SPDX-License-Identifier: MIT
 * See layout.h: the walk that proves a layout.
 *
 *	_PyRuntime → interpreter → … (ids: one is 0)
 *	                └ thread → …       its interp is this interpreter, its prev the one before
 *	                     └ frame → …   ends at the root; where the thread owns it, it lies in a
 *	                          │        chunk of its data stack; stands on an instruction of
 *	                          └ code   whose type is called "code" and has its members where
 *	                                   we look for them; names are str, the line table bytes
 *
 * The process runs meanwhile. A link that does not close may be one that moved, so all is walked
 * again before it counts; that is no sampling, and nothing here is shown to users. */
#include "cpython/layout.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cpython/mem.h"
#include "cpython/strings.h"
#include "base/banned.h"

enum {
	WALKS_FOR_CLEAN = 8, /* then a walk with torn stacks will do */
	WALKS = 64,
	INTERPRETERS_MAX = 4096,
	THREADS_MAX = 1 << 17,
	FRAMES_MAX = 1 << 20,
	CHUNKS_MAX = 1 << 16,
	NAME_CHARS_MAX = 1 << 16,
	LINETABLE_BYTES_MAX = 1 << 28,
	UNITS_MAX = 1 << 28,
	TID_MAX = 1 << 22,   /* the kernel's PID_MAX_LIMIT */
	READS_MAX = 1 << 22, /* some seconds; a hostile target has no end */
	CODES_KEPT = 1024,
};

struct chunk {
	uint64_t start, end;
};

enum known { CODE, STR, BYTES, FRAME, KNOWN_TYPES };

struct known_type {
	const char *name; /* tp_name */
	uint64_t basicsize;
	uint64_t address; /* 0 until known */
	bool is_checked;  /* has that name and size */
};

struct walk {
	const struct py_layout *l;
	const struct mem *m;
	struct layout_proof proof;
	struct known_type types[KNOWN_TYPES];
	VEC(uint64_t) threads;      /* of all interpreters */
	VEC(struct chunk) chunks;   /* of the thread looked at, top first */
	size_t chunk_at;            /* that held the frame before */
	uint64_t codes[CODES_KEPT]; /* found good, by hash */
	uint32_t n_codes, n_reads;
	struct buf text;
	struct err why; /* the first thing that did not fit */
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Keeps the first reason of a walk. Returns false, for `return wrong(…)`. */
__attribute__((format(printf, 2, 3))) static bool wrong(struct walk *w, const char *fmt, ...)
{
	char text[sizeof w->why.text];
	va_list ap;

	if (w->why.code)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	err_set(&w->why, ERR_BAD_LAYOUT, "%s", text);
	return false;
}

static bool get(struct walk *w, uint64_t address, void *to, size_t n, const char *what)
{
	int failed = ++w->n_reads > READS_MAX ? -ELOOP : mem_read(w->m, address, to, n);

	if (!failed)
		return true;
	if (!w->why.code) {
		errno = -failed;
		err_errno(
			&w->why, ERR_BAD_LAYOUT, "%s at 0x%llx", what, (unsigned long long)address);
	}
	return false;
}

static bool get_pointer(struct walk *w, uint64_t address, uint64_t *ret, const char *what)
{
	if (!get(w, address, ret, sizeof *ret, what))
		return false;
	return *ret % 8 == 0 ? true
			     : wrong(w, "%s at 0x%llx is 0x%llx, no pointer", what,
				       (unsigned long long)address, (unsigned long long)*ret);
}

static int32_t i32_in(const unsigned char *copy, uint32_t offset)
{
	int32_t value;

	memcpy(&value, copy + offset, sizeof value);
	return value;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The type says itself where its members are: PyMemberDef {name, type, offset, flags, doc}. */
static bool check_members(struct walk *w, uint64_t type)
{
	const struct py_layout *l = w->l;
	const struct {
		const char *name;
		uint32_t offset;
	} known[] = { { "co_filename", l->code_filename }, { "co_name", l->code_name },
		{ "co_qualname", l->code_qualname }, { "co_firstlineno", l->code_firstlineno },
		{ "co_argcount", l->code_argcount }, { "co_stacksize", l->code_stacksize },
		{ "co_flags", l->code_flags }, { "co_linetable", l->code_linetable },
		{ "co_lnotab", l->code_linetable } };
	enum { ENTRY_BYTES = 40, OFFSET_AT = 16, ENTRIES_MAX = 64, ENOUGH = 6 };
	uint64_t table;
	int n_seen = 0;

	if (!get_pointer(w, type + l->type_members, &table, "PyCode_Type.tp_members"))
		return false;
	for (int i = 0; i < ENTRIES_MAX; i++) {
		unsigned char entry[ENTRY_BYTES];
		char name[16] = "";

		if (!get(w, table + (uint64_t)i * ENTRY_BYTES, entry, sizeof entry,
			    "a member of PyCode_Type"))
			return false;
		if (u64_at(entry, 0) == 0)
			break;
		if (!get(w, u64_at(entry, 0), name, sizeof name - 1, "the name of a member"))
			return false;
		for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
			if (strcmp(name, known[k].name) != 0)
				continue;
			n_seen++;
			if (u64_at(entry, OFFSET_AT) != known[k].offset)
				return wrong(w, "%s is at %llu, not %u", name,
					(unsigned long long)u64_at(entry, OFFSET_AT),
					known[k].offset);
		}
	}
	return n_seen >= ENOUGH || wrong(w, "PyCode_Type has %d of the members it should", n_seen);
}

static bool check_type(struct walk *w, struct known_type *known, uint64_t type, const char *what)
{
	uint64_t name_at, size;
	char found[16] = "";
	size_t n = strlen(known->name) + 1;

	if (!get(w, type + w->l->type_name, &name_at, sizeof name_at, "a type") ||
		!get(w, name_at, found, n, "a type's name") ||
		!get(w, type + w->l->type_basicsize, &size, sizeof size, "a type"))
		return false;
	if (memcmp(found, known->name, n) != 0)
		return wrong(w, "%s is not of type %s", what, known->name);
	if (size != known->basicsize)
		return wrong(w, "the basic size of type %s is %llu bytes, not %llu", known->name,
			(unsigned long long)size, (unsigned long long)known->basicsize);
	if (known == &w->types[CODE] && !check_members(w, type))
		return false;
	known->address = type;
	known->is_checked = true;
	return true;
}

static bool is_instance(struct walk *w, uint64_t object, enum known of, const char *what)
{
	struct known_type *known = &w->types[of];
	uint64_t type;

	if (object == 0 || object % 8)
		return wrong(w, "%s is 0x%llx, no object", what, (unsigned long long)object);
	if (!get_pointer(w, object + w->l->object_type, &type, what))
		return false;
	if (known->address && type != known->address)
		return wrong(w, "%s at 0x%llx is of type 0x%llx, not %s at 0x%llx", what,
			(unsigned long long)object, (unsigned long long)type, known->name,
			(unsigned long long)known->address);
	return known->is_checked || check_type(w, known, type, what);
}

static bool check_str(struct walk *w, uint64_t object, const char *what)
{
	int failed;

	if (!is_instance(w, object, STR, what))
		return false;
	buf_clear(&w->text);
	failed = strings_read_name(w->m, w->l, object, NAME_CHARS_MAX, &w->text);
	return !failed ||
		wrong(w, "%s at 0x%llx holds no text: %s", what, (unsigned long long)object,
			strerror(-failed));
}

static bool check_bytes(struct walk *w, uint64_t object, int64_t most, const char *what)
{
	int64_t size;

	if (!is_instance(w, object, BYTES, what) ||
		!get(w, object + w->l->bytes_size, &size, sizeof size, what))
		return false;
	return (size >= 0 && size <= most) ||
		wrong(w, "%s at 0x%llx is %lld bytes", what, (unsigned long long)object,
			(long long)size);
}

static bool check_code_sizes(struct walk *w, uint64_t address, const unsigned char *code)
{
	const struct py_layout *l = w->l;
	int32_t stack = i32_in(code, l->code_stacksize), locals = i32_in(code, l->code_nlocals);
	int32_t line = i32_in(code, l->code_firstlineno), args = i32_in(code, l->code_argcount);
	bool is_good = stack >= 0 && locals >= 0 && args >= 0 && args <= locals &&
		line > -(1 << 28) && line < 1 << 28;

	if (l->code_nlocalsplus != PY_NONE) {
		int64_t n = (int64_t)u64_at(code, l->code_n_units);

		is_good = is_good && i32_in(code, l->code_nlocalsplus) >= locals && n > 0 &&
			n <= UNITS_MAX;
	}
	if (l->code_framesize != PY_NONE) /* all three are ints of the interpreter's own making */
		is_good = is_good &&
			i32_in(code, l->code_framesize) ==
				(int64_t)i32_in(code, l->code_nlocalsplus) + stack +
					l->frame_localsplus / 8;
	return is_good ||
		wrong(w, "the code object at 0x%llx has %d arguments, %d locals, %d stack, line %d",
			(unsigned long long)address, args, locals, stack, line);
}

static bool check_code(struct walk *w, uint64_t address)
{
	const struct py_layout *l = w->l;
	uint64_t *kept = &w->codes[hash_u64(address) % CODES_KEPT];
	unsigned char code[PY_CODE_BYTES_MAX];
	size_t n = l->code_adaptive == PY_NONE ? l->code_sizeof : l->code_adaptive;

	if (*kept == address && address)
		return true;
	if (!is_instance(w, address, CODE, "a frame's code") ||
		!get(w, address, code, n, "a code object") || !check_code_sizes(w, address, code) ||
		!check_str(w, u64_at(code, l->code_filename), "co_filename") ||
		!check_str(w, u64_at(code, l->code_name), "co_name") ||
		(l->code_qualname != PY_NONE &&
			!check_str(w, u64_at(code, l->code_qualname), "co_qualname")) ||
		(l->code_code != PY_NONE &&
			!check_bytes(w, u64_at(code, l->code_code), UNITS_MAX, "co_code")) ||
		!check_bytes(
			w, u64_at(code, l->code_linetable), LINETABLE_BYTES_MAX, "co_linetable"))
		return false;
	*kept = address;
	w->n_codes++;
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool read_chunks(struct walk *w, const unsigned char *thread)
{
	const struct py_layout *l = w->l;
	uint64_t at, top, limit;
	int n = 0;

	vec_clear(&w->chunks);
	w->chunk_at = 0;
	if (l->thread_datastack_chunk == PY_NONE)
		return true;
	at = u64_at(thread, l->thread_datastack_chunk);
	top = u64_at(thread, l->thread_datastack_top);
	limit = u64_at(thread, l->thread_datastack_limit);
	while (at) {
		unsigned char head[PY_OBJECT_BYTES_MAX];
		uint64_t size;

		if (at % 8 || ++n > CHUNKS_MAX)
			return wrong(w, "chunk %d of the data stack is at 0x%llx", n,
				(unsigned long long)at);
		if (!get(w, at, head, l->chunk_data, "a chunk of the data stack"))
			return false;
		size = u64_at(head, l->chunk_size);
		if (size <= l->chunk_data || size % 8 || size > UINT32_MAX)
			return wrong(w, "the chunk of the data stack at 0x%llx has %llu bytes",
				(unsigned long long)at, (unsigned long long)size);
		if (n == 1 && (top < at + l->chunk_data || top > at + size || limit != at + size))
			return wrong(w,
				"the top and limit of the data stack are 0x%llx and 0x%llx, its chunk is 0x%llx … 0x%llx",
				(unsigned long long)top, (unsigned long long)limit,
				(unsigned long long)at, (unsigned long long)(at + size));
		vec_push(&w->chunks, (struct chunk){ at, at + size });
		at = u64_at(head, l->chunk_previous);
	}
	return true;
}

/* Frames come in the order of the chunks, so the next one is mostly where the last one was. */
static bool is_in_chunk(struct walk *w, uint64_t frame)
{
	for (size_t i = w->chunk_at; i < w->chunks.n; i++) {
		const struct chunk *c = &w->chunks.v[i];

		if (frame >= c->start + w->l->chunk_data &&
			frame + w->l->frame_localsplus <= c->end) {
			w->chunk_at = i;
			return true;
		}
	}
	return false;
}

/* 3.8 … 3.10: the place in the code is a number. */
static bool check_lasti(struct walk *w, const unsigned char *frame, uint64_t code)
{
	const struct py_layout *l = w->l;
	int64_t lasti = i32_in(frame, l->frame_lasti), size;
	uint64_t bytes;

	if (!get(w, code + l->code_code, &bytes, sizeof bytes, "co_code") ||
		!get(w, bytes + l->bytes_size, &size, sizeof size, "co_code"))
		return false;
	if (l->flags & PY_LASTI_DOUBLED)
		lasti *= lasti < 0 ? 1 : 2;
	return (lasti >= -1 && lasti < size) ||
		wrong(w, "a frame stands at byte %lld of %lld", (long long)lasti, (long long)size);
}

static bool check_instr(struct walk *w, const unsigned char *frame, uint64_t code)
{
	const struct py_layout *l = w->l;
	uint64_t instr = u64_at(frame, l->frame_instr), start = code + l->code_adaptive;
	int64_t n_units;

	/* Threads of free-threaded builds have copies of their own of the code. */
	if (l->frame_tlbc_index != PY_NONE && i32_in(frame, l->frame_tlbc_index) != 0)
		return true;
	if (!get(w, code + l->code_n_units, &n_units, sizeof n_units, "a code object"))
		return false;
	if (l->flags & PY_PREV_INSTR)
		instr += 2; /* before the first one: about to begin */
	return (instr >= start && instr <= start + 2 * (uint64_t)n_units && instr % 2 == 0) ||
		wrong(w, "a frame stands at 0x%llx, its code is 0x%llx and %lld units",
			(unsigned long long)instr, (unsigned long long)start, (long long)n_units);
}

/* *ret_is_python: false for the frames that only mark where C called Python. */
static bool check_frame(
	struct walk *w, uint64_t address, const unsigned char *frame, bool *ret_is_python)
{
	const struct py_layout *l = w->l;
	uint64_t code = py_untagged(l, u64_at(frame, l->frame_code));

	*ret_is_python = true;
	if (l->flags & PY_HEAP_FRAMES)
		return is_instance(w, address, FRAME, "a frame") && check_code(w, code) &&
			check_lasti(w, frame, code);
	if (l->frame_owner_boundary != PY_NONE &&
		frame[l->frame_owner] >= l->frame_owner_boundary) {
		*ret_is_python = false;
		return frame[l->frame_owner] <= l->frame_owner_boundary + 1 ||
			wrong(w, "the owner of the frame at 0x%llx is %u",
				(unsigned long long)address, frame[l->frame_owner]);
	}
	if (frame[l->frame_owner] > l->frame_owner_frame_object)
		return wrong(w, "the owner of the frame at 0x%llx is %u",
			(unsigned long long)address, frame[l->frame_owner]);
	if (frame[l->frame_owner] == l->frame_owner_thread && !is_in_chunk(w, address))
		return wrong(w, "the frame at 0x%llx is in none of %zu chunks of the data stack",
			(unsigned long long)address, w->chunks.n);
	return check_code(w, code) && check_instr(w, frame, code);
}

static bool first_frame(struct walk *w, const unsigned char *thread, uint64_t *ret)
{
	const struct py_layout *l = w->l;

	if (l->thread_frame != PY_NONE) {
		*ret = u64_at(thread, l->thread_frame);
	} else if (l->thread_current_frame != PY_NONE) {
		*ret = u64_at(thread, l->thread_current_frame);
	} else {
		uint64_t cframe = u64_at(thread, l->thread_cframe);

		return cframe % 8 == 0 && cframe
			? get_pointer(w, cframe + l->cframe_current_frame, ret, "a cframe")
			: wrong(w, "a thread's cframe is 0x%llx", (unsigned long long)cframe);
	}
	return true;
}

/* From the frame that runs to the root. The chain cannot have a ring: the mark, moved at powers of
 * two, would be met again. */
static bool walk_stack(struct walk *w, const unsigned char *thread)
{
	const struct py_layout *l = w->l;
	uint64_t at, last = 0, mark = 0;
	uint32_t n = 0, n_python = 0;
	size_t n_bytes = l->flags & PY_HEAP_FRAMES ? l->frame_sizeof : l->frame_localsplus;

	if (!read_chunks(w, thread) || !first_frame(w, thread, &at))
		return false;
	while (at) {
		unsigned char frame[PY_FRAME_BYTES_MAX];
		bool is_python;

		if (at % 8 || at == mark || n == FRAMES_MAX)
			return wrong(w, "frame %u is at 0x%llx%s", n, (unsigned long long)at,
				at == mark ? ", again" : "");
		if ((n & (n - 1)) == 0)
			mark = at;
		n++;
		if (!get(w, at, frame, n_bytes, "a frame") ||
			!check_frame(w, at, frame, &is_python))
			return false;
		n_python += is_python;
		last = at;
		at = u64_at(frame, l->frame_previous);
	}
	if (l->thread_base_frame != PY_NONE && last && last != u64_at(thread, l->thread_base_frame))
		return wrong(w, "the frames end at 0x%llx, not at the base frame 0x%llx",
			(unsigned long long)last,
			(unsigned long long)u64_at(thread, l->thread_base_frame));
	if (n_python) {
		w->proof.n_stacks++;
		w->proof.n_frames += n_python;
	}
	return true;
}

/* ---- threads and interpreters ---------------------------------------------------------------- */

static bool walk_threads(struct walk *w, uint64_t interp)
{
	const struct py_layout *l = w->l;
	uint64_t at, before = 0;

	if (!get_pointer(w, interp + l->interp_threads_head, &at, "interp.threads_head"))
		return false;
	while (at) {
		unsigned char thread[PY_THREAD_BYTES_MAX];

		if (at % 8 || w->threads.n == THREADS_MAX)
			return wrong(w, "thread state %zu is at 0x%llx", w->threads.n,
				(unsigned long long)at);
		if (!get(w, at, thread, l->thread_sizeof, "a thread state"))
			return false;
		if (u64_at(thread, l->thread_interp) != interp ||
			u64_at(thread, l->thread_prev) != before)
			return wrong(w,
				"the thread state at 0x%llx names the interpreter 0x%llx (not 0x%llx) and the thread before 0x%llx (not 0x%llx)",
				(unsigned long long)at,
				(unsigned long long)u64_at(thread, l->thread_interp),
				(unsigned long long)interp,
				(unsigned long long)u64_at(thread, l->thread_prev),
				(unsigned long long)before);
		if (l->thread_native_thread_id != PY_NONE &&
			u64_at(thread, l->thread_native_thread_id) > TID_MAX)
			return wrong(w, "the native id of the thread state at 0x%llx is %llu",
				(unsigned long long)at,
				(unsigned long long)u64_at(thread, l->thread_native_thread_id));
		vec_push(&w->threads, at);
		if (!walk_stack(w, thread))
			w->proof.n_torn++;
		before = at;
		at = u64_at(thread, l->thread_next);
	}
	return true;
}

/* Where the GIL says whether it is held, and who holds it. */
static bool check_gil(struct walk *w, uint64_t runtime, uint64_t interp)
{
	const struct py_layout *l = w->l;
	uint64_t gil = runtime + l->runtime_gil, holder;
	int32_t locked;

	if (l->interp_ceval_gil != PY_NONE &&
		!get_pointer(w, interp + l->interp_ceval_gil, &gil, "interp.ceval_gil"))
		return false;
	if (gil == 0)
		return true; /* not made yet */
	if (!get(w, gil + l->gil_locked, &locked, sizeof locked, "gil.locked") ||
		!get_pointer(w, gil + l->gil_last_holder, &holder, "gil.last_holder"))
		return false;
	return (locked >= -1 && locked <= 1) || wrong(w, "gil.locked is %d", locked);
}

static bool check_gc(struct walk *w, uint64_t runtime, uint64_t interp)
{
	const struct py_layout *l = w->l;
	uint64_t gc = l->interp_gc == PY_NONE ? runtime + l->runtime_gc : interp + l->interp_gc;
	int32_t collecting;

	return get(w, gc + l->gc_collecting, &collecting, sizeof collecting, "gc.collecting") &&
		(collecting == 0 || collecting == 1 || wrong(w, "gc.collecting is %d", collecting));
}

/* 3.8 … 3.11: whose thread state is current must be one we have seen. */
static bool check_current(struct walk *w, uint64_t runtime)
{
	uint64_t current;

	if (w->l->runtime_tstate_current == PY_NONE)
		return true;
	if (!get_pointer(
		    w, runtime + w->l->runtime_tstate_current, &current, "runtime.tstate_current"))
		return false;
	vec_each (&w->threads, at) {
		if (*at == current)
			return true;
	}
	return current == 0 ||
		wrong(w, "runtime.tstate_current is 0x%llx, which is none of %zu threads",
			(unsigned long long)current, w->threads.n);
}

static bool walk_all(struct walk *w, uint64_t runtime)
{
	const struct py_layout *l = w->l;
	uint64_t at;
	int n_main = 0;

	w->proof = (struct layout_proof){ 0 };
	w->why = ERR_INIT;
	vec_clear(&w->threads);
	if (!get_pointer(
		    w, runtime + l->runtime_interpreters_head, &at, "runtime.interpreters_head"))
		return false;
	for (; at; w->proof.n_interpreters++) {
		int64_t id;

		if (w->proof.n_interpreters == INTERPRETERS_MAX)
			return wrong(w, "there are more than %d interpreters", INTERPRETERS_MAX);
		if (!get(w, at + l->interp_id, &id, sizeof id, "interp.id"))
			return false;
		if (id < 0 || id > INT32_MAX)
			return wrong(w, "the id of the interpreter at 0x%llx is %lld",
				(unsigned long long)at, (long long)id);
		n_main += id == 0;
		if (!walk_threads(w, at) || !check_gil(w, runtime, at) ||
			!check_gc(w, runtime, at) ||
			!get_pointer(w, at + l->interp_next, &at, "interp.next"))
			return false;
	}
	if (w->proof.n_interpreters && n_main != 1)
		return wrong(
			w, "of %u interpreters %d have the id 0", w->proof.n_interpreters, n_main);
	w->proof.n_threads = (uint32_t)w->threads.n;
	return check_current(w, runtime);
}

static int not_yet(struct walk *w, uint64_t runtime, struct err *e)
{
	const struct layout_proof *p = &w->proof;
	uint64_t by = 0;
	bool is_ending =
		get_pointer(w, runtime + w->l->runtime_finalizing, &by, "finalizing") && by;

	err_set(e, ERR_NO_PYTHON_NOW, "%s",
		is_ending ? "its interpreter is ending: no Python code runs any more"
			: !p->n_interpreters ? "it has no interpreter yet"
			: !p->n_threads      ? "its interpreter has no thread yet"
					     : "none of its threads runs Python code");
	return LAYOUT_NOT_YET;
}

int layout_verify(const struct py_layout *l, const struct mem *m, uint64_t runtime,
	uint64_t code_type, struct layout_proof *ret, struct err *e)
{
	struct walk w = { .l = l,
		.m = m,
		.types = {
			[CODE] = { "code",
				l->code_adaptive == PY_NONE ? l->code_sizeof : l->code_adaptive,
				code_type, false },
			[STR] = { "str", l->str_sizeof, 0, false },
			[BYTES] = { "bytes", l->bytes_data + 1, 0, false },
			[FRAME] = { "frame", l->frame_sizeof, 0, false },
		} };
	bool is_closed = false;
	int result;

	for (int i = 0; i < WALKS; i++) {
		is_closed = walk_all(&w, runtime);
		if (is_closed &&
			(w.proof.n_torn == 0 || (i >= WALKS_FOR_CLEAN && w.proof.n_stacks)))
			break;
		is_closed = false;
		if (w.why.code == ERR_NO_PROCESS || w.why.code == ERR_NO_PERMISSION ||
			w.n_reads > READS_MAX)
			break;
	}
	w.proof.n_codes = w.n_codes;
	w.proof.code_type = w.types[CODE].address;
	if (is_closed && w.proof.n_stacks) {
		*ret = w.proof;
		result = 0;
	} else if (is_closed) {
		result = not_yet(&w, runtime, e);
	} else {
		struct buf version = BUF_INIT;

		*e = w.why;
		layout_format_version(l, &version);
		result = err_note(e, "not the layout of CPython %s", buf_str(&version));
		buf_done(&version);
	}
	vec_done(&w.threads);
	vec_done(&w.chunks);
	buf_done(&w.text);
	return result;
}
