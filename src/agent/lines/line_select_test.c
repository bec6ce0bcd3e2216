/* SPDX-License-Identifier: MIT
 * select: each way to name functions, and what each must leave alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/lines/line_select.h"

static const struct line_select_subject step = { "/home/u/shop/model.py", "shop.model",
	"Model.step", false };
static const struct line_select_subject inner = { "/home/u/run.py", "__main__",
	"main.<locals>.step", false };
static const struct line_select_subject library = { "/usr/lib/python3/sched.py", "sched", "step",
	true };

static bool selects(const char *pattern, const struct line_select_subject *subject)
{
	struct line_select s;

	assert_true(leadline_select_init(&s, pattern));
	return leadline_select_match(&s, subject) != 0;
}

static void names_of_functions(void **state)
{
	(void)state;
	assert_true(selects("step", &step));
	assert_true(selects("st?p", &step));
	assert_true(selects("Model.step", &step));
	assert_true(selects("Model.*", &step));
	assert_false(selects("Mod.step", &step));
	assert_false(selects("ste", &step));
	assert_true(selects("step", &inner));
	assert_true(selects("main.step", &inner));
	assert_true(selects("main.<locals>.step", &inner));
	assert_false(selects("main", &inner));
	/* A library's functions only when the library is named. */
	assert_false(selects("step", &library));
	assert_true(selects("sched", &library));
	assert_true(selects("sched:step", &library));
	assert_true(selects("sched.step", &library));
}

static void modules(void **state)
{
	(void)state;
	assert_true(selects("shop", &step));
	assert_true(selects("shop.model", &step));
	assert_true(selects("shop.*", &step));
	assert_false(selects("shop.mod", &step));
	assert_false(selects("sho", &step));
	assert_true(selects("shop.model:Model.step", &step));
	assert_true(selects("shop.model:step", &step));
	assert_true(selects("shop.model.Model.step", &step));
	assert_false(selects("shop.model:Other.step", &step));
	assert_false(selects("shop.orders:step", &step));
	assert_true(selects("run", &inner)); /* the script */
	assert_true(selects("run:main.step", &inner));
	assert_true(selects("__main__:step", &inner));
	assert_false(selects("ru", &inner));
}

static void files(void **state)
{
	(void)state;
	assert_true(selects("model.py", &step));
	assert_true(selects("./model.py", &step));
	assert_true(selects("shop/model.py", &step));
	assert_true(selects("shop/*.py", &step));
	assert_true(selects("/home/u/shop/model.py", &step));
	assert_true(selects("/home/u/*", &step));
	assert_true(selects("model.py:step", &step));
	assert_false(selects("model.py:other", &step));
	assert_false(selects("odel.py", &step));
	assert_false(selects("op/model.py", &step));
	assert_false(selects("/shop/model.py", &step));
	assert_true(selects("sched.py", &library));
}

static void patterns_in_turn(void **state)
{
	struct line_select s;

	(void)state;
	assert_true(leadline_select_init(&s, "\nnothing\n,Model.step,step\n"));
	assert_int_equal(s.n, 3);
	assert_int_equal(leadline_select_match(&s, &step), 1 << 1 | 1 << 2);
	assert_int_equal(leadline_select_match(&s, &inner), 1 << 2);
	assert_int_equal(leadline_select_match(&s, &library), 0);
	assert_int_equal(s.patterns[0].n_found, 0);
	assert_int_equal(s.patterns[1].n_found, 1);
	assert_true(leadline_select_may_mean(&s, "step"));
	assert_false(leadline_select_may_mean(&s, "nothing")); /* no class is asked for */
}

static void too_much_is_told(void **state)
{
	char text[SELECT_TEXT_MAX + 10];
	struct line_select s;

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	assert_false(leadline_select_init(&s, text));
	for (size_t i = 0; i < 2 * (SELECT_PATTERNS_MAX + 1); i++)
		text[i] = i % 2 ? '\n' : 'x';
	text[2 * (SELECT_PATTERNS_MAX + 1)] = '\0';
	assert_false(leadline_select_init(&s, text));
	assert_int_equal(s.n, SELECT_PATTERNS_MAX);
	assert_true(leadline_select_init(&s, ""));
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_functions),
		cmocka_unit_test(modules),
		cmocka_unit_test(files),
		cmocka_unit_test(patterns_in_turn),
		cmocka_unit_test(too_much_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
