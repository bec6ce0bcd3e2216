/* SPDX-License-Identifier: MIT
 * The walker of frames on the heap, on images made by hand. Code k lies at k · 0x1000; what frames are in
 * the image is what was put there, and a frame keeps what the walker noted in it between walks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/xalloc.h"
#include "cpython/walk_heap.h"
#include "wire/py_layout.h"

enum { ENDED = 0, EXECUTES = 1, NOT_BEGUN = 2 };
enum { N_CODES = 16, N_FRAMES = 1200 };

struct fake {
	struct py_layout l;
	struct walk_heap *h;
	struct walk_code codes[N_CODES];
	struct walk_heap_frame frames[N_FRAMES]; /* address: index + 1, times 0x100 */
	bool is_there[N_FRAMES], is_outside[N_FRAMES];
	bool moves; /* frames copied again have ended */
	size_t n_read, n_again;
	struct walk walk;
};

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	struct fake *f = ctx;

	if (address % 0x1000 || !address || address / 0x1000 >= N_CODES)
		return NULL;
	return &f->codes[address / 0x1000];
}

static struct walk_heap_frame *find_frame(void *ctx, uint64_t address, bool may_read)
{
	struct fake *f = ctx;
	uint64_t i = address / 0x100 - 1;

	if (!address || address % 0x100 || i >= N_FRAMES || !f->is_there[i])
		return NULL;
	f->n_read += f->is_outside[i] && may_read;
	return f->is_outside[i] && !may_read ? NULL : &f->frames[i];
}

static bool nth_frame(void *ctx, size_t i, struct walk_heap_frame **ret)
{
	struct fake *f = ctx;

	if (i >= N_FRAMES)
		return false;
	*ret = f->is_there[i] && !f->is_outside[i] ? &f->frames[i] : NULL;
	return true;
}

static bool read_again(void *ctx, struct walk_heap_frame two[2])
{
	struct fake *f = ctx;

	f->n_again++;
	for (int i = 0; i < 2; i++) {
		two[i] = *find_frame(f, two[i].address, true);
		two[i].is_executing &= !f->moves;
	}
	return true;
}

static struct fake *begin(void)
{
	struct fake *f = xcalloc(1, sizeof *f);

	memset(&f->l, 0xff, sizeof f->l); /* PY_NONE */
	f->l.flags = PY_HEAP_FRAMES;
	f->l.object_type = 8;
	f->l.frame_previous = 24;
	f->l.frame_code = 32;
	f->l.frame_lasti = 104;
	f->l.frame_state = 116;
	f->l.frame_state_executing = 1;
	f->h = walk_heap_new();
	for (uint64_t k = 1; k < N_CODES; k++)
		f->codes[k] = (struct walk_code){ 0, 100, k * 0x1000 + 0x100 };
	return f;
}

static void done(struct fake *f)
{
	walk_heap_free(f->h);
	free(f);
}

/* Frame number `at` (1 …) of code k, called by frame number `back` (0: the root), stands at 2 · k; one that
 * has ended at 2 · k + 50. */
static void put(struct fake *f, unsigned at, unsigned k, unsigned back, int how)
{
	struct walk_heap_frame *p = &f->frames[at - 1];
	unsigned char bytes[128] = { 0 };
	struct walk_heap_span span = walk_heap_span(&f->l);
	uint64_t code = k * 0x1000ull, link = back * 0x100ull;
	int32_t lasti = how == NOT_BEGUN ? -1 : (int32_t)(2 * k) + (how == ENDED ? 50 : 0);

	memcpy(bytes + f->l.frame_code, &code, 8);
	memcpy(bytes + f->l.frame_previous, &link, 8);
	memcpy(bytes + f->l.frame_lasti, &lasti, 4);
	bytes[f->l.frame_state] = how == EXECUTES;
	walk_heap_parse(&f->l, bytes + span.from, p);
	p->address = at * 0x100ull;
	f->is_there[at - 1] = true;
}

/* Walks from frame number `leaf`. */
static void look(struct fake *f, unsigned leaf)
{
	struct walk_heap_callbacks c = { find_code, find_frame, nth_frame, read_again, f };

	f->n_read = 0;
	walk_heap_stack(f->h, &f->l, leaf * 0x100ull, &c, &f->walk);
}

/* The same, and compares the numbers of the codes from the root on. */
static void expect(struct fake *f, unsigned leaf, const char *codes, bool is_shortened)
{
	char got[64] = "";

	look(f, leaf);
	assert_true(f->walk.n < sizeof got);
	for (size_t i = 0; i < f->walk.n; i++)
		got[i] = "0123456789abcdef"[f->walk.frames[i].code / 0x1000 % 16];
	assert_string_equal(got, codes);
	assert_int_equal(f->walk.is_shortened, is_shortened);
}

static uint32_t offset_at(const struct fake *f, size_t i)
{
	return f->walk.frames[i].offset;
}

/* main (1) → loop (2) → work (3), seen whole. */
static struct fake *three(void)
{
	struct fake *f = begin();

