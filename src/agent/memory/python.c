/* SPDX-License-Identifier: MIT
 * See python.h. Reads the interpreter's memory by struct py_layout alone; calls none of its functions but the two that give the thread state,
 * which neither allocate nor need the GIL. */
#include "agent/memory/python.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/core/link.h"
#include "agent/memory/memory.h"
#include "agent/memory/real.h"
#include "wire/py_layout.h"
#include "wire/session_layout.h"

enum {
	PROOFS = 16, /* stacks that fit before plain loads are used */
	FAILURES_MOST =
		256, /* stacks that did not, none that did: it is not what it was taken for */
	HOPS_MOST = 2 * MEMORY_FRAMES_MOST,
	PROBES = 32, /* places of the table of codes that are looked at */
	STR_HEAD_BYTES = 256,
	STR_BYTES_MOST = 64 << 10,
};

static struct {
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	/* Of this thread, from 3.12 on; before: of the thread that holds the GIL. */
	void *(*current)(void);
	const char *(*version)(void);
	uint64_t code_type, str_type, bytes_type;
	struct py_layout layout; /* major 0: none */
	_Atomic uint32_t n_proofs, n_failures;
	_Atomic bool has_run; /* a frame was seen */
	pid_t pid;            /* ours */
} py;

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
	bool is_direct;
};

static bool is_plausible(uint64_t address)
{
	return address >= 4096 && address < (uint64_t)1 << 47 && address % 8 == 0;
}

static bool read_by_kernel(uint64_t address, void *to, size_t n)
{
	struct iovec local = { to, n };
	struct iovec remote = { (void *)(uintptr_t)address, n };

	return syscall(SYS_process_vm_readv, py.pid, &local, 1L, &remote, 1L, 0L) == (long)n;
}

/* The bytes there, in `room` or where they are; NULL: they cannot be read. */
static const unsigned char *look(const struct reader *r, uint64_t address, size_t n, void *room)
{
	if (!is_plausible(address))
		return NULL;
	if (r->is_direct)
		return (const unsigned char *)(uintptr_t)address;
	return read_by_kernel(address, room, n) ? room : NULL;
}

static bool copy(const struct reader *r, uint64_t address, size_t n, void *to)
{
	if (!is_plausible(address))
		return false;
	if (!r->is_direct)
		return read_by_kernel(address, to, n);
	memcpy(to, (const void *)(uintptr_t)address, n);
	return true;
}

static uint64_t u64_of(const unsigned char *p, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, p + offset, sizeof v);
	return v;
}

static int32_t i32_of(const unsigned char *p, uint32_t offset)
{
	int32_t v;

	memcpy(&v, p + offset, sizeof v);
	return v;
}

static bool word_at(const struct reader *r, uint64_t address, uint64_t *ret)
{
	return copy(r, address, sizeof *ret, ret);
}

/* ---- code objects ---------------------------------------------------------------------------- */

