/* SPDX-License-Identifier: MIT
 * Call trees of hand-made recordings, as they are added up and printed: as deep as programs recurse, and with counts that no
 * program can have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "view/samples/profile.h"

enum { DEEP = 40000 };

/* f called by itself, or by g which it calls; every call takes a second by itself. */
static void make_deep(struct rig *m, const char *functions)
{
	rig_begin(m);
	for (uint32_t i = 1; i <= DEEP; i++)
		rig_node(m, 0, functions[i % strlen(functions)],
			(struct rec_node){ .id = i,
				.parent = i - 1,
				.calls = 2,
				.self_ns = 1000000000,
				.inclusive_ns = (DEEP - i + 1) * 1000000000ull });
	rig_finish(m);
}

static void a_recursion_of_any_depth_is_folded_with_all_its_calls_and_time(void **state)
{
	const struct calltree_node *root;
	struct rig m;

	(void)state;
	make_deep(&m, "f");
	rig_profile_of(&m, (struct stacks_options){ 0 });
	root = calltree_build(&m.arena, m.stacks, 0, NULL);
	assert_int_equal(root->n_children, 1);
	assert_int_equal(root->children[0]->n_children, 0);
	assert_true(root->children[0]->is_recursive);
	assert_int_equal(root->children[0]->n_calls, 2 * DEEP);
	assert_true(root->children[0]->self == DEEP);
	assert_true(root->total == DEEP);
	rig_done(&m);
}

static void two_that_call_each_other_count_once_however_deep(void **state)
{
	const struct neighbours *n;
	const struct profile *p;
	struct rig m;

	(void)state;
	make_deep(&m, "gf"); /* the outermost is f */
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(p->n_functions, 2);
	for (size_t i = 0; i < 2; i++) {
		bool is_f = strcmp(p->functions[i].name, "f") == 0;

		assert_true(p->functions[i].cost.self_value == DEEP / 2);
		assert_true(p->functions[i].cost.total_value == (is_f ? DEEP : DEEP - 1));
		if (!is_f)
			continue;
		n = neighbours_build(&m.arena, m.stacks, 0, p->functions[i].function);
		assert_int_equal(n->n_callers, 1);
		assert_true(n->callers[0].is_none && n->callers[0].value == DEEP);
		assert_int_equal(n->n_callees, 2);
		assert_true(n->callees[0].value == DEEP / 2 && n->callees[1].value == DEEP / 2);
	}
	rig_done(&m);
}

static void stacks_that_are_shortened_keep_both_ends_and_all_time(void **state)
{
	static struct stack_frame frames[STACKS_DEPTH];
	size_t n, n_frames = 0, n_left_out = 0;
	struct rig m;

	(void)state;
	make_deep(&m, "gf");
	rig_profile_of(&m, (struct stacks_options){ .frames_most = 100 * DEEP });
	assert_int_equal(m.stacks->n, DEEP);
	assert_true(m.stacks->value == DEEP);
	for (size_t i = 0; i < m.stacks->n; i++)
		n_frames += stacks_frames(m.stacks, i, frames);
	assert_true(n_frames <= 100 * DEEP && n_frames > 99 * DEEP);
	n = stacks_frames(m.stacks, DEEP - 1, frames);
	assert_string_equal(frames[0].name, "g");
	assert_string_equal(frames[n - 1].name, "f");
	for (size_t i = 0; i < n; i++)
		n_left_out += strcmp(frames[i].name, "[left out]") == 0;
	assert_int_equal(n_left_out, 1);
	rig_done(&m);
}

static void counts_that_are_wider_than_their_column_are_printed(void **state)
{
	static const uint64_t counts[] = { 1000000000000000000, UINT64_MAX };
	struct profile_view v = { .width = 80, .what = "" };
	const struct exact *x;
	struct buf out = BUF_INIT;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint32_t i = 0; i < 2; i++)
		rig_node(&m, 0, 'f',
			(struct rec_node){ .id = i + 1,
				.parent = i,
				.calls = counts[i],
				.resumes = counts[i],
				.self_ns = 1000,
				.inclusive_ns = 2000 });
	rig_finish(&m);
	m.stacks = stacks_build(&m.arena, m.tables, &(struct stacks_options){ 0 });
	x = exact_build(&m.arena, m.tables, m.stacks->frames, m.stacks->nodes);
	assert_true(x->calls == UINT64_MAX && x->functions[0].cost.resumes == UINT64_MAX);
	profile_print_tree(calltree_build(&m.arena, m.stacks, 0, NULL), m.stacks,
		exact_profile(&m.arena, x), &v, &out);
	assert_non_null(strstr(buf_str(&out), " f ↻"));
	assert_true(out.n < 500);
	buf_done(&out);
	rig_done(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_of_any_depth_is_folded_with_all_its_calls_and_time),
		cmocka_unit_test(two_that_call_each_other_count_once_however_deep),
		cmocka_unit_test(stacks_that_are_shortened_keep_both_ends_and_all_time),
		cmocka_unit_test(counts_that_are_wider_than_their_column_are_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