	put(f, 1, 1, 0, EXECUTES);
	put(f, 2, 2, 1, EXECUTES);
	put(f, 3, 3, 2, EXECUTES);
	expect(f, 3, "123", false);
	return f;
}

static void a_stack_is_followed_by_its_links(void **state)
{
	struct fake *f = three();

	(void)state;
	assert_int_equal(offset_at(f, 0), 2);
	assert_int_equal(offset_at(f, 2), 6);
	expect(f, 2, "12", false); /* a deeper frame that executes is not the leaf */
	done(f);
}

static void positions_are_doubled_where_they_are_code_units(void **state)
{
	struct fake *f = begin();

	(void)state;
	f->l.flags |= PY_LASTI_DOUBLED;
	put(f, 1, 4, 0, EXECUTES);
	expect(f, 1, "4", false);
	assert_int_equal(offset_at(f, 0), 16);
	f->frames[0].lasti = 1000; /* beyond the code: its last instruction */
	expect(f, 1, "4", false);
	assert_int_equal(offset_at(f, 0), 98);
	done(f);
}

static void a_leaf_that_has_not_begun_is_the_leaf(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 4, 4, 3, NOT_BEGUN);
	expect(f, 4, "1234", false);
	assert_int_equal(offset_at(f, 3), 0);
	done(f);
}

static void a_leaf_that_has_ended_is_still_the_leaf(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 3, 3, 2, ENDED);
	put(f, 2, 2, 1, EXECUTES);
	f->frames[1].lasti = 44; /* has gone on */
	expect(f, 3, "123", false);
	/* where it was seen executing, not its last instruction */
	assert_int_equal(offset_at(f, 2), 6);
	assert_int_equal(offset_at(f, 1), 4); /* where it called */
	done(f);
}

static void one_that_went_to_the_free_list_is_given_to_its_usual_caller(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 7, 9, 0, ENDED);
	put(f, 3, 3, 7, ENDED); /* the link leads to another free frame */
	expect(f, 3, "123", false);
	put(f, 3, 3, 0, ENDED); /* the end of the list: not the root */
	expect(f, 3, "123", false);
	put(f, 7, 9, 1, EXECUTES);
	/* one that was taken from the list again, for what does not call it */
	put(f, 3, 3, 7, ENDED);
	expect(f, 3, "123", false);
	done(f);
}

static void a_caller_that_ended_too_is_found_by_its_own_link(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 3, 3, 0, ENDED);
	put(f, 2, 2, 1, ENDED);
	expect(f, 3, "123", false);
	done(f);
}

static void a_suspended_generator_is_given_to_who_drove_it(void **state)
{
	struct fake *f = three(); /* 3 is a generator now */

	(void)state;
	put(f, 4, 4, 3, EXECUTES);
	expect(f, 4, "1234", false);
	put(f, 4, 4, 3, ENDED);
	put(f, 3, 3, 0, ENDED);
	expect(f, 4, "1234", false);
	done(f);
}

static void of_usual_callers_the_deepest_that_executes_is_taken(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 4, 3, 3, EXECUTES); /* 3 calls itself */
	put(f, 5, 3, 4, EXECUTES);
	expect(f, 5, "12333", false);
	put(f, 5, 3, 6, ENDED);
	expect(f, 5, "12333", false);
	put(f, 4, 3, 5, ENDED);
	expect(f, 5, "1233", false);
	done(f);
}

static void links_that_lead_back_into_the_stack_are_not_followed(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 4, 3, 3, EXECUTES);
	expect(f, 4, "1233", false);
	put(f, 3, 3, 4, EXECUTES); /* 3 was copied later, as the callee of 4 */
	expect(f, 4, "1233", false);
	put(f, 1, 1, 4, EXECUTES); /* of a code that was only seen as the root */
	expect(f, 4, "1233", false);
	put(f, 1, 9, 4, EXECUTES); /* nothing leads to a root */
	expect(f, 4, "", false);
	done(f);
}

static void what_cannot_be_followed_is_cut_at_what_still_executes(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 4, 4, 0, ENDED); /* never seen before: who calls it is not known */
	expect(f, 4, "123", true);
	put(f, 3, 3, 2, ENDED);
	expect(f, 4, "12", true);
	put(f, 1, 1, 0, ENDED);
	expect(f, 4, "", false);
	expect(f, 99, "", false);   /* no frame there */
	put(f, 3, 77, 2, EXECUTES); /* no code there */
	expect(f, 3, "", false);
	done(f);
}

static void frames_outside_the_image_are_read_only_on_the_way_up(void **state)
{
	struct fake *f = three();

	(void)state;
	put(f, 4, 4, 5, EXECUTES);
	put(f, 5, 5, 3, EXECUTES);
	f->is_outside[3] = f->is_outside[4] = true;
	expect(f, 4, "12354", false);
	assert_true(f->n_read >= 2);
	put(f, 3, 3, 5, ENDED); /* a link in the free list */
	expect(f, 3, "123", false);
	assert_int_equal(f->n_read, 0);
	done(f);
}

