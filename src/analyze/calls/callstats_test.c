/* SPDX-License-Identifier: MIT
 * Call statistics in pstats' terms: names, sums, shortened paths, orders, restrictions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/callstats.h"
#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "analyze/samples/stacks_rig.h"
#include "base/err.h"
#include "wire/records.h"

static const uint64_t MS = 1000000;

struct fixture {
	struct rig m;
	const struct callstats *s;
};

/* m calls a, twice from b, and len; a is a generator resumed 8 times; b is defined in another folder. */
static void begin(struct fixture *x)
{
	struct rig *m = &x->m;
	struct frames *frames;

	rig_begin(m);
	m->names['m'] = "<module>";
	m->names['a'] = "Book.read.<locals>.<lambda>";
	m->names['b'] = "Book.save";
	m->names['l'] = "<built-in method builtins.len>";
	m->files['b'] = "/srv/lib/x.py";
	rig_node(m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 100 * MS, .self_ns = 5 * MS });
	rig_node(m, 0, 'a',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 2,
			.resumes = 8,
			.inclusive_ns = 40 * MS,
			.self_ns = 40 * MS });
	rig_node(m, 0, 'b',
		(struct rec_node){ .id = 3,
			.parent = 1,
			.calls = 1,
			.inclusive_ns = 50 * MS,
			.self_ns = 20 * MS });
	rig_node(m, 0, 'a',
		(struct rec_node){ .id = 4,
			.parent = 3,
			.calls = 2,
			.inclusive_ns = 30 * MS,
			.self_ns = 30 * MS });
	rig_node(m, 0, 'l',
		(struct rec_node){ .id = 5,
			.parent = 1,
			.calls = 9,
			.inclusive_ns = 5 * MS,
			.self_ns = 5 * MS });
	rig_finish(m);
	frames = frames_new(&m->arena, m->tables);
	x->s = callstats_build(&m->arena,
		exact_build(&m->arena, m->tables, frames,
			nodes_build(&m->arena, m->tables, frames, NULL)));
}

static const struct callstat *get(const struct callstats *s, const char *label)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].label, label) == 0)
			return &s->v[i];
	fail_msg("no function %s", label);
	return NULL;
}

static void names_are_those_of_cprofile(void **state)
{
	const struct callstat *len, *a;
	struct fixture x;

	(void)state;
	begin(&x);
	len = get(x.s, "{built-in method builtins.len}");
	assert_string_equal(len->file, "~");
	assert_int_equal(len->line, 0);
	assert_string_equal(len->name, "<built-in method builtins.len>");
	a = get(x.s, "x.py:97(<lambda>)");
	assert_int_equal(a->cost.calls, 12); /* entries and resumptions */
	get(x.s, "/srv/lib/x.py:98(save)");
	get(x.s, "x.py:109(<module>)");
	assert_int_equal(x.s->all.calls, 23);
	assert_true(fabs(x.s->all.self_s - 0.1) < 1e-9);
	rig_done(&x.m);
}

static void edges_are_seen_from_both_ends(void **state)
{
	const struct callstat *a, *m;
	struct fixture x;

	(void)state;
	begin(&x);
	a = get(x.s, "x.py:97(<lambda>)");
	m = get(x.s, "x.py:109(<module>)");
	assert_int_equal(a->n_callers, 2);
	assert_string_equal(x.s->v[a->callers[0].other].file, "/srv/lib/x.py"); /* by file */
	assert_int_equal(a->callers[0].cost.calls, 2);
	assert_int_equal(a->callers[1].cost.calls, 10);
	assert_int_equal(m->n_callees, 3);
	assert_string_equal(x.s->v[m->callees[2].other].file, "~");
	assert_int_equal(m->n_callers, 0);
	rig_done(&x.m);
}

static void a_sum_is_twice_as_much(void **state)
{
	const struct callstats *sum;
	struct fixture x;

	(void)state;
	begin(&x);
	sum = callstats_sum(&x.m.arena, x.s, x.s);
	assert_int_equal(sum->n, x.s->n);
	assert_int_equal(sum->all.calls, 46);
	assert_int_equal(get(sum, "x.py:97(<lambda>)")->callers[1].cost.calls, 20);
	rig_done(&x.m);
}

