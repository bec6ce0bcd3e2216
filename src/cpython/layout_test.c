/* SPDX-License-Identifier: MIT
 * Layouts of every version, on memory images with one interpreter in them: good ones are proved, each
 * single damage is refused with its reason, and random memory neither crashes nor hangs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "cpython/layout.h"
#include "cpython/layout_rig.h"
#include "cpython/strings.h"

static const struct layout_row *row_of(unsigned minor, bool is_free_threaded)
{
	for (size_t i = 0; i < n_layout_rows; i++)
		if ((layout_rows[i].lo >> 16 & 0xff) == minor &&
			layout_rows[i].is_free_threaded == is_free_threaded)
			return &layout_rows[i];
	fail_msg("no row for 3.%u", minor);
	return NULL;
}

/* ---- one field at a time --------------------------------------------------------------------- */

static void versions_are_told_apart(void **state)
{
	static const struct {
		uint32_t hex;
		const char *says; /* NULL: fine */
	} cases[] = {
		{ 0x030812f0, NULL },
		{ 0x030c01f0, NULL },
		{ 0x030bfff0, NULL },
		{ 0x030710f0, "CPython 3.7.16 is not one of 3.8 to 3.15" },
		{ 0x031000f0, "CPython 3.16.0 is not one of 3.8 to 3.15" },
		{ 0x02071200, "CPython 2.7.18 is not one of" },
		{ 0x030b00a3, "CPython 3.11.0a3 is a pre-release" },
		{ 0x030c00c1, "CPython 3.12.0rc1 is a pre-release" },
		{ 0x030d00f0, "says its offsets itself" },
		{ 0, "CPython 0.0.0 is not one of" },
		{ 0xffffffff, "is not one of" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct py_layout l = { .major = 99 };
		struct err e = ERR_INIT;
		int result = layout_from_version(&l, cases[i].hex, &e);

		if (cases[i].says) {
			assert_true(result < 0);
			assert_non_null(strstr(e.text, cases[i].says));
			assert_int_equal(l.major, 99);
		} else {
			assert_int_equal(result, 0);
			assert_int_equal(l.micro, cases[i].hex >> 8 & 0xff);
		}
	}
}

static void known_offsets(void **state)
{
	struct py_layout l;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(layout_from_version(&l, 0x030b07f0, &e), 0);
	assert_int_equal(l.thread_cframe, 56);
	assert_int_equal(l.frame_previous, 48);
	assert_int_equal(l.thread_frame, PY_NONE);
	assert_int_equal(l.flags, PY_PREV_INSTR);
	assert_int_equal(layout_from_version(&l, 0x030a0df0, &e), 0);
	assert_int_equal(l.thread_cframe, PY_NONE);
	assert_int_equal(l.frame_lasti, 96);
	assert_int_equal(l.flags, PY_HEAP_FRAMES | PY_LASTI_DOUBLED);
}

static void what_is_published_is_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++) {
		const struct layout_row *row = &layout_rows[i];
		struct py_layout l;
		struct err e = ERR_INIT;
		uint32_t place = layout_row_published(row, FIELD_interp_modules);
		struct rig r;

		if (!row->published_bytes)
			continue;
		rig_init(&r, row);
		assert_int_equal(layout_is_published(&r.mem, r.runtime), 1);
		assert_int_equal(
			r.layout.thread_interp, layout_row_offset(row, FIELD_thread_interp));
		assert_int_equal(r.layout.gil_locked, layout_row_offset(row, FIELD_gil_locked));
		assert_int_equal(r.layout.flags & PY_FREE_THREADED, row->is_free_threaded);
		/* another patch's */
		rig_put_u64(&r, r.runtime + place, r.layout.interp_modules + 64);
		assert_int_equal(layout_from_debug_offsets(&l, &r.mem, r.runtime, &e), 0);
		assert_int_equal(l.interp_modules, r.layout.interp_modules + 64);
		rig_done(&r);
	}
}

static void check_published(
	const struct layout_row *row, uint64_t at, uint64_t value, const char *says)
{
	struct py_layout l = { .major = 99 };
	struct err e = ERR_INIT;
	struct rig r;

	rig_init(&r, row);
	rig_put_u64(&r, r.runtime + at, value);
	assert_true(layout_from_debug_offsets(&l, &r.mem, r.runtime, &e) < 0);
	if (!strstr(e.text, says))
		fail_msg("\"%s\" does not say \"%s\"", e.text, says);
	assert_int_equal(l.major, 99);
	rig_done(&r);
}

