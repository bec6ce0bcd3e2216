/* SPDX-License-Identifier: MIT
 * Objects, dicts, attributes and values on small memories made by hand, as every version lays them out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "cpython/dict.h"
#include "cpython/names.h"
#include "cpython/object_rig.h"
#include "cpython/value.h"

static struct image m;

static void expect(uint64_t value, const char *text)
{
	struct buf out = BUF_INIT;

	value_format(&m.o, value, &value_limits_usual, &out);
	assert_string_equal(buf_str(&out), text);
	buf_done(&out);
}

/* Calls a test once for each row of versions.c. */
static void each_version(void (*test)(void))
{
	for (size_t i = 0; i < n_layout_rows; i++) {
		image_init(&m, &layout_rows[i]);
		test();
		image_done(&m);
	}
}

static void check_values(void)
{
	uint64_t items[] = { image_int(&m, 1), image_int(&m, -7), image_int(&m, 0),
		image_str(&m, "it's") };
	uint64_t list = image_list(&m, items, 4),
		 number = image_object(&m, m.float_type, m.l.float_sizeof);
	double half = -2.5e-7;

	image_put(&m, number + m.l.float_value, &half, 8);
	expect(list, "[1, -7, 0, \"it's\"]");
	expect(number, "-2.5e-07");
	expect(image_object(&m, m.none_type, 16), "None");
	expect(image_dict(&m, (uint64_t[]){ items[3], items[0], items[1], list }, 2, 0),
		"{\"it's\": 1, -7: [1, -7, 0, \"it's\"]}");
}

static void values_read_as_python_prints_them(void **state)
{
	(void)state;
	each_version(check_values);
}

static void check_attributes(void)
{
	uint64_t pairs[] = { image_str(&m, "first"), image_int(&m, 1), image_str(&m, "_name"),
		image_str(&m, "worker") };
	uint64_t object = image_instance(&m, "Thread", pairs, 2), found = 0;

	assert_int_equal(attribute_find(&m.o, object, "_name", &found), 0);
	assert_int_equal(found, pairs[3]);
	assert_int_equal(attribute_find(&m.o, object, "first", &found), 0);
	assert_int_equal(found, pairs[1]);
	assert_int_equal(attribute_find(&m.o, object, "absent", &found), -ENOENT);
	assert_int_equal(found, pairs[1]);
}

static void attributes_are_found_where_each_version_keeps_them(void **state)
{
	(void)state;
	each_version(check_attributes);
}

static void take_name(void *ctx, uint64_t ident, const char *name)
{
	assert_int_equal(ident, 77);
	assert_string_equal(name, "worker");
	++*(int *)ctx;
}

static void check_names(void)
{
	uint64_t thread = image_instance(
		&m, "Thread", (uint64_t[]){ image_str(&m, "_name"), image_str(&m, "worker") }, 1);
	uint64_t active = image_dict(&m, (uint64_t[]){ image_int(&m, 77), thread }, 1, 0);
	uint64_t module =
		image_instance(&m, "module", (uint64_t[]){ image_str(&m, "_active"), active }, 1);
	uint64_t modules = image_dict(&m, (uint64_t[]){ image_str(&m, "threading"), module }, 1, 1);
	uint64_t cell = image_alloc(&m, 16), interp = cell - m.l.interp_modules;
	int n = 0;

	image_put_u64(&m, cell, modules);
	assert_int_equal(names_each(&m.o, interp, take_name, &n), 0);
	assert_int_equal(n, 1);
}

static void a_thread_is_named_as_the_program_named_it(void **state)
{
	(void)state;
	each_version(check_names);
}

static void check_cycle(void)
{
	uint64_t items[2] = { 0, 0 }, list = image_list(&m, items, 2), array;

	memcpy(&array, m.bytes + (list + m.l.list_items - IMAGE_BASE), 8);
	image_put_u64(&m, array, list);
	image_put_u64(&m, array + 8, list);
	expect(list,
		"[[[[[… +2], [… +2]], [[… +2], [… +2]]], [[[… +2], [… +2]], [[… +2], [… +2]]]], "
		"[[[[… +2], [… +2]], [[… +2], [… +2]]], [[[… +2], [… +2]], [[… +2], [… +2]]]]]");
}

static void a_list_that_holds_itself_ends(void **state)
{
	(void)state;
	each_version(check_cycle);
}

static void check_lies(void)
{
	static const uint64_t lies[] = { UINT64_MAX, 1ull << 62, 1 << 20,
		IMAGE_BASE + IMAGE_BYTES - 8, 7 };
	uint64_t one = image_int(&m, 1), pairs[] = { image_str(&m, "a"), one };

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		uint64_t objects[] = { image_int(&m, 5), image_str(&m, "abc"),
			image_list(&m, &one, 1), image_dict(&m, pairs, 1, 1) };

		for (size_t k = 0; k < sizeof objects / sizeof *objects; k++)
			for (size_t word = m.l.object_sizeof; word < 64; word += 8) {
				struct buf out = BUF_INIT;
				uint64_t kept, before = objects[k] + word;

				memcpy(&kept, m.bytes + (before - IMAGE_BASE), 8);
				image_put_u64(&m, before, lies[i]);
				value_format(&m.o, objects[k], &value_limits_usual, &out);
				assert_true(out.n > 0 && out.n <= value_limits_usual.bytes + 3);
				image_put_u64(&m, before, kept);
				buf_done(&out);
			}
	}
	expect(lies[0] & ~7ull, "?");
	expect(0, "?");
}

static void sizes_and_pointers_that_lie_end_in_a_text(void **state)
{
	(void)state;
	each_version(check_lies);
}

static void check_no_type(void)
{
	uint64_t object = image_object(&m, m.int_type + 8, 64);

	assert_null(object_type(&m.o, object));
	expect(object, "?");
}

static void what_has_no_type_is_no_object(void **state)
{
	(void)state;
	each_version(check_no_type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_read_as_python_prints_them),
		cmocka_unit_test(attributes_are_found_where_each_version_keeps_them),
		cmocka_unit_test(a_thread_is_named_as_the_program_named_it),
		cmocka_unit_test(a_list_that_holds_itself_ends),
		cmocka_unit_test(sizes_and_pointers_that_lie_end_in_a_text),
		cmocka_unit_test(what_has_no_type_is_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
