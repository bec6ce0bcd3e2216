/* SPDX-License-Identifier: MIT
 * Where threads of free-threaded 3.14 have copies of their own of a code object's instructions. On a memory made by
 * hand with one code object and the array of the copies, which moves and grows as threads come. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/xalloc.h"
#include "collect/samples/code.h"
#include "cpython/mem.h"
#include "wire/py_layout.h"

enum {
	BASE = 0x10000,
	CODE = BASE,
	ARRAY = BASE + 0x400,
	ANOTHER = BASE + 0x800,
	ALL = 0x1000,
	UNITS = 50,
	COPY_1 = 0x7000000,
	COPY_2 = 0x7001000,
};

struct rig {
	struct py_layout l;
	struct mem mem;
	struct py_codes *codes;
	uint64_t now_ns;
	size_t n_reads;
	unsigned char bytes[ALL];
};

static int read_rig(void *ctx, uint64_t address, void *to, size_t n)
{
	struct rig *r = ctx;

	r->n_reads++;
	if (address < BASE || address - BASE > ALL || n > ALL - (address - BASE))
		return -EFAULT;
	memcpy(to, r->bytes + (address - BASE), n);
	return 0;
}

static void put(struct rig *r, uint64_t address, uint64_t value)
{
	memcpy(r->bytes + (address - BASE), &value, sizeof value);
}

static void put_array(struct rig *r, uint64_t address, uint64_t n, uint64_t one, uint64_t two)
{
	uint64_t words[] = { n, CODE + r->l.code_adaptive, one, two };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		put(r, address + 8 * i, words[i]);
	put(r, CODE + r->l.code_tlbc, address);
}

static void look_again(struct rig *r)
{
	py_codes_tick(r->codes, r->now_ns += 1000);
}

static int begin(void **state)
{
	struct rig *r = xcalloc(1, sizeof *r);
	uint32_t *offsets[] = { &r->l.object_type, &r->l.code_filename, &r->l.code_name,
		&r->l.code_qualname, &r->l.code_linetable, &r->l.code_firstlineno, &r->l.code_flags,
		&r->l.code_n_units, &r->l.code_framesize, &r->l.code_tlbc, &r->l.code_adaptive };

	memset(&r->l, 0xff, sizeof r->l); /* PY_NONE */
	r->l.major = 3;
	r->l.minor = 14;
	r->l.flags = 0;
	r->l.frame_localsplus = 80;
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
		*offsets[i] = 8 * (uint32_t)(i + 1);
	put(r, CODE + r->l.object_type, 0x5000);
	put(r, CODE + r->l.code_n_units, UNITS);
	put(r, CODE + r->l.code_framesize, 20);
	put_array(r, ARRAY, 2, COPY_1, 0);
	r->mem = (struct mem){ .read = read_rig, .ctx = r };
	r->codes = py_codes_new(&r->l, &r->mem, "3.14");
	look_again(r);
	assert_non_null(py_codes_find(r->codes, CODE));
	*state = r;
	return 0;
}

static int end(void **state)
{
	struct rig *r = *state;

	py_codes_free(r->codes);
	free(r);
	return 0;
}

static uint64_t copy(struct rig *r, uint32_t index, uint64_t instr)
{
	return py_codes_copy(r->codes, CODE, index, instr);
}

static void a_copy_is_found_by_its_index_and_read_once(void **state)
{
	struct rig *r = *state;
	size_t n_reads;

	assert_int_equal(copy(r, 1, COPY_1 + 10), COPY_1);
	n_reads = r->n_reads;
	assert_int_equal(copy(r, 1, COPY_1 + 2 * UNITS - 2), COPY_1);
	assert_int_equal(r->n_reads, n_reads);
}

static void an_instruction_elsewhere_is_none_of_the_copy(void **state)
{
	struct rig *r = *state;

	assert_int_equal(copy(r, 1, COPY_1 + 2 * UNITS), 0);
	assert_int_equal(copy(r, 1, COPY_1 - 2), 0);
	assert_int_equal(copy(r, 2, COPY_2), 0);
	assert_int_equal(copy(r, UINT32_MAX, COPY_2), 0);
}

static void a_thread_that_comes_later_is_found_at_the_next_look(void **state)
{
	struct rig *r = *state;

	assert_int_equal(copy(r, 2, COPY_2), 0);
	put_array(r, ANOTHER, 3, COPY_1, COPY_2);
	look_again(r);
	assert_int_equal(copy(r, 2, COPY_2 + 2), COPY_2);
	assert_int_equal(copy(r, 1, COPY_1 + 2), COPY_1);
}

static void a_copy_that_was_made_anew_elsewhere_is_found(void **state)
{
	struct rig *r = *state;

	assert_int_equal(copy(r, 1, COPY_1), COPY_1);
	put_array(r, ARRAY, 2, COPY_2, 0);
	look_again(r);
	assert_int_equal(copy(r, 1, COPY_2), COPY_2);
}

static void an_array_that_makes_no_sense_holds_none(void **state)
{
	static const uint64_t sizes[] = { 0, 4097, UINT64_MAX, 2000 }; /* the last ends nowhere */
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		put_array(r, ARRAY, sizes[i], COPY_1, COPY_2);
		look_again(r);
		assert_int_equal(copy(r, 1, COPY_1), 0);
	}
	put(r, CODE + r->l.code_tlbc, 0x123);
	look_again(r);
	assert_int_equal(copy(r, 1, COPY_1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_copy_is_found_by_its_index_and_read_once, begin, end),
		cmocka_unit_test_setup_teardown(
			an_instruction_elsewhere_is_none_of_the_copy, begin, end),
		cmocka_unit_test_setup_teardown(
			a_thread_that_comes_later_is_found_at_the_next_look, begin, end),
		cmocka_unit_test_setup_teardown(
			a_copy_that_was_made_anew_elsewhere_is_found, begin, end),
		cmocka_unit_test_setup_teardown(
			an_array_that_makes_no_sense_holds_none, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
