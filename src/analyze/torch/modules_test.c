/* SPDX-License-Identifier: MIT
 * Modules that call each other: their time, their operators, and what ran backward and on the device for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/torch/modules.h"
#include "analyze/torch/rig.h"
#include "base/arena.h"

static void module(struct op_events *x, const char *name, int64_t start_ns, int64_t duration_ns)
{
	op_rig_span(x, OP_PYTHON, name, OP_RIG_THREAD, start_ns, duration_ns);
}

static void assert_ns(double seconds, int64_t ns)
{
	assert_float_equal(seconds * 1e9, (double)ns, 1e-3);
}

/* Net (0–1000) calls Linear_0 (100–300), Linear_1 (400–500) and Linear_0 again (600–700). */
static void make_net(struct op_events *x)
{
	module(x, "nn.Module: Net_0", 0, 1000);
	module(x, "nn.Module: Linear_0", 100, 200);
	module(x, "train.py(3): helper", 120, 100); /* no module */
	module(x, "nn.Module: Linear_1", 400, 100);
	module(x, "nn.Module: Linear_0", 600, 100);
}

static void rows_lie_under_those_that_called_them(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_modules *m;

	(void)state;
	make_net(&x);
	op_rig_operator(&x, "aten::linear", 150, 50, 1);
	op_rig_operator(&x, "aten::addmm", 160, 30, 2);
	op_rig_operator(&x, "aten::relu", 320, 10, 3);
	m = op_modules_build(&a, &x);
	assert_int_equal(m->n, 3);
	assert_string_equal(m->v[0].name, "Net_0");
	assert_string_equal(m->v[1].name, "Linear_0");
	assert_string_equal(m->v[2].name, "Linear_1");
	assert_int_equal(m->v[0].parent, 0);
	assert_int_equal(m->v[1].parent, 0);
	assert_int_equal(m->v[1].depth, 1);
	assert_int_equal(m->v[1].n_calls, 2);
	assert_ns(m->v[0].seconds, 1000);
	assert_ns(m->v[0].self_s, 1000 - 200 - 100 - 100);
	assert_ns(m->v[1].seconds, 300);
	assert_ns(m->v[1].self_s, 300);
	assert_int_equal(m->v[0].n_operators, 1);
	assert_int_equal(m->v[1].n_operators, 2);
	assert_false(m->has_device || m->has_backward);
	arena_done(&a);
	op_events_done(&x);
}

static void autograd_counts_for_the_module_of_its_operator(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_modules *m;
	uint32_t forward, backward;

	(void)state;
	make_net(&x);
	forward = op_rig_operator(&x, "aten::addmm", 150, 50, 1);
	backward = op_rig_span(&x, OP_CPU, "AddmmBackward0", OP_RIG_OTHER_THREAD, 2000, 80);
	x.v.v[backward].is_backward = 1;
	x.v.v[backward].link = 2;
	/* within it: no more time */
	op_rig_span(&x, OP_CPU, "aten::mm", OP_RIG_OTHER_THREAD, 2010, 40);
	x.v.v[x.v.n - 1].link = 3;
	vec_push(&x.sequences, (struct op_sequence){ forward, 9 });
	vec_push(&x.sequences, (struct op_sequence){ backward, 9 });
	op_rig_launch(&x, 160, 5, 1, 1);
	op_rig_kernel(&x, "gemm", 170, 300, 1, 1);
	op_rig_kernel(&x, "gemm_backward", 2100, 500, 3, 0); /* of what autograd called */
	op_rig_kernel(&x, "loss", 2700, 70, 0, 0);           /* of nobody */
	m = op_modules_build(&a, &x);
	assert_true(m->has_device && m->has_backward);
	assert_ns(m->v[1].self_backward_s, 80);
	assert_ns(m->v[0].backward_s, 80);
	assert_ns(m->v[0].self_backward_s, 0);
	assert_ns(m->v[1].self_device_s, 800);
	assert_ns(m->v[1].self_device_backward_s, 500);
	assert_ns(m->v[0].device_s, 800);
	assert_int_equal(m->v[0].n_launches, 2);
	assert_int_equal(m->v[0].n_self_launches, 0);
	assert_ns(m->outside_device_s, 70);
	arena_done(&a);
	op_events_done(&x);
}