static void bad_publications_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++) {
		const struct layout_row *row = &layout_rows[i];
		uint32_t next = layout_row_published(row, FIELD_thread_next);
		uint32_t id = layout_row_published(row, FIELD_interp_id);
		uint32_t size = layout_row_published(row, FIELD_thread_sizeof);
		uint32_t chunk = layout_row_published(row, FIELD_thread_datastack_chunk);
		uint32_t locked = layout_row_published(row, FIELD_gil_locked) & 0xffff;

		if (!row->published_bytes)
			continue;
		check_published(row, 0, 0x1122334455667788, "does not start with offsets");
		check_published(row, 8, 0x031000f0, "CPython 3.16.0");
		check_published(row, 8, (row->lo & 0xffffff00) | 0xb4, "pre-release");
		check_published(
			row, 8, 0x030b07f0, row->is_free_threaded ? "not one of" : "no offsets");
		check_published(row, 8, UINT64_MAX, "does not start with offsets");
		check_published(row, 16, 2, "does not start with offsets");
		check_published(row, next, 12, "thread.next at 12 is not aligned");
		check_published(row, next, 1 << 20, "thread.next at 1048576 lies outside");
		check_published(row, next, UINT64_MAX, "it says that thread.next is at");
		check_published(row, id, layout_row_offset(row, FIELD_interp_next), "are both at");
		check_published(row, size, 0, "thread.sizeof is 0 bytes");
		check_published(row, size, 1 << 20, "thread.sizeof is 1048576 bytes");
		check_published(row, chunk,
			layout_row_offset(row, FIELD_thread_datastack_chunk) + 24,
			"is not published, and the struct is not that of");
		check_published(row, locked, 8, "it says that gil.locked is at");
	}
}

static void unreadable_memory_is_an_error(void **state)
{
	struct layout_proof proof;
	struct py_layout l;
	struct err e = ERR_INIT;
	struct rig r;

	(void)state;
	rig_init(&r, row_of(13, false));
	assert_int_equal(layout_is_published(&r.mem, 8), -EFAULT);
	assert_true(layout_from_debug_offsets(&l, &r.mem, 8, &e) < 0);
	assert_true(layout_verify(&r.layout, &r.mem, 8, 0, &proof, &e) < 0);
	assert_non_null(
		strstr(e.text, "not the layout of CPython 3.13.5: runtime.interpreters_head"));
	rig_done(&r);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void every_version_is_proved(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++)
		for (int is_known = 0; is_known < 2; is_known++) {
			struct layout_proof proof;
			struct err e = ERR_INIT;
			struct rig r;

			rig_init(&r, &layout_rows[i]);
			if (layout_verify(&r.layout, &r.mem, r.runtime, is_known ? r.code_type : 0,
				    &proof, &e))
				fail_msg("%s: %s", layout_rows[i].made_from, e.text);
			assert_int_equal(proof.n_interpreters, 1);
			assert_int_equal(proof.n_threads, RIG_THREADS);
			assert_int_equal(proof.n_stacks, RIG_THREADS);
			assert_int_equal(proof.n_frames, RIG_THREADS * RIG_DEPTH);
			assert_int_equal(proof.n_codes, RIG_DEPTH);
			assert_int_equal(proof.n_torn, 0);
			assert_int_equal(proof.code_type, r.code_type);
			rig_done(&r);
		}
}

/* An offset where the reason says nothing more exact is left out of the words. */
static void check_refused(
	const struct layout_row *row, void (*damage)(struct rig *), const char *says)
{
	struct layout_proof proof = { .n_frames = 77 };
	struct err e = ERR_INIT;
	struct rig r;
	int result;

	rig_init(&r, row);
	damage(&r);
	result = layout_verify(&r.layout, &r.mem, r.runtime, 0, &proof, &e);
	if (result != -ERR_BAD_LAYOUT || !strstr(e.text, says))
		fail_msg("%s: %d \"%s\" does not say \"%s\"", row->made_from, result, e.text, says);
	assert_int_equal(proof.n_frames, 77);
	rig_done(&r);
}

/* Both threads' stacks, since one good one is enough. */
static void damage_frames(struct rig *r, uint32_t offset, int depth, uint64_t value)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->frame[i][depth] + offset, value);
}

