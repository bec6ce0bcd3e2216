/* SPDX-License-Identifier: MIT
 * The walker on images made by hand, with made-up offsets: an interpreter like 3.11 (frames say
 * is_entry) and one like 3.13 (entry frames on the C stack). Code k lies at k · 0x1000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/xalloc.h"
#include "cpython/walk.h"
#include "wire/py_layout.h"

enum { OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_C = 3 };
enum { WAITS = 0, EXECUTES = 1 << 0, IS_ENTRY = 1 << 1 };
enum { FRAME_BYTES = 64, HEAD_BYTES = 32, DATA = 24, CHUNK_BYTES = 1024, N_CODES = 16 };

static const uint64_t ROOT = 0x7f0000100000, LOWER = 0x7f0000080000, HIGHER = 0x7f0000200000;
static const uint64_t C_STACK = 0x7ffc00000000, HEAP = 0x560000000000;

struct fake {
	struct py_layout l;
	struct walk_image image;
	struct walk_chunk chunks[4];
	uint64_t at; /* where the next frame goes */
	struct walk_code codes[N_CODES];
	struct {
		uint64_t address;
		unsigned char bytes[HEAD_BYTES];
	} outside[WALK_HOPS + 8];
	size_t n_outside, n_asked;
	struct walk walk;
};

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	struct fake *f = ctx;

	f->n_asked++;
	if (address % 0x1000 || address / 0x1000 >= N_CODES)
		return NULL;
	return f->codes[address / 0x1000].code_address ? &f->codes[address / 0x1000] : NULL;
}

static const unsigned char *find_outside(void *ctx, uint64_t address)
{
	struct fake *f = ctx;

	f->n_asked++;
	for (size_t i = 0; i < f->n_outside; i++)
		if (f->outside[i].address == address)
			return f->outside[i].bytes;
	return NULL;
}

/* Of code k the thread with index i has a copy at k · 0x100000 + i · 0x1000, unless i is 9: that has ended. */
static uint64_t find_copy(void *ctx, uint64_t code, uint32_t index, uint64_t instr)
{
	uint64_t begin = code * 0x100 + index * 0x1000ull;

	(void)ctx;
	return index != 9 && instr - begin < 0x1000 ? begin : 0;
}

static struct fake *begin(uint32_t minor)
{
	struct fake *f = xcalloc(1, sizeof *f);

	memset(&f->l, 0xff, sizeof f->l); /* PY_NONE */
	f->l.major = 3;
	f->l.minor = minor;
	f->l.flags = 0;
	f->l.frame_code = 0;
	f->l.frame_previous = 8;
	f->l.frame_instr = 16;
	if (minor < 14)
		f->l.frame_stacktop = 24;
	f->l.frame_owner = 28;
	f->l.frame_owner_thread = OWNER_THREAD;
	f->l.frame_owner_generator = OWNER_GENERATOR;
	if (minor == 11)
		f->l.frame_is_entry = 29;
	else
		f->l.frame_owner_boundary = OWNER_C;
	f->l.frame_localsplus = HEAD_BYTES;
	f->l.chunk_previous = 0;
	f->l.chunk_size = 8;
	f->l.chunk_top = 16;
	f->l.chunk_data = DATA;
	for (uint64_t k = 1; k < N_CODES; k++)
		f->codes[k] = (struct walk_code){ FRAME_BYTES, 100, k * 0x1000 + 0x100, 0, NULL };
	f->image = (struct walk_image){ .chunks = f->chunks, .n_at_once = CHUNK_BYTES };
	return f;
}

static void done(struct fake *f)
{
	for (size_t i = 0; i < f->image.n_chunks; i++)
		free((void *)f->chunks[i].bytes);
	free(f);
}

static void set_tops(struct fake *f, uint64_t before, uint64_t after)
{
	f->image.top_before = before;
	f->image.top_after = after;
}

/* A chunk that is full notes where it ends. */
static void note_end(struct fake *f)
{
	const struct walk_chunk *c = &f->chunks[f->image.n_chunks - 1];
	uint64_t words = (f->at - c->address - DATA) / 8;

	memcpy((void *)(c->bytes + 16), &words, 8);
}

/* As if more frames than one that is being made lay behind. */
static void go_on(struct fake *f)
{
	f->at += 6 * FRAME_BYTES;
	set_tops(f, f->at, f->at);
}

