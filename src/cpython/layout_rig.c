/* SPDX-License-Identifier: MIT
 * See layout_rig.h. */
#include "cpython/layout_rig.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "cpython/layout.h"
#include "base/banned.h"

static int rig_read(void *ctx, uint64_t address, void *to, size_t n)
{
	struct rig *r = ctx;

	r->n_reads++;
	if (address < RIG_BASE || n > RIG_BYTES || address - RIG_BASE > RIG_BYTES - n)
		return -EFAULT;
	memcpy(to, r->bytes + (address - RIG_BASE), n);
	return 0;
}

static ssize_t rig_readv(void *ctx, const struct iovec *to, const struct iovec *from, size_t n)
{
	ssize_t copied = 0;

	for (size_t i = 0; i < n; i++) {
		if (rig_read(ctx, (uintptr_t)from[i].iov_base, to[i].iov_base, to[i].iov_len) < 0)
			return copied ? copied : -EFAULT;
		copied += (ssize_t)to[i].iov_len;
	}
	return copied;
}

uint64_t rig_alloc(struct rig *r, size_t n)
{
	uint64_t at = r->used;

	r->used += (n + 15) & ~(size_t)15;
	assert(r->used <= RIG_BASE + RIG_BYTES);
	return at;
}

void rig_put(struct rig *r, uint64_t address, const void *from, size_t n)
{
	assert(address >= RIG_BASE && address + n <= RIG_BASE + RIG_BYTES);
	memcpy(r->bytes + (address - RIG_BASE), from, n);
}

void rig_put_u64(struct rig *r, uint64_t address, uint64_t value)
{
	rig_put(r, address, &value, sizeof value);
}

void rig_put_u32(struct rig *r, uint64_t address, uint32_t value)
{
	rig_put(r, address, &value, sizeof value);
}

void rig_put_u8(struct rig *r, uint64_t address, uint8_t value)
{
	rig_put(r, address, &value, sizeof value);
}

/* ---- objects --------------------------------------------------------------------------------- */

static uint64_t put_text(struct rig *r, const char *text)
{
	uint64_t at = rig_alloc(r, strlen(text) + 1);

	rig_put(r, at, text, strlen(text) + 1);
	return at;
}

static uint64_t make_type(struct rig *r, const char *name, uint64_t basicsize)
{
	uint64_t at = rig_alloc(r, r->layout.type_sizeof);

	rig_put_u64(r, at + r->layout.type_name, put_text(r, name));
	rig_put_u64(r, at + r->layout.type_basicsize, basicsize);
	return at;
}

uint64_t rig_str(struct rig *r, const void *chars, size_t n, unsigned kind, int is_ascii)
{
	const struct py_layout *l = &r->layout;
	uint64_t at = rig_alloc(r, l->str_sizeof + (n + 1) * kind);

	rig_put_u64(r, at + l->object_type, r->str_type);
	rig_put_u64(r, at + l->str_length, n);
	rig_put_u32(r, at + l->str_state,
		kind << l->str_state_kind | 1u << l->str_state_compact |
			(is_ascii ? 1u << l->str_state_ascii : 0));
	rig_put(r, at + (is_ascii ? l->str_ascii_data : l->str_compact_data), chars, n * kind);
	return at;
}

static uint64_t make_str(struct rig *r, const char *text)
{
	return rig_str(r, text, strlen(text), 1, 1);
}

static uint64_t make_bytes(struct rig *r, size_t n)
{
	uint64_t at = rig_alloc(r, r->layout.bytes_sizeof + n);

	rig_put_u64(r, at + r->layout.object_type, r->bytes_type);
	rig_put_u64(r, at + r->layout.bytes_size, n);
	return at;
}

static void make_types(struct rig *r)
{
	const struct py_layout *l = &r->layout;
	const struct {
		const char *name;
		uint32_t offset;
	} members[] = { { "co_argcount", l->code_argcount }, { "co_stacksize", l->code_stacksize },
		{ "co_flags", l->code_flags }, { "co_filename", l->code_filename },
		{ "co_name", l->code_name }, { "co_firstlineno", l->code_firstlineno } };
	enum { N = sizeof members / sizeof *members, ENTRY_BYTES = 40, OFFSET_AT = 16 };

	r->code_type = make_type(
		r, "code", l->code_adaptive == PY_NONE ? l->code_sizeof : l->code_adaptive);
	r->str_type = make_type(r, "str", l->str_sizeof);
	r->bytes_type = make_type(r, "bytes", l->bytes_data + 1);
	r->frame_type = make_type(r, "frame", l->frame_sizeof);
	r->member_table = rig_alloc(r, (N + 1) * ENTRY_BYTES);
	rig_put_u64(r, r->code_type + l->type_members, r->member_table);
	for (int i = 0; i < N; i++) {
		rig_put_u64(r, r->member_table + (uint64_t)i * ENTRY_BYTES,
			put_text(r, members[i].name));
		rig_put_u64(r, r->member_table + (uint64_t)i * ENTRY_BYTES + OFFSET_AT,
			members[i].offset);
	}
	rig_alloc(r, 16); /* names are read in pieces of 15 */
}