static void rare_callers_are_not_usual_ones(void **state)
{
	struct fake *f = three();

	(void)state;
	for (int i = 0; i < 100; i++)
		expect(f, 3, "123", false);
	put(f, 4, 4, 2, EXECUTES);
	put(f, 3, 3, 4, EXECUTES); /* a torn image, once */
	expect(f, 3, "1243", false);
	put(f, 3, 3, 0, ENDED);
	expect(f, 3, "123", false);
	done(f);
}

/* Of 100 looks each, main (1) → loop (2) → work (3) and main → other (5) → more (6); then the link of work leads to
 * other, while loop executes. */
static struct fake *torn(void)
{
	struct fake *f = three();

	put(f, 5, 5, 1, EXECUTES);
	put(f, 6, 6, 5, EXECUTES);
	for (int i = 0; i < 100; i++) {
		expect(f, 3, "123", false);
		expect(f, 6, "156", false);
	}
	put(f, 3, 3, 5, EXECUTES);
	assert_int_equal(f->n_again, 0);
	return f;
}

static void a_link_that_was_torn_is_not_followed(void **state)
{
	struct fake *f = torn();

	(void)state;
	f->moves = true;
	expect(f, 3, "123", false);
	assert_int_equal(f->n_again, 1);
	put(f, 2, 2, 1, ENDED); /* nothing else executes that calls work */
	expect(f, 3, "153", false);
	done(f);
}

static void a_link_is_believed_when_both_frames_are_still_there(void **state)
{
	struct fake *f = torn();

	(void)state;
	expect(f, 3, "153", false);
	f->moves = true; /* from now on it is known */
	expect(f, 3, "153", false);
	assert_int_equal(f->n_again, 1);
	done(f);
}

static void a_link_that_is_met_often_is_believed(void **state)
{
	struct fake *f = torn();

	(void)state;
	f->moves = true;
	for (int i = 0; i < 20; i++)
		expect(f, 3, "123", false);
	for (int i = 0; i < 10; i++)
		look(f, 3);
	expect(f, 3, "153", false);
	done(f);
}

static void frames_of_another_thread_are_not_mixed_in(void **state)
{
	struct fake *f = three();

	(void)state;
	/* a root of another thread, under which a freed frame came to life */
	put(f, 8, 8, 0, EXECUTES);
	put(f, 7, 7, 8, EXECUTES);
	put(f, 6, 2, 7, EXECUTES);
	put(f, 3, 3, 0, ENDED);
	expect(f, 3, "123", false);
	done(f);
}

static void a_recursion_of_a_thousand_is_whole(void **state)
{
	struct fake *f = begin();

	(void)state;
	for (unsigned i = 1; i <= 1100; i++)
		put(f, i, 1, i - 1, EXECUTES);
	look(f, 1100);
	assert_int_equal(f->walk.n, 1100);
	assert_false(f->walk.is_shortened);
	put(f, 1100, 1, 1101, ENDED);
	put(f, 1099, 1, 1100, ENDED);
	look(f, 1100);
	assert_int_equal(f->walk.n, 1099);
	done(f);
}

static void coroutines_are_told_by_their_frames_root_first(void **state)
{
	struct fake *f = three();

	(void)state;
	assert_int_equal(f->walk.n_generators, 0);
	f->codes[2].is_coroutine = f->codes[3].is_coroutine = true;
	expect(f, 3, "123", false);
	assert_int_equal(f->walk.n_generators, 2);
	assert_int_equal(f->walk.generators[0], 0x200);
	assert_int_equal(f->walk.generators[1], 0x300);
	done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_followed_by_its_links),
		cmocka_unit_test(positions_are_doubled_where_they_are_code_units),
		cmocka_unit_test(a_leaf_that_has_not_begun_is_the_leaf),
		cmocka_unit_test(a_leaf_that_has_ended_is_still_the_leaf),
		cmocka_unit_test(one_that_went_to_the_free_list_is_given_to_its_usual_caller),
		cmocka_unit_test(a_caller_that_ended_too_is_found_by_its_own_link),
		cmocka_unit_test(a_suspended_generator_is_given_to_who_drove_it),
		cmocka_unit_test(of_usual_callers_the_deepest_that_executes_is_taken),
		cmocka_unit_test(links_that_lead_back_into_the_stack_are_not_followed),
		cmocka_unit_test(what_cannot_be_followed_is_cut_at_what_still_executes),
		cmocka_unit_test(frames_outside_the_image_are_read_only_on_the_way_up),
		cmocka_unit_test(rare_callers_are_not_usual_ones),
		cmocka_unit_test(a_link_that_was_torn_is_not_followed),
		cmocka_unit_test(a_link_is_believed_when_both_frames_are_still_there),
		cmocka_unit_test(a_link_that_is_met_often_is_believed),
		cmocka_unit_test(frames_of_another_thread_are_not_mixed_in),
		cmocka_unit_test(a_recursion_of_a_thousand_is_whole),
		cmocka_unit_test(coroutines_are_told_by_their_frames_root_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