static void rows_that_cannot_be_told_apart_become_one(void **state)
{
	const struct callstats *short_one;
	struct fixture x;

	(void)state;
	begin(&x);
	short_one = callstats_strip(&x.m.arena, x.s);
	assert_int_equal(short_one->n, x.s->n);
	get(short_one, "x.py:98(save)");
	assert_int_equal(short_one->all.calls, 23);
	short_one = callstats_strip(&x.m.arena, callstats_sum(&x.m.arena, x.s, short_one));
	assert_int_equal(short_one->n, x.s->n);
	assert_int_equal(short_one->all.calls, 46);
	rig_done(&x.m);
}

static void check_order(struct fixture *x, const char *keys, const char *first, const char *words)
{
	struct callstats_order o = { 0 };
	struct err e = ERR_INIT;

	assert_int_equal(callstats_sort(&x->m.arena, x->s, keys, &o, &e), 0);
	assert_string_equal(x->s->v[o.rows[0]].label, first);
	assert_string_equal(o.words, words);
	callstats_reverse(&x->m.arena, &o);
	assert_string_equal(x->s->v[o.rows[o.n - 1]].label, first);
}

static void keys_are_those_of_pstats(void **state)
{
	struct callstats_order o = { .words = "as before" };
	struct err e = ERR_INIT;
	struct fixture x;

	(void)state;
	begin(&x);
	check_order(&x, "tottime", "x.py:97(<lambda>)", "internal time");
	check_order(&x, "cumulative", "x.py:109(<module>)", "cumulative time");
	check_order(&x, "cum", "x.py:109(<module>)", "cumulative time");
	check_order(&x, "calls", "x.py:97(<lambda>)", "call count");
	check_order(&x, "filename line", "/srv/lib/x.py:98(save)", "file name, line number");
	check_order(&x, "nfl", "{built-in method builtins.len}", "name/file/line");
	check_order(
		&x, "line,name", "{built-in method builtins.len}", "line number, function name");
	assert_true(callstats_sort(&x.m.arena, x.s, "n", &o, &e) < 0); /* ncalls, name or nfl */
	assert_true(callstats_sort(&x.m.arena, x.s, "speed", &o, &e) < 0);
	assert_string_equal(e.text, "there is no sort key 'speed'");
	assert_true(callstats_sort(&x.m.arena, x.s, " ", &o, &e) < 0);
	assert_string_equal(o.words, "as before");
	rig_done(&x.m);
}

static size_t left(struct fixture *x, const char *selection, const char *notes)
{
	struct callstats_order o = { 0 };
	struct callstats_list l = callstats_all(&x->m.arena, x->s, &o);

	callstats_restrict(&x->m.arena, x->s, &l, selection);
	assert_string_equal(l.notes, notes);
	return l.n;
}

static void restrictions_are_numbers_parts_and_expressions(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	assert_int_equal(left(&x, "2", "   List reduced from 4 to 2 due to restriction <2>\n"), 2);
	assert_int_equal(left(&x, "100", ""), 4);
	assert_int_equal(
		left(&x, ".5", "   List reduced from 4 to 2 due to restriction <0.5>\n"), 2);
	assert_int_equal(left(&x, "1.0", ""), 4);
	assert_int_equal(left(&x, "0", "   List reduced from 4 to 0 due to restriction <0>\n"), 0);
	assert_int_equal(
		left(&x, "sa\\w+", "   List reduced from 4 to 1 due to restriction <'sa\\w+'>\n"),
		1);
	assert_int_equal(
		left(&x, "py:\\d{3}\\(",
			"   List reduced from 4 to 1 due to restriction <'py:\\d{3}\\('>\n"),
		1);
	assert_int_equal(
		left(&x, "(?:len|save)",
			"   List reduced from 4 to 2 due to restriction <'(?:len|save)'>\n"),
		2);
	assert_int_equal(left(&x, "x(", "   <Invalid regular expression 'x('>\n"), 4);
	rig_done(&x.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_cprofile),
		cmocka_unit_test(edges_are_seen_from_both_ends),
		cmocka_unit_test(a_sum_is_twice_as_much),
		cmocka_unit_test(rows_that_cannot_be_told_apart_become_one),
		cmocka_unit_test(keys_are_those_of_pstats),
		cmocka_unit_test(restrictions_are_numbers_parts_and_expressions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