static uint64_t make_code(struct rig *r)
{
	enum { UNITS = 10, LOCALS = 2, STACK = 5 };
	const struct py_layout *l = &r->layout;
	uint64_t at = rig_alloc(r, l->code_sizeof + 2 * UNITS);

	rig_put_u64(r, at + l->object_type, r->code_type);
	rig_put_u64(r, at + l->code_filename, r->filename);
	rig_put_u64(r, at + l->code_name, r->qualname);
	rig_put_u64(r, at + l->code_linetable, make_bytes(r, 4));
	rig_put_u32(r, at + l->code_firstlineno, 7);
	rig_put_u32(r, at + l->code_argcount, 1);
	rig_put_u32(r, at + l->code_nlocals, LOCALS);
	rig_put_u32(r, at + l->code_stacksize, STACK);
	if (l->code_code != PY_NONE) {
		rig_put_u64(r, at + l->code_code, make_bytes(r, 2 * UNITS));
	} else {
		rig_put_u64(r, at + l->code_qualname, r->qualname);
		rig_put_u64(r, at + l->code_n_units, UNITS);
		rig_put_u32(r, at + l->code_nlocalsplus, LOCALS);
	}
	if (l->code_framesize != PY_NONE)
		rig_put_u32(r, at + l->code_framesize, LOCALS + STACK + l->frame_localsplus / 8);
	return at;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void make_chunk(struct rig *r, int thread)
{
	const struct py_layout *l = &r->layout;
	enum { CHUNK_BYTES = 16384 };
	uint64_t at = rig_alloc(r, CHUNK_BYTES), t = r->thread[thread];

	r->chunk[thread] = at;
	rig_put_u64(r, at + l->chunk_size, CHUNK_BYTES);
	rig_put_u64(r, t + l->thread_datastack_chunk, at);
	rig_put_u64(r, t + l->thread_datastack_top, at + 1024);
	rig_put_u64(r, t + l->thread_datastack_limit, at + CHUNK_BYTES);
}

static uint64_t make_frame(struct rig *r, int thread, int depth)
{
	const struct py_layout *l = &r->layout;
	uint64_t code = r->code[depth], at;

	if (l->flags & PY_HEAP_FRAMES) {
		at = rig_alloc(r, l->frame_sizeof);
		rig_put_u64(r, at + l->object_type, r->frame_type);
		rig_put_u32(r, at + l->frame_lasti, 4);
	} else {
		at = r->chunk[thread] + l->chunk_data + 8 + (uint64_t)(RIG_DEPTH - 1 - depth) * 256;
		rig_put_u64(r, at + l->frame_instr, code + l->code_adaptive + 4);
		rig_put_u8(r, at + l->frame_owner, (uint8_t)l->frame_owner_thread);
	}
	rig_put_u64(r, at + l->frame_code, l->flags & PY_STACKREF_TAGGED ? code | 1 : code);
	return at;
}

/* The frame of the C-level eval that all others were called from (3.12+). */
static uint64_t make_boundary(struct rig *r)
{
	uint64_t at = rig_alloc(r, r->layout.frame_sizeof);

	rig_put_u8(r, at + r->layout.frame_owner, (uint8_t)r->layout.frame_owner_boundary);
	return at;
}

static void make_frames(struct rig *r, int thread)
{
	const struct py_layout *l = &r->layout;
	uint64_t t = r->thread[thread], *frame = r->frame[thread];

	if (l->thread_datastack_chunk != PY_NONE)
		make_chunk(r, thread);
	for (int i = 0; i < RIG_DEPTH; i++)
		frame[i] = make_frame(r, thread, i);
	r->n_frames = RIG_DEPTH;
	if (l->frame_owner_boundary != PY_NONE)
		frame[r->n_frames++] = make_boundary(r);
	for (int i = 0; i + 1 < r->n_frames; i++)
		rig_put_u64(r, frame[i] + l->frame_previous, frame[i + 1]);
	if (l->thread_base_frame != PY_NONE)
		rig_put_u64(r, t + l->thread_base_frame, frame[r->n_frames - 1]);
	if (l->thread_frame != PY_NONE) {
		rig_put_u64(r, t + l->thread_frame, frame[0]);
	} else if (l->thread_current_frame != PY_NONE) {
		rig_put_u64(r, t + l->thread_current_frame, frame[0]);
	} else {
		uint64_t cframe = rig_alloc(r, l->cframe_sizeof);

		rig_put_u64(r, t + l->thread_cframe, cframe);
		rig_put_u64(r, cframe + l->cframe_current_frame, frame[0]);
	}
}

static void make_threads(struct rig *r)
{
	const struct py_layout *l = &r->layout;

	for (int i = 0; i < RIG_THREADS; i++)
		r->thread[i] = rig_alloc(r, l->thread_sizeof);
	rig_put_u64(r, r->interp + l->interp_threads_head, r->thread[0]);
	for (int i = 0; i < RIG_THREADS; i++) {
		uint64_t t = r->thread[i];

		rig_put_u64(r, t + l->thread_interp, r->interp);
		rig_put_u64(r, t + l->thread_prev, i ? r->thread[i - 1] : 0);
		rig_put_u64(r, t + l->thread_next, i + 1 < RIG_THREADS ? r->thread[i + 1] : 0);
		if (l->thread_native_thread_id != PY_NONE)
			rig_put_u64(r, t + l->thread_native_thread_id, 100 + (uint64_t)i);
		make_frames(r, i);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rig_publish(struct rig *r, const struct layout_row *row)
{
	enum { GIL_AT = 7000 }; /* what differences are taken from */
	uint64_t version = row->lo | 5 << 8, is_free_threaded = row->is_free_threaded;

	rig_put(r, r->runtime, "xdebugpy", 8);
	rig_put_u64(r, r->runtime + 8, version);
	rig_put_u64(r, r->runtime + 16, is_free_threaded);
	for (int i = 0; i < LAYOUT_FIELDS; i++) {
		uint32_t place = layout_row_published(row, i), offset = layout_row_offset(row, i);

		if (place >> 16) {
			rig_put_u64(r, r->runtime + (place >> 16), GIL_AT);
			offset += GIL_AT;
		}
		if (place)
			rig_put_u64(r, r->runtime + (place & 0xffff), offset);
	}
}

static void find_layout(struct rig *r, const struct layout_row *row)
{
	struct err e = ERR_INIT;
	int failed;

	if (row->published_bytes) {
		rig_publish(r, row);
		failed = layout_from_debug_offsets(&r->layout, &r->mem, r->runtime, &e);
	} else {
		failed = layout_from_version(&r->layout, row->lo | 5 << 8, &e);
	}
	assert(!failed);
}

void rig_init(struct rig *r, const struct layout_row *row)
{
	const struct py_layout *l = &r->layout;

	*r = (struct rig){ .bytes = xcalloc(1, RIG_BYTES), .used = RIG_BASE };
	r->mem = (struct mem){ rig_read, rig_readv, r };
	r->runtime = rig_alloc(r, layout_row_offset(row, FIELD_runtime_sizeof));
	find_layout(r, row);
	make_types(r);
	r->filename = make_str(r, "/home/user/program.py");
	r->qualname = make_str(r, "Class.method");
	for (int i = 0; i < RIG_DEPTH; i++)
		r->code[i] = make_code(r);
	r->interp = rig_alloc(r, l->interp_sizeof);
	rig_put_u64(r, r->runtime + l->runtime_interpreters_head, r->interp);
	make_threads(r);
	r->gil = l->interp_ceval_gil == PY_NONE ? r->runtime + l->runtime_gil
						: rig_alloc(r, l->gil_sizeof);
	if (l->interp_ceval_gil != PY_NONE)
		rig_put_u64(r, r->interp + l->interp_ceval_gil, r->gil);
	rig_put_u32(r, r->gil + l->gil_locked, 1);
	rig_put_u64(r, r->gil + l->gil_last_holder, r->thread[0]);
	if (l->runtime_tstate_current != PY_NONE)
		rig_put_u64(r, r->runtime + l->runtime_tstate_current, r->thread[0]);
}

void rig_done(struct rig *r)
{
	free(r->bytes);
	r->bytes = NULL;
}