static void add_chunk(struct fake *f, uint64_t address, size_t n)
{
	if (f->image.n_chunks)
		note_end(f);
	f->chunks[f->image.n_chunks] = (struct walk_chunk){ address, xcalloc(n, 1), n, n };
	f->at = address + DATA + (f->image.n_chunks == 0 ? 8 : 0);
	f->image.n_chunks++;
	set_tops(f, f->at, f->at);
}

static void put_head(unsigned char *p, unsigned k, uint64_t previous, int owner, int how)
{
	uint64_t code = (uint64_t)k * 0x1000, instr = code + 0x100 + 2ull * k;
	int32_t stacktop = how & EXECUTES ? -1 : 3;

	memcpy(p, &code, 8);
	memcpy(p + 8, &previous, 8);
	memcpy(p + 16, &instr, 8);
	memcpy(p + 24, &stacktop, 4);
	p[28] = (unsigned char)owner;
	p[29] = (how & IS_ENTRY) != 0;
}

/* A frame on the data stack; the top moves behind it. Returns its address. */
static uint64_t add(struct fake *f, unsigned k, uint64_t previous, int how)
{
	const struct walk_chunk *c = &f->chunks[f->image.n_chunks - 1];
	uint64_t address = f->at;

	assert_true(address - c->address + HEAD_BYTES <= c->n);
	put_head(
		(unsigned char *)c->bytes + (address - c->address), k, previous, OWNER_THREAD, how);
	f->at += FRAME_BYTES;
	set_tops(f, f->at, f->at);
	return address;
}

static uint64_t add_outside(
	struct fake *f, uint64_t address, int owner, unsigned k, uint64_t previous)
{
	f->outside[f->n_outside].address = address;
	put_head(f->outside[f->n_outside++].bytes, k, previous, owner, EXECUTES);
	return address;
}

static void walk(struct fake *f)
{
	struct walk_callbacks c = { find_code, find_outside, f, find_copy };

	f->n_asked = 0;
	f->walk.n = 12345;
	walk_stack(&f->l, &f->image, &c, &f->walk);
	assert_true(f->walk.n <= WALK_DEPTH);
}

/* Walks, compares the numbers of the codes from the root on, and ends. */
static void expect(struct fake *f, const char *codes, bool is_shortened)
{
	char got[64] = "";

	walk(f);
	assert_true(f->walk.n < sizeof got);
	for (size_t i = 0; i < f->walk.n; i++) {
		uint64_t k = f->walk.frames[i].code / 0x1000;

		got[i] = "0123456789abcdef"[k % 16];
		assert_int_equal(f->walk.frames[i].offset, 2 * k);
	}
	assert_string_equal(got, codes);
	assert_int_equal(f->walk.is_shortened, is_shortened);
	done(f);
}

static struct fake *main_waits(uint32_t minor, uint64_t *ret_main)
{
	struct fake *f = begin(minor);

	add_chunk(f, ROOT, CHUNK_BYTES);
	*ret_main = add(f, 1, 0, WAITS | IS_ENTRY);
	return f;
}

static struct fake *main_executes(uint32_t minor, uint64_t *ret_main)
{
	struct fake *f = begin(minor);

	add_chunk(f, ROOT, CHUNK_BYTES);
	*ret_main = add(f, 1, 0, EXECUTES | IS_ENTRY);
	return f;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void a_plain_chain_of_calls_is_taken_from_root_to_leaf(void **state)
{
	(void)state;
	for (uint32_t minor = 11; minor <= 13; minor++) {
		uint64_t at;
		struct fake *f = main_waits(minor, &at);

		at = add(f, 2, at, WAITS);
		add(f, 3, at, EXECUTES);
		expect(f, "123", false);
	}
}

/* In free-threaded 3.14, thread `index` runs a copy of its own of code k. */
static void put_in_copy(struct fake *f, uint64_t address, unsigned k, int32_t index)
{
	unsigned char *p = (unsigned char *)f->chunks[0].bytes + (address - ROOT);
	uint64_t instr = k * 0x100000ull + (uint64_t)index * 0x1000 + 2ull * k;

	memcpy(p + 16, &instr, 8);
	memcpy(p + 24, &index, 4);
}

static struct fake *three_calls_in_copies(uint64_t at[3])
{
	struct fake *f = begin(14);

