/* SPDX-License-Identifier: MIT */
#include "collect/memory/records.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/agents/session.h"
#include "collect/memory/rows.h"
#include "cpython/layout.h"
#include "store/writer.h"

/* ---- records --------------------------------------------------------------------------------- */

struct record {
	struct memory_alloc head;
	struct memory_frame frames[4];
};

static struct record good(void)
{
	return (struct record){ .head = { .t_ns = 5,
					.address = 0x7f0000000010,
					.size_bytes = 100,
					.tid = 7,
					.domain = MEMORY_OBJECT,
					.where = MEMORY_FRAMES,
					.n_frames = 2 },
		.frames = { { 1, 10 }, { 2, 20 } } };
}

static size_t n_bytes_of(const struct record *r)
{
	return sizeof r->head + r->head.n_frames * sizeof *r->frames;
}

static void test_an_allocation(void **state)
{
	struct record r = good();
	struct memory_taken t;

	(void)state;
	assert_true(memory_parse_alloc(&r, n_bytes_of(&r), &t));
	assert_int_equal(t.head.size_bytes, 100);
	assert_int_equal(t.frames[1].offset, 20);
}

static void test_what_makes_no_sense_is_refused(void **state)
{
	struct memory_taken t;
	struct memory_free f = { 0 };
	struct record r = good();
	size_t n = n_bytes_of(&r);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_false(memory_parse_alloc(&r, i, &t));
	assert_false(memory_parse_alloc(&r, n + 8, &t));
	r = good(), r.head.n_frames = UINT32_MAX;
	assert_false(memory_parse_alloc(&r, n, &t));
	r = good(), r.head.domain = MEMORY_DOMAINS;
	assert_false(memory_parse_alloc(&r, n, &t));
	r = good(), r.head.where = 255;
	assert_false(memory_parse_alloc(&r, n, &t));
	r = good(), r.head.address = 0;
	assert_false(memory_parse_alloc(&r, n, &t));
	r = good(), r.head.where = MEMORY_STARTING;
	assert_false(memory_parse_alloc(&r, n, &t));
	assert_false(memory_parse_free(&f, sizeof f, &f));
	assert_false(memory_parse_free(&f, sizeof f - 1, &f));
}

static void test_names_of_threads_are_printable_and_end(void **state)
{
	struct record r = good();
	struct memory_taken t;

	(void)state;
	r.head.where = MEMORY_NO_PYTHON;
	r.head.n_frames = 0;
	memset(r.frames, 0xff, MEMORY_NAME_BYTES);
	assert_true(memory_parse_alloc(&r, sizeof r.head + MEMORY_NAME_BYTES, &t));
	assert_string_equal(t.name, "???????????????");
	assert_false(memory_parse_alloc(&r, sizeof r.head + MEMORY_NAME_BYTES - 8, &t));
}

static void test_weights(void **state)
{
	(void)state;
	assert_true(fabs(memory_weight(1000, 1000) - 1 / (1 - exp(-1))) < 1e-12);
	/* small blocks: the period over the size, and a half */
	assert_true(fabs(memory_weight(1, 1 << 20) - ((1 << 20) + 0.5)) < 1e-3);
	assert_true(memory_weight(1 << 30, 1000) == 1);
	assert_true(memory_weight(77, 0) == 1);
	assert_true(memory_weight(0, 1000) == 1);
}

/* ---- a whole process that tells nonsense ------------------------------------------------------ */

static unsigned char *area;
static size_t n_area;

static bool read_area(const struct session_process *p, uint64_t offset, void *to, uint64_t n)
{
	(void)p;
	if (offset > n_area || n > n_area - offset)
		return false;
	memcpy(to, area + offset, n);
	return true;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void fill(void *to, size_t n, uint64_t *s)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)to)[i] = (unsigned char)(next_random(s) >> 24);
}

/* Records and an area of random bytes, with what is looked at first made right in turn: nothing is read outside, and all ends. */
static void test_garbage(void **state)
{
	struct session_process process = { .pid = 1, .build = "" };
	struct memory_rows rows;
	struct err e = ERR_INIT;
	struct py_layout layout;
	struct writer *w;
	uint64_t s = 42;

	(void)state;
	n_area = sizeof(struct memory_area) + (64 << 10);
	area = malloc(n_area);
	assert_non_null(area);
	fill(area, n_area, &s);
	assert_int_equal(writer_open(&w, NULL, NULL, &e), 0);
	assert_int_equal(layout_from_version(&layout, 0x030b04f0, &e), 0);
	memory_rows_init(&rows, w, &process, read_area, &layout, 1000);
	for (int i = 0; i < 4000; i++) {
		_Alignas(8) unsigned char record[sizeof(struct memory_alloc) + 64 * 8];
		struct memory_area *a = (struct memory_area *)(void *)area;
		struct memory_alloc head;
		size_t n = next_random(&s) % (sizeof record + 1);

		fill(record, sizeof record, &s);
		if (i % 2 == 0) {
			uint32_t place = (uint32_t)(next_random(&s) % 8);
			struct memory_code c = { 0 };
			uint64_t at = sizeof *a + place * 4096;

			fill(&head, sizeof head, &s);
			head.domain %= MEMORY_DOMAINS;
			head.where = MEMORY_FRAMES;
			head.is_cut = i % 4 == 0;
			head.n_frames = i % 64;
			memcpy(record, &head, sizeof head);
			for (uint32_t k = 0; k < head.n_frames; k++)
				record[sizeof head + k * 8] = (unsigned char)(place + 1),
							 memset(record + sizeof head + k * 8 + 1, 0,
								 3);
			n = sizeof head + head.n_frames * 8;
			c.n_head = layout.code_adaptive;
			c.n_bytes = c.n_head;
			for (int k = 0; k < 3; k++) {
				c.pieces[k].address = next_random(&s);
				c.pieces[k].n_bytes = (uint32_t)(next_random(&s) % 256);
				c.n_bytes += (c.pieces[k].n_bytes + 7) & ~7u;
			}
			memcpy(area + at, &c, sizeof c);
			a->codes[place].at = i % 8 == 0 ? next_random(&s) : at;
		}
		memory_rows_add(&rows, (uint16_t)(next_random(&s) % 4), record, n);
		if (i % 100 == 0) {
			a->magic = MEMORY_AREA_MAGIC;
			memory_rows_total(&rows, (uint64_t)i, false);
		}
	}
	assert_true(rows.n_nonsense > 100);
	assert_true(rows.n_samples > 100);
	memory_rows_loss(&rows, 5000);
	memory_rows_done(&rows);
	assert_int_equal(writer_close(w, &e), 0);
	free(area);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_allocation),
		cmocka_unit_test(test_what_makes_no_sense_is_refused),
		cmocka_unit_test(test_names_of_threads_are_printable_and_end),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