static void damage_codes(struct rig *r, uint32_t offset, uint64_t value)
{
	for (int i = 0; i < RIG_DEPTH; i++)
		rig_put_u64(r, r->code[i] + offset, value);
}

static void other_interp(struct rig *r)
{
	rig_put_u64(r, r->thread[1] + r->layout.thread_interp, r->runtime);
}

static void other_prev(struct rig *r)
{
	rig_put_u64(r, r->thread[1] + r->layout.thread_prev, r->thread[1]);
}

static void thread_ring(struct rig *r)
{
	rig_put_u64(r, r->thread[1] + r->layout.thread_next, r->thread[0]);
}

static void negative_id(struct rig *r)
{
	rig_put_u64(r, r->interp + r->layout.interp_id, UINT64_MAX);
}

static void no_main(struct rig *r)
{
	rig_put_u64(r, r->interp + r->layout.interp_id, 1);
}

static void interpreter_ring(struct rig *r)
{
	rig_put_u64(r, r->interp + r->layout.interp_next, r->interp);
	rig_put_u64(r, r->interp + r->layout.interp_threads_head, 0);
}

static void odd_interpreter(struct rig *r)
{
	rig_put_u64(r, r->runtime + r->layout.runtime_interpreters_head, 0x1234567);
}

static void frame_ring(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->frame[i][2] + r->layout.frame_previous, r->frame[i][1]);
}

static void frame_nowhere(struct rig *r)
{
	damage_frames(r, r->layout.frame_previous, 1, 0xdead0000);
}

static void odd_frame(struct rig *r)
{
	damage_frames(r, r->layout.frame_previous, 1, r->frame[0][2] + 4);
}

static void no_code(struct rig *r)
{
	damage_frames(r, r->layout.frame_code, 1, 0);
}

static void str_for_code(struct rig *r)
{
	damage_frames(r, r->layout.frame_code, 0, r->filename);
}

static void code_for_filename(struct rig *r)
{
	damage_codes(r, r->layout.code_filename, r->code[0]);
}

static void str_for_linetable(struct rig *r)
{
	damage_codes(r, r->layout.code_linetable, r->filename);
}

static void many_arguments(struct rig *r)
{
	for (int i = 0; i < RIG_DEPTH; i++)
		rig_put_u32(r, r->code[i] + r->layout.code_argcount, 1 << 30);
}

static void members_elsewhere(struct rig *r)
{
	rig_put_u64(r, r->member_table + 3 * 40 + 16, r->layout.code_filename + 8);
}

static void larger_codes(struct rig *r)
{
	rig_put_u64(r, r->code_type + r->layout.type_basicsize, 300);
}

static void long_name(struct rig *r)
{
	rig_put_u64(r, r->qualname + r->layout.str_length, UINT64_MAX / 2);
}

static void name_of_no_kind(struct rig *r)
{
	rig_put_u32(r, r->qualname + r->layout.str_state, 0);
}

static void strange_lock(struct rig *r)
{
	rig_put_u32(r, r->gil + r->layout.gil_locked, 17);
}

static void strange_gc(struct rig *r)
{
	uint64_t gc = r->layout.interp_gc == PY_NONE ? r->runtime + r->layout.runtime_gc
						     : r->interp + r->layout.interp_gc;

	rig_put_u32(r, gc + r->layout.gc_collecting, 2);
}

static void damage_is_refused(void **state)
{
	static const struct {
		void (*damage)(struct rig *);
		const char *says;
	} cases[] = {
		{ other_interp, "names the interpreter" },
		{ other_prev, "and the thread before" },
		{ thread_ring, "and the thread before" },
		{ negative_id, "is -1" },
		{ no_main, "0 have the id 0" },
		{ interpreter_ring, "more than" },
		{ odd_interpreter, "no pointer" },
		{ frame_ring, "again" },
		{ frame_nowhere, "a frame at 0xdead0000: Bad address" },
		{ odd_frame, "frame 2 is at" },
		{ no_code, "a frame's code is 0x0" },
		{ str_for_code, "is not of type code" },
		{ code_for_filename, "co_filename is not of type str" },
		{ str_for_linetable, "co_linetable " },
		{ many_arguments, "1073741824 arguments" },
		{ members_elsewhere, "co_filename is at" },
		{ larger_codes, "the basic size of type code is 300 bytes" },
		{ long_name, "holds no text" },
		{ name_of_no_kind, "holds no text" },
		{ strange_lock, "gil.locked is 17" },
		{ strange_gc, "gc.collecting is 2" },
	};

	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++)
		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
			check_refused(&layout_rows[i], cases[k].damage, cases[k].says);
}

