/* SPDX-License-Identifier: MIT */
#include "analyze/code/qualnames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/samples/stacks_rig.h"
#include "store/writer.h"

/* The names that are asked for, by line, of one text. */
struct asked {
	uint32_t line;
	const char *name, *want;
};

static void check(const char *text, size_t n, const struct asked *asked, size_t n_asked)
{
	const struct qualnames *q;
	struct rig m;
	uint32_t file;

	rig_begin(&m);
	file = writer_string(m.w, "x.py");
	writer_add(m.w, RECORD_source,
		&(struct rec_source){ .file = file, .text = { text, (uint32_t)n } });
	rig_finish(&m);
	q = qualnames_load(&m.arena, m.tables);
	for (size_t i = 0; i < n_asked; i++)
		assert_string_equal(
			qualnames_find(q, file, asked[i].line, asked[i].name), asked[i].want);
	assert_string_equal(qualnames_find(q, file + 1, 1, "f"), "f");
	rig_done(&m);
}

#define CHECK(text, ...)                                                            \
	do {                                                                        \
		static const struct asked asked[] = { __VA_ARGS__ };                \
		check(text, sizeof(text) - 1, asked, sizeof asked / sizeof *asked); \
	} while (0)

static void test_scopes(void **state)
{
	(void)state;
	CHECK("def f(): pass\n"
	      "class A:\n"
	      "\tdef g(self):\n"
	      "\t\tasync def h(): pass\n"
	      "\t\treturn h\n"
	      "\n"
	      "# a remark that ends no scope\n"
	      "\tclass B:\n"
	      "\t    def i(self): pass\n"
	      "if True:\n"
	      "    def j(): pass\n",
		{ 1, "f", "f" }, { 2, "A", "A" }, { 3, "g", "A.g" }, { 4, "h", "A.g.<locals>.h" },
		{ 9, "i", "A.B.i" }, { 11, "j", "j" }, { 11, "other", "other" }, { 12, "j", "j" });
}

static void test_decorators_count_as_the_first_line(void **state)
{
	(void)state;
	CHECK("class A:\n"
	      "    @first(1,\n"
	      "  2)\n"
	      "    @second\n"
	      "\n"
	      "    def f(self,\n"
	      "a): pass\n"
	      "    def g(self): pass\n",
		{ 2, "f", "A.f" }, { 6, "f", "f" }, { 8, "g", "A.g" });
}

static void test_what_goes_on_over_lines(void **state)
{
	(void)state;
	CHECK("class A:\n"
	      "    text = '''\n"
	      "def no(): pass\n"
	      "' \\''''\n"
	      "    more = \"one # \\\n"
	      "class line\"\n"
	      "    items = [ # ( in a remark\n"
	      "1, ']',\n"
	      "]\n"
	      "    x = 1 + \\\n"
	      "2\n"
	      "    def f(self): pass\n",
		{ 3, "no", "no" }, { 12, "f", "A.f" });
}

static void test_damage_does_no_harm(void **state)
{
	static char deep[100000];

	(void)state;
	CHECK("class A:\n  def f(self): '''never ends\n def g(): pass\n", { 2, "f", "A.f" },
		{ 3, "g", "g" });
	CHECK("class \ndef\nasync\n@", { 1, "", "" });
	CHECK("x = (((\ndef f(): pass", { 2, "f", "f" });
	CHECK("def f\0(): pass\n", { 1, "f", "f" });
	memset(deep, ' ', sizeof deep);
	for (size_t i = 0, at = 0; at + i + 10 < sizeof deep; at += i + 10, i++)
		memcpy(deep + at + i, "class A:\n", 9);
	check(deep, sizeof deep, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_decorators_count_as_the_first_line),
		cmocka_unit_test(test_what_goes_on_over_lines),
		cmocka_unit_test(test_damage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