static uint32_t head_bytes(void)
{
	return py.layout.code_adaptive != PY_NONE ? py.layout.code_adaptive : py.layout.code_sizeof;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* Another code object at the same address has another key, as far as its name and place in the source differ. */
static uint64_t key_of(uint64_t address, const unsigned char *head)
{
	const struct py_layout *l = &py.layout;
	uint64_t h = mix(0, address);

	h = mix(h, u64_of(head, l->code_filename));
	h = mix(h, u64_of(head, l->code_qualname != PY_NONE ? l->code_qualname : l->code_name));
	h = mix(h, u64_of(head, l->code_linetable));
	h = mix(h, (uint32_t)i32_of(head, l->code_firstlineno));
	return h ? h : 1;
}

/* Bytes of a str with all of its characters; 0: none of the usual form. */
static uint32_t str_bytes(const struct reader *r, uint64_t address)
{
	const struct py_layout *l = &py.layout;
	unsigned char room[STR_HEAD_BYTES];
	const unsigned char *p = look(r, address, l->str_ascii_data, room);
	uint32_t state, kind, data;
	uint64_t length;

	if (!p || u64_of(p, l->object_type) != py.str_type)
		return 0;
	state = (uint32_t)i32_of(p, l->str_state);
	length = u64_of(p, l->str_length);
	kind = state >> l->str_state_kind & 7;
	data = state >> l->str_state_ascii & 1 ? l->str_ascii_data : l->str_compact_data;
	if (!(state >> l->str_state_compact & 1) || kind > 4 || length > STR_BYTES_MOST / 4)
		return 0;
	return data + (uint32_t)length * kind;
}

static uint32_t bytes_bytes(const struct reader *r, uint64_t address, bool with_data)
{
	const struct py_layout *l = &py.layout;
	unsigned char room[64];
	const unsigned char *p =
		l->bytes_data <= sizeof room ? look(r, address, l->bytes_data, room) : NULL;
	uint64_t n = p ? u64_of(p, l->bytes_size) : 0;

	if (!p || u64_of(p, l->object_type) != py.bytes_type)
		return 0;
	return n > MEMORY_PIECE_BYTES ? 0 : l->bytes_data + (with_data ? (uint32_t)n : 0);
}

/* Copies all that the tool needs to read the code object as if it were there, and enters it. */
static bool tell_code(const struct reader *r, struct memory_place *place, uint64_t address,
	const unsigned char *head)
{
	const struct py_layout *l = &py.layout;
	struct memory_code c = { .n_head = head_bytes() };
	uint64_t none = 0;
	unsigned char *to;

	c.pieces[0].address = u64_of(head, l->code_filename);
	c.pieces[0].n_bytes = str_bytes(r, c.pieces[0].address);
	c.pieces[1].address =
		u64_of(head, l->code_qualname != PY_NONE ? l->code_qualname : l->code_name);
	c.pieces[1].n_bytes = str_bytes(r, c.pieces[1].address);
	c.pieces[2].address = u64_of(head, l->code_linetable);
	c.pieces[2].n_bytes = bytes_bytes(r, c.pieces[2].address, true);
	if (l->code_code != PY_NONE) {
		c.pieces[3].address = u64_of(head, l->code_code);
		c.pieces[3].n_bytes = bytes_bytes(r, c.pieces[3].address, false);
	}
	c.n_bytes = c.n_head;
	for (int i = 0; i < MEMORY_PIECES; i++)
		c.n_bytes += (c.pieces[i].n_bytes + 7) & ~7u;
	to = leadline_link_alloc((uint32_t)sizeof c + c.n_bytes);
	if (!to)
		return false;
	memcpy(to, &c, sizeof c);
	memcpy(to + sizeof c, head, c.n_head);
	for (uint32_t i = 0, at = (uint32_t)sizeof c + c.n_head; i < MEMORY_PIECES; i++) {
		if (c.pieces[i].n_bytes &&
			!copy(r, c.pieces[i].address, c.pieces[i].n_bytes, to + at))
			return false;
		at += (c.pieces[i].n_bytes + 7) & ~7u;
	}
	(void)address;
	/* Two threads may tell it at once: the first one's stands. */
	atomic_compare_exchange_strong(&place->at, &none, leadline_link_offset(to));
	return true;
}

/* Its place in the table + 1; 0: there is no room. */
static uint32_t number_of(const struct reader *r, struct memory_area *area, uint64_t address,
	const unsigned char *head)
{
	uint64_t key = key_of(address, head);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (uint32_t)(key + i) & (MEMORY_CODES - 1);
		struct memory_place *place = &area->codes[at];
		uint64_t there = atomic_load_explicit(&place->key, memory_order_relaxed);

		if (!there && atomic_compare_exchange_strong(&place->key, &there, key))
			there = key;
		if (there != key)
			continue;
		if (!atomic_load_explicit(&place->at, memory_order_acquire) &&
			!tell_code(r, place, address, head))
			return 0;
		return at + 1;
	}
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Free-threaded, from 3.14 on: a thread runs a copy of the instructions. */
static uint64_t start_of_copy(
	const struct reader *r, const unsigned char *frame, const unsigned char *head, uint64_t own)
{
	const struct py_layout *l = &py.layout;
	uint64_t array, n, start;
	uint32_t index;

	if (l->frame_tlbc_index == PY_NONE || l->code_tlbc == PY_NONE)
		return own;
	index = (uint32_t)i32_of(frame, l->frame_tlbc_index);
	array = u64_of(head, l->code_tlbc);
	if (!array || !word_at(r, array, &n) || index >= n ||
		!word_at(r, array + 8 + 8 * (uint64_t)index, &start))
		return own;
	return start;
}

static uint32_t offset_of(const struct reader *r, const unsigned char *frame, uint64_t code,
	const unsigned char *head)
{
	const struct py_layout *l = &py.layout;
	uint64_t start;

	if (l->flags & PY_HEAP_FRAMES) {
		int32_t lasti = i32_of(frame, l->frame_lasti);

		if (lasti < 0)
			return 0;
		return (uint32_t)lasti * (l->flags & PY_LASTI_DOUBLED ? 2 : 1);
	}
	start = start_of_copy(r, frame, head, code + l->code_adaptive);
	return (uint32_t)(u64_of(frame, l->frame_instr) - start);
}

/* Not shown in any traceback: a frame that is being set up, and the interpreter's helper below an __init__. */
static bool is_incomplete(const unsigned char *frame, const unsigned char *head, uint32_t offset)
{
	const struct py_layout *l = &py.layout;

	if (l->code_firsttraceable == PY_NONE || frame[l->frame_owner] == l->frame_owner_generator)
		return false;
	return offset < 2 * (uint32_t)i32_of(head, l->code_firsttraceable);
}

static bool is_boundary(const unsigned char *frame)
{
	const struct py_layout *l = &py.layout;

	return l->frame_owner_boundary != PY_NONE &&
		frame[l->frame_owner] >= l->frame_owner_boundary;
}

/* One frame into ret, *ret_n grows when it counts; false: it is none. */
static bool take_frame(const struct reader *r, struct memory_area *area, const unsigned char *frame,
	struct memory_frame *ret, uint32_t *ret_n)
{
	const struct py_layout *l = &py.layout;
	uint64_t code = py_untagged(l, u64_of(frame, l->frame_code));
	unsigned char room[PY_CODE_BYTES_MAX];
	const unsigned char *head;

	if (!code || is_boundary(frame))
		return true;
	head = look(r, code, head_bytes(), room);
	if (!head || u64_of(head, l->object_type) != py.code_type)
		return false;
	ret->offset = offset_of(r, frame, code, head);
	if (!(l->flags & PY_HEAP_FRAMES) && is_incomplete(frame, head, ret->offset))
		return true;
	ret->code = number_of(r, area, code, head);
	++*ret_n;
	return true;
}

/* False: the chain broke. */
static bool walk(const struct reader *r, struct memory_area *area, uint64_t at,
	struct memory_alloc *ret, struct memory_frame *frames)
{
	const struct py_layout *l = &py.layout;
	unsigned char room[PY_FRAME_BYTES_MAX];

	for (int hops = 0; at; hops++) {
		const unsigned char *frame;

		if (ret->n_frames == MEMORY_FRAMES_MOST || hops == HOPS_MOST) {
			ret->is_cut = 1;
			return true;
		}
		frame = look(r, at, l->frame_localsplus, room);
		if (!frame || !take_frame(r, area, frame, &frames[ret->n_frames], &ret->n_frames))
			return false;
		at = u64_of(frame, l->frame_previous);
	}
	return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_thread_local(void)
{
	return py.layout.minor >= 12;
}

bool python_is_attached(void)
{
	void *current = py.current ? py.current() : NULL;

	return current && (is_thread_local() || current == py.this_thread());
}

/* The thread state of the calling thread, 0: none. */
static uint64_t find_state(bool *ret_is_attached)
{
	uint64_t current = (uintptr_t)(py.current ? py.current() : NULL);
	uint64_t own = (uintptr_t)py.this_thread(), id = 0;

	*ret_is_attached = current && (is_thread_local() || current == own);
	if (*ret_is_attached)
		return current;
	/* Up to 3.11 another interpreter's state of this thread is found by its id alone. */
	if (current && read_by_kernel(current + py.layout.thread_thread_id, &id, sizeof id) &&
		id == (uint64_t)pthread_self())
		return current;
	return own;
}

/* Where its chain of frames begins; false: it is no thread state of this thread. */
static bool find_leaf(const struct reader *r, uint64_t state, uint64_t *ret)
{
	const struct py_layout *l = &py.layout;
	uint64_t id, cframe;

	if (!is_plausible(state) || !word_at(r, state + l->thread_thread_id, &id) ||
		id != (uint64_t)pthread_self())
		return false;
	if (l->thread_frame != PY_NONE)
		return word_at(r, state + l->thread_frame, ret);
	if (l->thread_current_frame != PY_NONE)
		return word_at(r, state + l->thread_current_frame, ret);
	return word_at(r, state + l->thread_cframe, &cframe) &&
		word_at(r, cframe + l->cframe_current_frame, ret);
}

static void take_proof(bool fits, const struct memory_alloc *a)
{
	if (fits && a->n_frames) {
		atomic_fetch_add_explicit(&py.n_proofs, 1, memory_order_relaxed);
		atomic_store_explicit(&py.has_run, true, memory_order_relaxed);
	} else if (!fits) {
		atomic_fetch_add_explicit(&py.n_failures, 1, memory_order_relaxed);
	}
}

void python_stack(struct memory_area *area, struct memory_alloc *ret,
	struct memory_frame frames[MEMORY_FRAMES_MOST])
{
	bool is_attached, has_run = atomic_load_explicit(&py.has_run, memory_order_relaxed);
	uint32_t n_proofs = atomic_load_explicit(&py.n_proofs, memory_order_relaxed);
	struct reader r = { 0 };
	uint64_t state, leaf = 0;

	ret->where = MEMORY_UNREADABLE;
	if (!py.layout.major || (!n_proofs && py.n_failures > FAILURES_MOST))
		return;
	state = find_state(&is_attached);
	ret->where = has_run ? MEMORY_NO_PYTHON : MEMORY_STARTING;
	r.is_direct = is_attached && n_proofs >= PROOFS;
	if (!state || !find_leaf(&r, state, &leaf))
		return;
	if (!leaf && !has_run)
		return;
	ret->where = MEMORY_FRAMES;
	if (walk(&r, area, leaf, ret, frames)) {
		take_proof(true, ret);
		return;
	}
	take_proof(false, ret);
	ret->where = MEMORY_UNREADABLE;
	ret->n_frames = 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

#define TAKE(to, name) (*(void **)(void *)&(to) = real_symbol(name))

bool python_find(void)
{
	TAKE(py.this_thread, "PyGILState_GetThisThreadState");
	TAKE(py.version, "Py_GetVersion");
	if (!TAKE(py.current, "PyThreadState_GetUnchecked"))
		TAKE(py.current, "_PyThreadState_UncheckedGet");
	py.code_type = (uintptr_t)real_symbol("PyCode_Type");
	py.str_type = (uintptr_t)real_symbol("PyUnicode_Type");
	py.bytes_type = (uintptr_t)real_symbol("PyBytes_Type");
	return py.this_thread && py.version && py.code_type && py.str_type && py.bytes_type &&
		real_symbol("PyMem_SetAllocator");
}

const char *python_version(void)
{
	return py.version();
}

void python_begin(const struct session_header *h)
{
	const struct py_layout *l = &py.layout;

	_Static_assert(sizeof(struct py_layout) <= SESSION_PY_LAYOUT_BYTES, "room in the header");
	memcpy(&py.layout, h->py_layout, sizeof py.layout);
	py.pid = getpid();
	if (head_bytes() > PY_CODE_BYTES_MAX || l->frame_localsplus > PY_FRAME_BYTES_MAX ||
		l->str_ascii_data > STR_HEAD_BYTES)
		py.layout.major = 0;
}