	f->l.frame_tlbc_index = 24;
	add_chunk(f, ROOT, CHUNK_BYTES);
	for (unsigned k = 1; k <= 3; k++) {
		at[k - 1] = add(f, k, k > 1 ? at[k - 2] : 0, WAITS);
		put_in_copy(f, at[k - 1], k, 4);
	}
	return f;
}

static void a_thread_with_instructions_of_its_own_stands_where_it_stands_in_them(void **state)
{
	uint64_t at[3];
	struct fake *f = three_calls_in_copies(at);
	const unsigned char none[4] = { 0 };

	(void)state;
	expect(f, "123", false);
	f = three_calls_in_copies(at); /* one frame runs the code object's own */
	put_head((unsigned char *)f->chunks[0].bytes + (at[1] - ROOT), 2, at[0], OWNER_THREAD,
		WAITS);
	memcpy((unsigned char *)f->chunks[0].bytes + (at[1] - ROOT) + 24, none, sizeof none);
	expect(f, "123", false);
}

static void a_copy_that_is_not_known_tells_no_place_in_the_code(void **state)
{
	uint64_t at[3];
	struct fake *f = three_calls_in_copies(at);

	(void)state;
	put_in_copy(f, at[2], 3, 9);
	walk(f);
	assert_int_equal(f->walk.n, 3);
	assert_int_equal(f->walk.frames[1].offset, 4);
	assert_int_equal(f->walk.frames[2].offset, 0);
	assert_int_equal(f->walk.instr, 0x300000 + 0x9000 + 6);
	done(f);
}

/* 3.11 and 3.12 tell which frame runs a little later than where the stack ends: it may be one that came meanwhile. */
static void a_running_frame_beyond_what_was_copied_cuts_nothing_off(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(12, &at);

	(void)state;
	add(f, 2, at, WAITS);
	f->chunks[0].n = f->at - ROOT;
	f->image.current = add_outside(f, f->at, OWNER_THREAD, 3, at);
	expect(f, "12", false);
}

static void a_root_behind_an_entry_frame_on_the_c_stack_is_found(void **state)
{
	struct fake *f = begin(13);
	uint64_t at;

	(void)state;
	add_chunk(f, ROOT, CHUNK_BYTES);
	at = add(f, 1, add_outside(f, C_STACK, OWNER_C, 0, 0), WAITS);
	add(f, 2, at, EXECUTES);
	expect(f, "12", false);
}

static void a_thread_without_python_code_has_no_frames(void **state)
{
	uint64_t at;
	struct fake *f = begin(13);

	(void)state;
	expect(f, "", false); /* no chunk */
	f = begin(13);
	add_chunk(f, ROOT, CHUNK_BYTES);
	expect(f, "", false);
	f = main_waits(13, &at);
	set_tops(f, at, at);
	expect(f, "", false); /* what it ran is over */
}

static void a_dead_frame_behind_the_top_is_not_taken(void **state)
{
	uint64_t at, dead;
	struct fake *f = main_executes(11, &at);

	(void)state;
	dead = f->at;
	add(f, 2, at, WAITS);
	set_tops(f, dead, dead);
	expect(f, "1", false);
	/* and one that C code called */
	f = main_executes(11, &at);
	add(f, 2, at, WAITS | IS_ENTRY);
	set_tops(f, dead, dead);
	expect(f, "1", false);
	/* while the caller is just being returned to */
	f = main_waits(13, &at);
	add(f, 2, at, WAITS);
	set_tops(f, dead, dead);
	expect(f, "1", false);
}

static void a_caller_that_executes_ends_the_walk_before_a_stale_callee(void **state)
{
	uint64_t at;
	struct fake *f = main_executes(11, &at);

	(void)state;
	add(f, 2, at, EXECUTES);
	expect(f, "1", false);
	f = main_executes(13, &at);
	add(f, 2, at, WAITS);
	expect(f, "1", false);
}

static void a_call_between_the_two_readings_of_the_top_is_taken(void **state)
{
	uint64_t at, callee;
	struct fake *f = main_waits(13, &at);

	(void)state;
	callee = add(f, 2, at, EXECUTES);
	set_tops(f, callee, f->at);
	expect(f, "12", false);
}

/* A callee below neither reading of the top, or only one, that is left over from before. */
static void a_caller_that_returned_or_is_set_up_has_no_callee(void **state)
{
	static const uint64_t returns = 1 << 1; /* code 1 stands on its second instruction */
	uint64_t at, callee;
	struct fake *f = main_waits(13, &at);

	(void)state;
	f->codes[1].returns = &returns;
	callee = add(f, 2, at, WAITS);
	set_tops(f, callee, f->at);
	expect(f, "1", false);
	f = main_waits(13, &at);
	f->codes[1].n_setup_bytes = 2;
	callee = add(f, 2, at, EXECUTES);
	set_tops(f, f->at, callee);
	expect(f, "1", false);
	/* both readings say that it is there */
	f = main_waits(13, &at);
	f->codes[1].returns = &returns;
	add(f, 2, at, EXECUTES);
	expect(f, "12", false);
}

static void what_was_copied_later_is_not_joined_to_what_came_before(void **state)
{
	uint64_t at, callee;
	struct fake *f = main_waits(13, &at);

	(void)state;
	callee = add(f, 2, at, EXECUTES);
	set_tops(f, callee, callee);
	expect(f, "12", false);
	f = main_waits(13, &at);
	callee = add(f, 2, at, EXECUTES);
	set_tops(f, callee, callee);
	f->image.n_at_once = callee - ROOT;
	expect(f, "1", false);
}

/* From 3.14 on nothing marks the frame that executes, but those that returned have no code. */
static void a_frame_without_code_has_returned(void **state)
{
	uint64_t at, dead;
	struct fake *f = main_waits(14, &at);

	(void)state;
	at = add(f, 2, at, WAITS);
	add(f, 0, at, WAITS);
	expect(f, "12", false);
	/* it called since */
	f = main_waits(14, &at);
	dead = add(f, 0, at, WAITS);
	add(f, 2, dead, WAITS);
	expect(f, "1", false);
	/* it was there by both readings, and had gone when it was copied */
	f = main_waits(14, &at);
	dead = add(f, 0, at, WAITS);
	f->image.n_at_once = dead - ROOT;
	expect(f, "1", true);
}

/* ---- entry frames and generators ------------------------------------------------------------- */

static void calls_from_c_code_are_followed(void **state)
{
	uint64_t at;
	struct fake *f = main_executes(11, &at);

	(void)state;
	at = add(f, 2, at, WAITS | IS_ENTRY);
	add(f, 3, at, EXECUTES);
	expect(f, "123", false);
	f = main_executes(13, &at);
	at = add(f, 2, add_outside(f, C_STACK, OWNER_C, 0, at), WAITS);
	add(f, 3, at, EXECUTES);
	expect(f, "123", false);
}

static void generators_between_are_taken_in_order(void **state)
{
	uint64_t at, gen;
	struct fake *f = main_waits(13, &at);

	(void)state;
	gen = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
	gen = add_outside(f, HEAP + 512, OWNER_GENERATOR, 3, gen);
	add(f, 4, gen, EXECUTES);
	expect(f, "1234", false);
}

static void a_running_generator_is_the_leaf(void **state)
{
	(void)state;
	for (uint32_t minor = 11; minor <= 13; minor += 2) {
		uint64_t at;
		struct fake *f = main_waits(minor, &at);

		f->image.current = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
		expect(f, "12", false);
		/* called by C code, and awaiting another */
		f = main_executes(minor, &at);
		at = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
		f->image.current = add_outside(f, HEAP + 512, OWNER_GENERATOR, 3, at);
		expect(f, "123", false);
	}
}

static void a_running_generator_that_cannot_be_taken_is_told(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(13, &at);

	(void)state;
	f->image.current = HEAP; /* unreadable */
	expect(f, "1", true);
	f = main_waits(13, &at);
	f->image.current = add_outside(f, HEAP, OWNER_GENERATOR, 2, at + 8);
	expect(f, "1", true);
	f = main_executes(13, &at);
	f->image.current = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
	f->codes[2].code_address = 0;
	expect(f, "1", true);
	/* the one that executed when it was copied */
	f = main_executes(13, &at);
	f->image.current = add_outside(f, HEAP, OWNER_GENERATOR, 2, 0);
	expect(f, "1", false);
}

static void a_generator_whose_callee_returned_is_the_leaf(void **state)
{
	uint64_t at, gen;
	struct fake *f = main_executes(13, &at);

	(void)state;
	gen = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
	add(f, 3, gen, WAITS);
	f->image.current = gen;
	expect(f, "12", false);
	f = main_executes(13, &at);
	gen = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
	add(f, 3, gen, EXECUTES);
	f->image.current = gen;
	expect(f, "123", false);
}

static void a_generator_that_has_yielded_ends_before_it(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(14, &at);

	(void)state;
	f->image.current = add_outside(f, HEAP, OWNER_GENERATOR, 2, 0);
	expect(f, "1", false);
	f = main_waits(14, &at);
	f->image.current = HEAP; /* unreadable */
	expect(f, "1", true);
}

static uint64_t add_generators(struct fake *f, uint64_t previous, size_t n)
{
	for (size_t i = 0; i < n; i++)
		previous = add_outside(f, HEAP + i * 512, OWNER_GENERATOR, 2, previous);
	return previous;
}

static void more_generators_than_can_be_followed_are_told(void **state)
{
	uint64_t at;
	struct fake *f = main_executes(13, &at);

	(void)state;
	add(f, 3, add_generators(f, at, WALK_HOPS + 1), EXECUTES);
	expect(f, "1", true);
	f = main_executes(13, &at);
	f->image.current = add_generators(f, at, WALK_HOPS + 2);
	expect(f, "1", true);
	f = main_executes(13, &at);
	add(f, 3, add_generators(f, at, WALK_HOPS), EXECUTES);
	walk(f);
	assert_int_equal(f->walk.n, WALK_HOPS + 2);
	assert_false(f->walk.is_shortened);
	done(f);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Chunks are mapped one by one, usually at falling addresses. */
static void a_chain_goes_on_in_the_next_chunk_wherever_that_lies(void **state)
{
	const uint64_t second[] = { LOWER, HIGHER };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t at;
		struct fake *f = main_waits(13, &at);

		at = add(f, 2, at, WAITS);
		add_chunk(f, second[i], CHUNK_BYTES);
		at = add(f, 3, at, WAITS);
		add_chunk(f, second[i] - 0x10000, CHUNK_BYTES);
		at = add(f, 4, at, WAITS);
		add(f, 5, at, EXECUTES);
		expect(f, "12345", false);
	}
}

static void a_call_from_c_code_into_the_next_chunk_is_followed(void **state)
{
	uint64_t at;
	struct fake *f = main_executes(11, &at);

	(void)state;
	add_chunk(f, LOWER, CHUNK_BYTES);
	add(f, 2, at, EXECUTES | IS_ENTRY);
	expect(f, "12", false);
	f = main_executes(13, &at);
	add_chunk(f, LOWER, CHUNK_BYTES);
	add(f, 2, add_outside(f, C_STACK, OWNER_C, 0, at), EXECUTES);
	expect(f, "12", false);
}

/* A small callee returned; the large one after it did not fit the chunk. */
static void a_dead_frame_at_the_end_of_a_full_chunk_is_not_taken(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(13, &at);

	(void)state;
	add(f, 2, at, WAITS);
	f->at -= FRAME_BYTES;
	add_chunk(f, LOWER, CHUNK_BYTES);
	add(f, 3, at, EXECUTES);
	expect(f, "13", false);
}

static void a_chunk_that_was_left_is_not_entered(void **state)
{
	uint64_t at, top;
	struct fake *f = main_executes(13, &at);

	(void)state;
	top = f->at;
	add_chunk(f, LOWER, CHUNK_BYTES);
	add(f, 2, at, WAITS);
	set_tops(f, top, top);
	expect(f, "1", false);
}

static void a_chunk_that_was_not_copied_is_told(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(13, &at);

	(void)state;
	note_end(f);
	set_tops(f, LOWER + 100, LOWER + 100);
	expect(f, "1", true);
	f = main_executes(13, &at);
	note_end(f);
	set_tops(f, LOWER + 100, LOWER + 100);
	expect(f, "1", true);
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static void a_chain_that_does_not_fit_is_cut_and_told(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(13, &at);

	(void)state;
	at = add(f, 2, at, WAITS);
	add(f, 3, at + 8, EXECUTES);
	go_on(f);
	expect(f, "12", true);
	f = main_waits(13, &at); /* the root itself */
	memset((void *)f->chunks[0].bytes, 0x55, CHUNK_BYTES);
	go_on(f);
	expect(f, "", true);
	f = main_waits(13, &at); /* and with a chunk behind it that was left */
	add(f, 2, at + 8, EXECUTES);
	go_on(f);
	at = f->at;
	add_chunk(f, HIGHER, CHUNK_BYTES);
	set_tops(f, at, at);
	expect(f, "1", true);
}

static void a_code_object_that_is_none_cuts(void **state)
{
	(void)state;
	for (int how = WAITS; how <= EXECUTES; how++) { /* the caller, of an entry frame */
		uint64_t at;
		struct fake *f = how ? main_executes(11, &at) : main_waits(11, &at);

		at = add(f, 2, at, WAITS | IS_ENTRY);
		add(f, 3, at, EXECUTES);
		f->codes[2].code_address = 0;
		expect(f, "1", true);
	}
}

static void a_generator_between_that_is_no_code_cuts(void **state)
{
	uint64_t at, gen;
	struct fake *f = main_waits(13, &at);

	(void)state;
	gen = add_outside(f, HEAP, OWNER_GENERATOR, 2, at);
	gen = add_outside(f, HEAP + 512, OWNER_GENERATOR, 3, gen);
	add(f, 4, gen, EXECUTES);
	f->codes[3].code_address = 0;
	expect(f, "1", true);
}

static void instructions_outside_their_code_are_those_of_a_frame_being_set_up(void **state)
{
	uint64_t at, instr = 0x1000 + 0x100 - 2;
	struct fake *f = main_executes(11, &at);
	unsigned char *p = (unsigned char *)f->chunks[0].bytes + DATA + 8 + 16;

	(void)state;
	memcpy(p, &instr, 8); /* PY_PREV_INSTR of a frame about to begin */
	walk(f);
	assert_int_equal(f->walk.frames[0].offset, 0);
	instr = UINT64_MAX / 4;
	memcpy(p, &instr, 8);
	walk(f);
	assert_int_equal(f->walk.frames[0].offset, 0);
	f->codes[1].n_code_bytes = 0;
	walk(f);
	assert_int_equal(f->walk.frames[0].offset, 0);
	done(f);
}

/* ---- hostile images -------------------------------------------------------------------------- */

static void cycles_end(void **state)
{
	uint64_t at;
	struct fake *f = main_waits(13, &at);

	(void)state;
	add(f, 2, f->at, EXECUTES); /* its own caller */
	go_on(f);
	expect(f, "1", true);
	f = main_waits(13, &at);
	add_outside(f, HEAP, OWNER_GENERATOR, 2, HEAP + 512);
	add_outside(f, HEAP + 512, OWNER_GENERATOR, 3, HEAP);
	add(f, 4, HEAP, EXECUTES);
	f->image.current = HEAP;
	walk(f);
	assert_int_equal(f->walk.n, 1);
	assert_true(f->walk.is_shortened);
	assert_true(f->n_asked < 4 * WALK_HOPS);
	done(f);
	f = main_waits(13, &at); /* a frame of no size comes again */
	f->codes[1].frame_bytes = 0;
	go_on(f);
	expect(f, "1", true);
}

static void huge_frames_lead_nowhere(void **state)
{
	const uint32_t sizes[] = { CHUNK_BYTES, 1 << 30, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t at;
		struct fake *f = main_waits(13, &at);

		add(f, 2, at, EXECUTES);
		f->codes[1].frame_bytes = sizes[i];
		walk(f);
		assert_int_equal(f->walk.n, 1);
		done(f);
	}
}

/* The chunk's bytes are their own allocation: sanitizers see a read behind them. */
static void frames_at_the_end_of_the_copied_bytes_are_not_read_beyond(void **state)
{
	(void)state;
	for (size_t n = DATA; n <= DATA + 8 + FRAME_BYTES + HEAD_BYTES; n++) {
		struct fake *f = begin(13);
		size_t fits =
			(n >= DATA + 8 + HEAD_BYTES) + (n >= DATA + 8 + FRAME_BYTES + HEAD_BYTES);
		uint64_t at = 0;

		add_chunk(f, ROOT, n);
		for (unsigned k = 1; k <= fits; k++)
			at = add(f, k, at, WAITS);
		set_tops(f, ROOT + n, ROOT + n);
		walk(f);
		assert_int_equal(f->walk.n, fits);
		done(f);
	}
}

static void addresses_at_the_end_of_memory_do_not_wrap(void **state)
{
	struct fake *f = begin(13);

	(void)state;
	add_chunk(f, UINT64_MAX - 200, 200);
	add(f, 1, 0, WAITS);
	f->codes[1].frame_bytes = UINT32_MAX;
	f->image.current = UINT64_MAX;
	walk(f);
	assert_int_equal(f->walk.n, 1);
	assert_true(f->walk.is_shortened);
	done(f);
}

static void a_stack_deeper_than_the_walk_is_cut_and_told(void **state)
{
	(void)state;
	for (int how = WAITS; how <= EXECUTES; how++) { /* by Python's calls and by C's */
		for (size_t depth = WALK_DEPTH; depth <= WALK_DEPTH + 1; depth++) {
			struct fake *f = begin(11);
			uint64_t at = 0;

			add_chunk(f, ROOT, DATA + 8 + depth * FRAME_BYTES);
			for (size_t i = 0; i < depth; i++)
				at = add(f, 1, at,
					i + 1 == depth ? EXECUTES | IS_ENTRY : how | IS_ENTRY);
			walk(f);
			assert_int_equal(f->walk.n, WALK_DEPTH);
			assert_int_equal(f->walk.is_shortened, depth > WALK_DEPTH);
			done(f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_chain_of_calls_is_taken_from_root_to_leaf),
		cmocka_unit_test(
			a_thread_with_instructions_of_its_own_stands_where_it_stands_in_them),
		cmocka_unit_test(a_copy_that_is_not_known_tells_no_place_in_the_code),
		cmocka_unit_test(a_running_frame_beyond_what_was_copied_cuts_nothing_off),
		cmocka_unit_test(a_root_behind_an_entry_frame_on_the_c_stack_is_found),
		cmocka_unit_test(a_thread_without_python_code_has_no_frames),
		cmocka_unit_test(a_dead_frame_behind_the_top_is_not_taken),
		cmocka_unit_test(a_caller_that_executes_ends_the_walk_before_a_stale_callee),
		cmocka_unit_test(a_call_between_the_two_readings_of_the_top_is_taken),
		cmocka_unit_test(a_caller_that_returned_or_is_set_up_has_no_callee),
		cmocka_unit_test(what_was_copied_later_is_not_joined_to_what_came_before),
		cmocka_unit_test(a_frame_without_code_has_returned),
		cmocka_unit_test(calls_from_c_code_are_followed),
		cmocka_unit_test(generators_between_are_taken_in_order),
		cmocka_unit_test(a_running_generator_is_the_leaf),
		cmocka_unit_test(a_running_generator_that_cannot_be_taken_is_told),
		cmocka_unit_test(a_generator_whose_callee_returned_is_the_leaf),
		cmocka_unit_test(a_generator_that_has_yielded_ends_before_it),
		cmocka_unit_test(more_generators_than_can_be_followed_are_told),
		cmocka_unit_test(a_chain_goes_on_in_the_next_chunk_wherever_that_lies),
		cmocka_unit_test(a_call_from_c_code_into_the_next_chunk_is_followed),
		cmocka_unit_test(a_dead_frame_at_the_end_of_a_full_chunk_is_not_taken),
		cmocka_unit_test(a_chunk_that_was_left_is_not_entered),
		cmocka_unit_test(a_chunk_that_was_not_copied_is_told),
		cmocka_unit_test(a_chain_that_does_not_fit_is_cut_and_told),
		cmocka_unit_test(a_code_object_that_is_none_cuts),
		cmocka_unit_test(a_generator_between_that_is_no_code_cuts),
		cmocka_unit_test(instructions_outside_their_code_are_those_of_a_frame_being_set_up),
		cmocka_unit_test(cycles_end),
		cmocka_unit_test(huge_frames_lead_nowhere),
		cmocka_unit_test(frames_at_the_end_of_the_copied_bytes_are_not_read_beyond),
		cmocka_unit_test(addresses_at_the_end_of_memory_do_not_wrap),
		cmocka_unit_test(a_stack_deeper_than_the_walk_is_cut_and_told),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