static void unknown_current(struct rig *r)
{
	rig_put_u64(r, r->runtime + r->layout.runtime_tstate_current, r->runtime);
}

static void lasti_behind(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u32(r, r->frame[i][0] + r->layout.frame_lasti, 20);
}

static void instr_before(struct rig *r)
{
	damage_frames(r, r->layout.frame_instr, 0, r->code[0] + r->layout.code_adaptive - 4);
}

static void instr_behind(struct rig *r)
{
	damage_frames(r, r->layout.frame_instr, 0, r->code[0] + r->layout.code_adaptive + 22);
}

static void no_chunk(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->thread[i] + r->layout.thread_datastack_chunk, 0);
}

static void small_chunk(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->chunk[i] + r->layout.chunk_size, 8);
}

static void chunk_ring(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->chunk[i] + r->layout.chunk_previous, r->chunk[i]);
}

static void top_elsewhere(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->thread[i] + r->layout.thread_datastack_top, r->runtime);
}

static void strange_owner(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u8(r, r->frame[i][1] + r->layout.frame_owner, 99);
}

static void other_framesize(struct rig *r)
{
	for (int i = 0; i < RIG_DEPTH; i++)
		rig_put_u32(r, r->code[i] + r->layout.code_framesize, 3);
}

static void other_base(struct rig *r)
{
	for (int i = 0; i < RIG_THREADS; i++)
		rig_put_u64(r, r->thread[i] + r->layout.thread_base_frame, r->frame[i][0]);
}

static void large_native_id(struct rig *r)
{
	rig_put_u64(r, r->thread[1] + r->layout.thread_native_thread_id, 1 << 30);
}

static void damage_to_one_version_is_refused(void **state)
{
	(void)state;
	check_refused(row_of(8, false), unknown_current, "none of 2 threads");
	check_refused(row_of(11, false), unknown_current, "none of 2 threads");
	check_refused(row_of(9, false), lasti_behind, "stands at byte 20 of 20");
	check_refused(row_of(10, false), lasti_behind, "stands at byte 40 of 20");
	check_refused(row_of(11, false), instr_before, "a frame stands at");
	check_refused(row_of(12, false), instr_behind, "a frame stands at");
	check_refused(row_of(13, false), instr_behind, "a frame stands at");
	check_refused(row_of(15, true), instr_before, "a frame stands at");
	check_refused(row_of(11, false), no_chunk, "in none of 0 chunks");
	check_refused(row_of(14, false), small_chunk, "has 8 bytes");
	check_refused(row_of(12, false), chunk_ring, "chunk 65537 of the data stack");
	check_refused(row_of(13, true), top_elsewhere, "the top and limit");
	check_refused(row_of(11, false), strange_owner, "is 99");
	check_refused(row_of(14, false), strange_owner, "is 99");
	check_refused(row_of(12, false), other_framesize, "5 stack");
	check_refused(row_of(15, false), other_base, "not at the base frame");
	check_refused(row_of(11, false), large_native_id, "is 1073741824");
}

/* A wrong layout must not be proved by an interpreter of another version. */
static void no_version_passes_for_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++)
		for (size_t k = 0; k < n_layout_rows; k++) {
			struct layout_proof proof;
			struct err e = ERR_INIT;
			struct rig r, other;

			/* 3.8 and 3.9 differ only in where they keep a lock and a pointer that may
			 * be 0 both; the interpreter's own word for its version counts. */
			if (i == k || layout_rows[i > k ? i : k].lo == 0x030900f0)
				continue;
			rig_init(&r, &layout_rows[i]);
			rig_init(&other, &layout_rows[k]);
			if (layout_verify(
				    &other.layout, &r.mem, r.runtime, r.code_type, &proof, &e) == 0)
				fail_msg("%s passes for %s", layout_rows[i].made_from,
					layout_rows[k].made_from);
			rig_done(&r);
			rig_done(&other);
		}
}

