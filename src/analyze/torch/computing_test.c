/* SPDX-License-Identifier: MIT
 * When the host computes, and what of communication that leaves uncovered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/torch/computing.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"

static int by_time(const void *a, const void *b)
{
	const struct op_moment *x = a, *y = b;

	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/* How long anything computed. */
static int64_t computed_ns(struct op_events *x)
{
	struct ops_tree tree;
	struct op_moments m;
	int64_t sum = 0, last = 0;
	int32_t n = 0;

	ops_tree_init(&tree, x, false);
	m = op_computing_find(&tree, NULL, 0);
	qsort(m.v.v, m.v.n, sizeof *m.v.v, by_time);
	vec_each (&m.v, moment) {
		assert_true(n >= 0);
		sum += n > 0 ? moment->t_ns - last : 0;
		last = moment->t_ns;
		n += moment->change;
	}
	assert_int_equal(n, 0);
	vec_done(&m.v);
	ops_tree_done(&tree);
	return sum;
}

static void an_operator_that_waits_for_a_collective_does_not_compute(void **state)
{
	struct op_events x = { 0 };

	(void)state;
	op_rig_operator(&x, "autograd::engine::evaluate_function: AccumulateGrad", 100, 500, 1);
	op_rig_operator(&x, "c10d::allreduce_", 200, 300, 2);              /* 200–500 */
	op_rig_operator(&x, "aten::copy_", 250, 50, 3);                    /* it computes there */
	op_rig_operator(&x, "_c10d_functional::wait_tensor", 700, 100, 4); /* nothing around it */
	assert_int_equal(computed_ns(&x), 100 + 50 + 100);
	op_events_done(&x);
}

static void any_thread_counts_and_no_moment_twice(void **state)
{
	struct op_events x = { 0 };

	(void)state;
	op_rig_operator(&x, "aten::mm", 100, 100, 1);           /* 100–200 */
	op_rig_operator(&x, "record_param_comms", 150, 100, 2); /* –250: not a part of it */
	op_rig_span(&x, OP_CPU, "aten::add", OP_RIG_OTHER_THREAD, 180, 60); /* 180–240 */
	assert_int_equal(computed_ns(&x), 140);
	op_events_done(&x);
}

static void communication_is_what_nothing_covers(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_steps *s;

	(void)state;
	op_rig_span(&x, OP_ANNOTATION, "ProfilerStep#1", OP_RIG_THREAD, 0, 1000);
	op_rig_span(&x, OP_ANNOTATION, "gloo:all_reduce", OP_RIG_OTHER_THREAD, 300, 400); /* –700 */
	op_rig_operator(&x, "aten::mm", 100, 400, 1);  /* 100–500 covers 200 */
	op_rig_operator(&x, "aten::add", 650, 200, 2); /* 650–850 covers 50 */
	s = op_steps_build(&a, &x);
	assert_float_equal(s->parts_s[OP_PART_COMMUNICATION] * 1e9, 150, 1e-3);
	assert_float_equal(s->parts_s[OP_PART_CPU] * 1e9, 600, 1e-3);
	assert_float_equal(s->parts_s[OP_PART_OTHER] * 1e9, 250, 1e-3);
	arena_done(&a);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operator_that_waits_for_a_collective_does_not_compute),
		cmocka_unit_test(any_thread_counts_and_no_moment_twice),
		cmocka_unit_test(communication_is_what_nothing_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