static void a_number_of_two_threads_is_of_nobody(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_modules *m;
	uint32_t forward, other, backward;

	(void)state;
	make_net(&x);
	forward = op_rig_operator(&x, "aten::addmm", 150, 50, 1);
	other = op_rig_span(&x, OP_CPU, "aten::addmm", OP_RIG_OTHER_THREAD, 150, 50);
	backward = op_rig_span(&x, OP_CPU, "AddmmBackward0", OP_RIG_OTHER_THREAD, 2000, 80);
	x.v.v[backward].is_backward = 1;
	vec_push(&x.sequences, (struct op_sequence){ other, 9 });
	vec_push(&x.sequences, (struct op_sequence){ forward, 9 });
	vec_push(&x.sequences, (struct op_sequence){ backward, 9 });
	m = op_modules_build(&a, &x);
	assert_false(m->has_backward);
	assert_ns(m->v[0].backward_s, 0);
	arena_done(&a);
	op_events_done(&x);
}

static void a_call_does_not_outlast_its_caller(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_modules *m;

	(void)state;
	module(&x, "nn.Module: Net_0", 0, 100);
	module(&x, "nn.Module: Linear_0", 50, 500); /* profiling ended in it */
	m = op_modules_build(&a, &x);
	assert_int_equal(m->n, 2);
	assert_ns(m->v[1].seconds, 50);
	assert_ns(m->v[0].self_s, 50);
	arena_done(&a);
	op_events_done(&x);
}

static void ran_in(struct op_events *x, uint32_t event, const char *module)
{
	while (x->modules.n <= event)
		vec_push(&x->modules, 0);
	x->modules.v[event] = intern_adds(&x->names, module) + 1;
}

/* Net has block, which has Linear_0; Linear_1 is in nothing. Times are of operators: of one that calls another in another module, the rest. */
static void operators_that_tell_their_module_make_rows(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_modules *m;

	(void)state;
	ran_in(&x, op_rig_operator(&x, "aten::linear", 100, 60, 1), "nn.Module: Linear_0");
	op_rig_operator(&x, "aten::addmm", 110, 30, 2); /* called by it, and tells nothing */
	ran_in(&x, op_rig_operator(&x, "custom", 200, 100, 3), "nn.Module: Net_0");
	ran_in(&x, op_rig_operator(&x, "aten::linear", 210, 40, 4), "nn.Module: Linear_1");
	op_rig_operator(&x, "aten::mse_loss", 400, 50, 5);
	map_put(&x.module_parents, intern_adds(&x.names, "nn.Module: Linear_0"),
		intern_adds(&x.names, "nn.Module: Block_0"));
	map_put(&x.module_parents, intern_adds(&x.names, "nn.Module: Block_0"),
		intern_adds(&x.names, "nn.Module: Net_0"));
	m = op_modules_build(&a, &x);
	assert_false(m->has_calls);
	assert_int_equal(m->n, 4);
	assert_string_equal(m->v[0].name, "Net_0");
	assert_string_equal(m->v[1].name, "Block_0");
	assert_string_equal(m->v[2].name, "Linear_0");
	assert_string_equal(m->v[3].name, "Linear_1");
	assert_int_equal(m->v[2].depth, 2);
	assert_int_equal(m->v[3].depth, 0);
	assert_ns(m->v[0].seconds, 60 + 60);
	assert_ns(m->v[0].self_s, 60);
	assert_ns(m->v[1].seconds, 60);
	assert_ns(m->v[1].self_s, 0);
	assert_ns(m->v[2].self_s, 60);
	assert_ns(m->v[3].seconds, 40);
	assert_int_equal(m->v[1].n_operators, 0);
	assert_int_equal(m->v[2].n_operators, 2);
	arena_done(&a);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_lie_under_those_that_called_them),
		cmocka_unit_test(autograd_counts_for_the_module_of_its_operator),
		cmocka_unit_test(a_number_of_two_threads_is_of_nobody),
		cmocka_unit_test(a_call_does_not_outlast_its_caller),
		cmocka_unit_test(operators_that_tell_their_module_make_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