static void torn_stacks_are_counted(void **state)
{
	struct layout_proof proof;
	struct err e = ERR_INIT;
	struct rig r;

	(void)state;
	rig_init(&r, row_of(12, false));
	rig_put_u64(&r, r.frame[0][1] + r.layout.frame_previous, 0xdead0000);
	assert_int_equal(layout_verify(&r.layout, &r.mem, r.runtime, 0, &proof, &e), 0);
	assert_int_equal(proof.n_torn, 1);
	assert_int_equal(proof.n_stacks, 1);
	rig_done(&r);
}

static void too_early_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++) {
		struct layout_proof proof;
		struct err e = ERR_INIT;
		struct rig r;
		const struct py_layout *l = &r.layout;

		rig_init(&r, &layout_rows[i]);
		if (l->runtime_tstate_current != PY_NONE)
			rig_put_u64(&r, r.runtime + l->runtime_tstate_current, 0);
		rig_put_u64(&r, r.interp + l->interp_threads_head, 0);
		assert_int_equal(
			layout_verify(l, &r.mem, r.runtime, 0, &proof, &e), LAYOUT_NOT_YET);
		assert_string_equal(e.text, "its interpreter has no thread yet");
		rig_put_u64(&r, r.runtime + l->runtime_interpreters_head, 0);
		assert_int_equal(
			layout_verify(l, &r.mem, r.runtime, 0, &proof, &e), LAYOUT_NOT_YET);
		assert_string_equal(e.text, "it has no interpreter yet");
		rig_done(&r);
	}
}

/* ---- hostile memory -------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct noise {
	uint64_t state;
	uint64_t n_reads;
};

/* Every read gives something else; many words look like pointers. */
static int noise_read(void *ctx, uint64_t address, void *to, size_t n)
{
	struct noise *noise = ctx;

	(void)address;
	noise->n_reads++;
	for (size_t i = 0; i < n; i++)
		((unsigned char *)to)[i] = (unsigned char)next_random(&noise->state);
	for (size_t i = 0; i + 8 <= n; i += 8)
		if (next_random(&noise->state) % 2) {
			uint64_t pointer = next_random(&noise->state) & 0xfffff8;

			memcpy((unsigned char *)to + i, &pointer, sizeof pointer);
		}
	return 0;
}

static void random_memory_is_refused(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		for (size_t i = 0; i < n_layout_rows; i++) {
			struct noise noise = { .state = seed * 0x9e3779b97f4a7c15u };
			struct mem m = { .read = noise_read, .ctx = &noise };
			struct layout_proof proof;
			struct err e = ERR_INIT;
			struct py_layout l;
			struct rig r;

			rig_init(&r, &layout_rows[i]);
			assert_int_not_equal(
				layout_verify(&r.layout, &m, r.runtime, 0, &proof, &e), 0);
			assert_true(layout_from_debug_offsets(&l, &m, r.runtime, &e) < 0);
			rig_done(&r);
		}
}

static void damaged_memory_ends(void **state)
{
	uint64_t random = 0x243f6a8885a308d3u;

	(void)state;
	for (int round = 0; round < 40; round++)
		for (size_t i = 0; i < n_layout_rows; i++) {
			struct layout_proof proof;
			struct err e = ERR_INIT;
			struct py_layout l;
			struct rig r;

			rig_init(&r, &layout_rows[i]);
			for (int k = 0; k < 40; k++) {
				uint64_t at = next_random(&random) % (r.used - RIG_BASE - 8);
				uint64_t value = next_random(&random) % 3
					? next_random(&random)
					: RIG_BASE + (next_random(&random) % RIG_BYTES & ~7u);

				/* Half of it where it hurts. */
				if (k % 2)
					at = r.thread[0] - RIG_BASE + (at & 8191 & ~7u);
				rig_put_u64(&r, RIG_BASE + at, value);
			}
			layout_verify(&r.layout, &r.mem, r.runtime, 0, &proof, &e);
			layout_from_debug_offsets(&l, &r.mem, r.runtime, &e);
			rig_done(&r);
		}
}

/* A list of threads without an end, each with frames without an end. */
static int endless_read(void *ctx, uint64_t address, void *to, size_t n)
{
	struct rig *r = ctx;
	uint64_t end = address + n, next = address + 0x10000, prev = address - 0x10000;

	r->n_reads++;
	memset(to, 0, n);
	if (n == r->layout.thread_sizeof) {
		memcpy((char *)to + r->layout.thread_interp, &r->interp, 8);
		memcpy((char *)to + r->layout.thread_next, &next, 8);
		if (address != r->thread[0])
			memcpy((char *)to + r->layout.thread_prev, &prev, 8);
		return 0;
	}
	if (address >= RIG_BASE && end <= RIG_BASE + RIG_BYTES)
		memcpy(to, r->bytes + (address - RIG_BASE), n);
	return 0;
}

