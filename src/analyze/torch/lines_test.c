/* SPDX-License-Identifier: MIT
 * What is joined to a trace: lines of calls, names of regions, where modules are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/torch/lines.h"
#include "analyze/torch/rig.h"

enum { BASE = 1000000 };

static void take(struct op_events *x, const char *json)
{
	op_lines_take(x, json, strlen(json), BASE);
}

static const char *source(const struct op_events *x, uint32_t event)
{
	return event < x->sources.n && x->sources.v[event]
		? op_events_name(x, x->sources.v[event] - 1)
		: "";
}

static void events_are_found_by_when_they_begin(void **state)
{
	struct op_events x = { 0 };
	uint32_t f = op_rig_span(&x, OP_PYTHON, "f", OP_RIG_THREAD, 10, 50);
	uint32_t g = op_rig_span(&x, OP_PYTHON, "g", OP_RIG_THREAD, 20, 5);
	uint32_t add = op_rig_operator(&x, "aten::add", 20, 2, 1);
	uint32_t region = op_rig_span(&x, OP_ANNOTATION, "unknown", OP_RIG_THREAD, 30, 2);
	uint64_t path;

	(void)state;
	take(&x,
		"{\"places\":[\"a.py(1): f\",\"a.py(2): g\",\"a.py(3): h\"],\"calls\":[1000010,1,10,0],"
		"\"ops\":[1000020,2],\"names\":[1000030,\"gr\\u00f6\\u00dfe\\t\\n\"],\"modules\":{\"Linear_0\":\"layers.0\"},\"later\":{\"a\":[1]}}");
	assert_string_equal(source(&x, f), "a.py(2): g");
	assert_string_equal(source(&x, g), "a.py(1): f");
	assert_string_equal(source(&x, add), "a.py(3): h");
	assert_string_equal(op_events_name(&x, x.v.v[region].name),
		"gr\xc3\xb6\xc3\x9f"
		"e\t\n");
	assert_true(map_find(&x.module_paths, intern_adds(&x.names, "nn.Module: Linear_0"), &path));
	assert_string_equal(op_events_name(&x, (uint32_t)path), "layers.0");
	op_events_done(&x);
}

static void what_begins_with_another_is_nobodys(void **state)
{
	struct op_events x = { 0 };

	(void)state;
	op_rig_span(&x, OP_PYTHON, "f", OP_RIG_THREAD, 10, 50);
	op_rig_span(&x, OP_PYTHON, "f", OP_RIG_OTHER_THREAD, 10, 50);
	take(&x, "{\"places\":[\"a.py(1): f\"],\"calls\":[1000010,0]}");
	assert_string_equal(source(&x, 0), "");
	assert_string_equal(source(&x, 1), "");
	op_events_done(&x);
}

static void nonsense_changes_nothing(void **state)
{
	static const char *const cases[] = { "", "[", "7", "{\"calls\":[1000010,0]}",
		"{\"places\":[\"a.py(1): f\"],\"calls\":[1000010,1]}",
		"{\"places\":[\"a.py(1): f\"],\"calls\":[1000010]}",
		"{\"places\":[\"a.py(1): f\"],\"calls\":[-5,0,1000010,0]}",
		"{\"places\":[\"a.py(1): f\"],\"calls\":[\"x\",0]}",
		"{\"places\":[7],\"calls\":[1000010,0]}", "{\"places\":{},\"calls\":{}}",
		"{\"places\":[\"a.py(1): f\"],\"calls\":[18446744073709551615,0,1000011,0]}",
		"{\"names\":[1000010,3]}", "{\"modules\":{\"a\":{}}}" };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct op_events x = { 0 };

		op_rig_span(&x, OP_PYTHON, "f", OP_RIG_THREAD, 10, 50);
		take(&x, cases[i]);
		assert_string_equal(source(&x, 0), "");
		assert_string_equal(op_events_name(&x, x.v.v[0].name), "f");
		op_events_done(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_found_by_when_they_begin),
		cmocka_unit_test(what_begins_with_another_is_nobodys),
		cmocka_unit_test(nonsense_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