static void endless_lists_end(void **state)
{
	struct layout_proof proof;
	struct err e = ERR_INIT;
	struct rig r;
	struct mem m = { .read = endless_read, .ctx = &r };

	(void)state;
	rig_init(&r, row_of(13, false));
	assert_true(layout_verify(&r.layout, &m, r.runtime, 0, &proof, &e) < 0);
	assert_true(r.n_reads < 1 << 23);
	rig_done(&r);
}

/* ---- strings --------------------------------------------------------------------------------- */

static void check_str(struct rig *r, uint64_t str, int result, const char *text)
{
	struct buf out = BUF_INIT;

	assert_int_equal(strings_read(&r->mem, &r->layout, str, 1000, &out), result);
	assert_string_equal(buf_str(&out), text);
	buf_done(&out);
}

static void strings_become_utf8(void **state)
{
	static const uint8_t latin[] = { 'g', 0xfc, 'n' };
	static const uint16_t wide[] = { 'a', 0x20ac, 0xdce9, 0xd800 };
	static const uint32_t widest[] = { 0x1f40d, 0x110000 };

	(void)state;
	for (size_t i = 0; i < n_layout_rows; i++) {
		struct rig r;

		rig_init(&r, &layout_rows[i]);
		check_str(&r, r.filename, 0, "/home/user/program.py");
		check_str(&r, rig_str(&r, "", 0, 1, 1), 0, "");
		check_str(&r, rig_str(&r, latin, 3, 1, 0), 0, "g\xc3\xbcn");
		check_str(&r, rig_str(&r, wide, 4, 2, 0), 0, "a\xe2\x82\xac\xe9\xef\xbf\xbd");
		check_str(&r, rig_str(&r, widest, 2, 4, 0), 0, "\xf0\x9f\x90\x8d\xef\xbf\xbd");
		rig_done(&r);
	}
}

static void what_is_no_str_is_refused(void **state)
{
	struct rig r;
	uint64_t str;

	(void)state;
	rig_init(&r, row_of(12, false));
	check_str(&r, 0, -EFAULT, "");
	check_str(&r, r.filename + 4, -EINVAL, "");
	check_str(&r, RIG_BASE + RIG_BYTES - 8, -EFAULT, "");
	check_str(&r, rig_str(&r, "abcdefghi", 3, 3, 0), -EINVAL, "");
	check_str(&r, rig_str(&r, "a\xff", 2, 1, 1), -EINVAL, "");
	str = rig_str(&r, "abc", 3, 1, 1);
	rig_put_u64(&r, str + r.layout.str_length, 1001);
	check_str(&r, str, -E2BIG, "");
	rig_put_u64(&r, str + r.layout.str_length, (uint64_t)-1);
	check_str(&r, str, -EINVAL, "");
	rig_done(&r);
}

static void layouts_are_printed(void **state)
{
	struct buf out = BUF_INIT;
	struct rig r;

	(void)state;
	rig_init(&r, row_of(13, true));
	layout_format_version(&r.layout, &out);
	assert_string_equal(buf_str(&out), "3.13.5 free-threaded");
	buf_clear(&out);
	layout_format(&r.layout, &out);
	assert_non_null(strstr(buf_str(&out), "thread.next = 8\n"));
	assert_null(strstr(buf_str(&out), "thread.cframe"));
	buf_done(&out);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_told_apart),
		cmocka_unit_test(known_offsets),
		cmocka_unit_test(what_is_published_is_taken),
		cmocka_unit_test(bad_publications_are_refused),
		cmocka_unit_test(unreadable_memory_is_an_error),
		cmocka_unit_test(every_version_is_proved),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(damage_to_one_version_is_refused),
		cmocka_unit_test(no_version_passes_for_another),
		cmocka_unit_test(torn_stacks_are_counted),
		cmocka_unit_test(too_early_is_said),
		cmocka_unit_test(random_memory_is_refused),
		cmocka_unit_test(damaged_memory_ends),
		cmocka_unit_test(endless_lists_end),
		cmocka_unit_test(strings_become_utf8),
		cmocka_unit_test(what_is_no_str_is_refused),
		cmocka_unit_test(layouts_are_printed),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
