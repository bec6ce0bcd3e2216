/* SPDX-License-Identifier: MIT
 * Autograd's nodes and the operators they go back to, by number and by order, and the places that follow from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/torch/backward.h"
#include "analyze/torch/neighbours.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/table.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/buf.h"

static uint32_t op(struct op_events *x, const char *name, int64_t start_ns, int64_t duration_ns)
{
	return op_rig_span(x, OP_CPU, name, OP_RIG_THREAD, start_ns, duration_ns);
}

/* With the line that asked for it. */
static uint32_t op_from(struct op_events *x, const char *name, int64_t start_ns, const char *line)
{
	uint32_t at = op(x, name, start_ns, 5);

	while (x->sources.n <= at)
		vec_push(&x->sources, 0);
	x->sources.v[at] = intern_adds(&x->names, line) + 1;
	return at;
}

static uint32_t node(struct op_events *x, const char *class, int64_t start_ns)
{
	struct buf name = BUF_INIT;
	uint32_t at;

	buf_printf(&name, "autograd::engine::evaluate_function: %s", class);
	at = op(x, buf_str(&name), start_ns, 8);
	buf_done(&name);
	return at;
}

static uint32_t *find_with(struct op_events *x, bool **ret_is_one)
{
	struct ops_tree t;
	uint32_t *found;

	ops_tree_init(&t, x, true);
	found = op_backward_find(&t, ret_is_one);
	ops_tree_done(&t);
	return found;
}

static uint32_t *find(struct op_events *x)
{
	bool *is_one;
	uint32_t *found = find_with(x, &is_one);

	free(is_one);
	return found;
}

/* With the line that asked for it, and the module it ran in. */
static uint32_t op_in(struct op_events *x, const char *name, int64_t start_ns, const char *module)
{
	uint32_t at = op_from(x, name, start_ns, "net.py(3): forward");

	while (x->modules.n <= at)
		vec_push(&x->modules, 0);
	x->modules.v[at] = intern_adds(&x->names, module) + 1;
	return at;
}

static void nodes_go_back_in_the_reverse_order(void **state)
{
	struct op_events x = { 0 };
	uint32_t first = op(&x, "aten::addmm", 0, 5), second = op(&x, "aten::tanh", 10, 5);
	uint32_t third = op(&x, "aten::addmm", 20, 5);
	uint32_t *found, b3, b2, b1;

	(void)state;
	op(&x, "aten::expand", 21, 2); /* below it autograd does not look */
	op(&x, "aten::ones_like", 30, 2);
	b3 = node(&x, "AddmmBackward0", 100);
	b2 = node(&x, "TanhBackward0", 110);
	node(&x, "torch::autograd::AccumulateGrad", 120);
	b1 = node(&x, "AddmmBackward0", 130);
	found = find(&x);
	assert_int_equal(found[b3], third + 1);
	assert_int_equal(found[b2], second + 1);
	assert_int_equal(found[b1], first + 1);
	assert_int_equal(found[first], 0);
	free(found);
	op_events_done(&x);
}

static void what_may_be_either_is_not_known(void **state)
{
	struct op_events x = { 0 };
	uint32_t *found, b;

	(void)state;
	op(&x, "aten::tanh", 0, 5); /* one of them without gradients */
	op(&x, "aten::tanh", 10, 5);
	b = node(&x, "TanhBackward0", 100);
	found = find(&x);
	assert_int_equal(found[b], 0);
	free(found);
	op_events_done(&x);
}

/* One of them ran without gradients: the line is known, and the module only where it is the same. */
static void a_line_of_several_modules_tells_no_module(void **state)
{
	static const char *const second[] = { "nn.Module: Block_0", "nn.Module: Block_1" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct op_events x = { 0 };
		uint32_t *found, b;
		bool *is_one;

		op_in(&x, "aten::tanh", 0, "nn.Module: Block_0");
		op_in(&x, "aten::tanh", 10, second[i]);
		b = node(&x, "TanhBackward0", 100);
		found = find_with(&x, &is_one);
		assert_int_not_equal(found[b], 0);
		assert_int_equal(is_one[b], i == 0);
		free(found);
		free(is_one);
		op_events_done(&x);
	}
}

static void others_between_do_not_matter_where_the_order_tells(void **state)
{
	struct op_events x = { 0 };
	uint32_t tanh, addmm, *found, b;

	(void)state;
	op(&x, "aten::tanh", 0, 5); /* before all that is gone back to */
	addmm = op(&x, "aten::addmm", 10, 5);
	tanh = op(&x, "aten::tanh", 20, 5);
	b = node(&x, "TanhBackward0", 100);
	node(&x, "AddmmBackward0", 110);
	found = find(&x);
	assert_int_equal(found[b], tanh + 1);
	assert_int_equal(found[b + 1], addmm + 1);
	free(found);
	op_events_done(&x);
}

static void the_inner_of_one_name_made_the_node(void **state)
{
	struct op_events x = { 0 };
	uint32_t inner, *found, b;

	(void)state;
	op(&x, "aten::softmax", 0, 20);
	inner = op(&x, "aten::_softmax", 5, 10);
	b = node(&x, "SoftmaxBackward0", 100);
	found = find(&x);
	assert_int_equal(found[b], inner + 1);
	free(found);
	op_events_done(&x);
}

static void operators_before_an_earlier_backward_are_found(void **state)
{
	struct op_events x = { 0 };
	uint32_t early = op(&x, "aten::relu", 0, 5), tanh = op(&x, "aten::tanh", 10, 5), exp;
	uint32_t *found, b1, b2;

	(void)state;
	b1 = node(&x, "TanhBackward0", 100);
	exp = op(&x, "aten::exp", 200, 5);
	b2 = node(&x, "ExpBackward0", 300);
	node(&x, "ReluBackward0", 310);
	found = find(&x);
	assert_int_equal(found[b1], tanh + 1);
	assert_int_equal(found[b2], exp + 1);
	assert_int_equal(found[b2 + 1], early + 1);
	free(found);
	op_events_done(&x);
}

/* The first backward() may have gone back to either tanh, so the second one's is not known; its exp is. */
static void what_is_not_known_does_not_spoil_the_rest(void **state)
{
	struct op_events x = { 0 };
	uint32_t exp, *found, b1, b2;

	(void)state;
	op(&x, "aten::tanh", 0, 5);
	op(&x, "aten::tanh", 10, 5);
	b1 = node(&x, "TanhBackward0", 100);
	exp = op(&x, "aten::exp", 200, 5);
	b2 = node(&x, "ExpBackward0", 300);
	node(&x, "TanhBackward0", 310);
	found = find(&x);
	assert_int_equal(found[b1], 0);
	assert_int_equal(found[b2], exp + 1);
	assert_int_equal(found[b2 + 1], 0);
	free(found);
	op_events_done(&x);
}

static void number(struct op_events *x, uint32_t event, uint32_t sequence, uint8_t thread)
{
	x->v.v[event].is_backward = thread;
	vec_push(&x->sequences, (struct op_sequence){ event, sequence });
}

static void numbers_count_by_thread(void **state)
{
	struct op_events x = { 0 };
	uint32_t *found, a, b, back_a, back_b;

	(void)state;
	a = op(&x, "aten::mm", 0, 5);
	b = op_rig_span(&x, OP_CPU, "aten::tanh", OP_RIG_OTHER_THREAD, 0, 5);
	number(&x, a, 7, 0);
	number(&x, b, 7, 0);
	back_a = node(&x, "MmBackward0", 100);
	number(&x, back_a, 7, 1);
	back_b = node(&x, "TanhBackward0", 120);
	number(&x, back_b, 7, 2);
	found = find(&x);
	assert_int_equal(found[back_a], a + 1);
	assert_int_equal(found[back_b], b + 1);
	free(found);
	op_events_done(&x);
}

/* ---- places ---------------------------------------------------------------------------------- */

static const struct ops_row *row(const struct ops *ops, const char *name)
{
	for (size_t i = 0; i < ops->n; i++)
		if (strcmp(ops->v[i].name, name) == 0)
			return &ops->v[i];
	return NULL;
}

static const struct ops *count(struct arena *a, struct op_events *x)
{
	struct ops *ops = ops_count(a, x, &(struct ops_options){ 0 });

	assert_true(ops_sort(ops, "self_cpu_time_total"));
	return ops;
}

static void rows_have_their_places(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct ops_row *r;

	(void)state;
	op_from(&x, "aten::relu", 0, "net.py(3): f");
	op_from(&x, "aten::relu", 10, "net.py(3): f");
	op_from(&x, "aten::relu", 20, "net.py(4): f");
	op_from(&x, "aten::exp", 30, "net.py(5): f");
	op_from(&x, "aten::exp", 40, "net.py(6): f");
	op_from(&x, "aten::exp", 50, "net.py(7): f");
	op_from(&x, "aten::sin", 60, "net.py(8): f");
	r = row(count(&a, &x), "aten::relu");
	assert_int_equal(r->n_places, 2);
	assert_string_equal(r->source, "net.py(3): f");
	assert_float_equal(r->source_share, 2.0 / 3, 1e-6);
	assert_int_equal(r->places[0].n_calls, 2);
	assert_float_equal(r->places[0].self_cpu_us, 0.010, 1e-9);
	assert_string_equal(r->places[1].source, "net.py(4): f");
	assert_float_equal(r->places[1].cpu_us, 0.005, 1e-9);
	r = row(count(&a, &x), "aten::exp"); /* no line has half */
	assert_int_equal(r->n_places, 3);
	assert_string_equal(r->source, "");
	r = row(count(&a, &x), "aten::sin");
	assert_int_equal(r->n_places, 1);
	assert_string_equal(r->source, "net.py(8): f");
	arena_done(&a);
	op_events_done(&x);
}

static void backward_has_the_line_forward(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct ops_row *r;

	(void)state;
	op_from(&x, "aten::tanh", 0, "net.py(3): f");
	node(&x, "TanhBackward0", 100);
	op_from(&x, "aten::mul", 102, "net.py(9): train"); /* where backward() is called */
	r = row(count(&a, &x), "aten::mul");
	assert_int_equal(r->n_places, 1);
	assert_string_equal(r->source, "net.py(3): f");
	assert_true(r->places[0].is_backward);
	arena_done(&a);
	op_events_done(&x);
}

/* A function is named by where it begins, which is no line that asks for anything. */
static void functions_have_no_line_unless_it_is_told(void **state)
{
	struct op_events x = { .has_python = true };
	struct arena a = ARENA_INIT;
	uint32_t call;

	(void)state;
	op_rig_span(&x, OP_PYTHON, "net.py(2): f", OP_RIG_THREAD, 0, 100);
	call = op_rig_span(&x, OP_PYTHON, "<built-in relu>", OP_RIG_THREAD, 10, 20);
	op(&x, "aten::relu", 12, 10);
	assert_string_equal(row(count(&a, &x), "aten::relu")->source, "net.py: f");
	while (x.sources.n <= call)
		vec_push(&x.sources, 0);
	x.sources.v[call] = intern_adds(&x.names, "net.py(4)") + 1;
	assert_string_equal(row(count(&a, &x), "aten::relu")->source, "net.py(4): f");
	x.sources.v[call] = intern_adds(&x.names, "torch/nn.py(4): g") + 1;
	assert_string_equal(row(count(&a, &x), "aten::relu")->source, "net.py: f");
	arena_done(&a);
	op_events_done(&x);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

static void neighbours_add_up(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_neighbours *n;

	(void)state;
	op(&x, "aten::linear", 0, 100);
	op(&x, "aten::addmm", 10, 60);
	op(&x, "aten::copy_", 20, 15);
	op(&x, "aten::addmm", 40, 20); /* itself again */
	op(&x, "aten::copy_", 45, 5);
	op(&x, "aten::addmm", 200, 30);
	n = op_neighbours_build(&a, &x, "aten::addmm");
	assert_int_equal(n->n_calls, 2);
	assert_float_equal(n->cpu_us, 0.090, 1e-9);
	assert_int_equal(n->n_callers, 2);
	assert_string_equal(n->callers[0].name, "aten::linear");
	assert_float_equal(n->callers[0].cpu_us, 0.060, 1e-9);
	assert_string_equal(n->callers[1].name, "");
	assert_int_equal(n->n_callees, 2);
	assert_string_equal(n->callees[0].name, "");
	assert_float_equal(n->callees[0].cpu_us, 0.070, 1e-9);
	assert_string_equal(n->callees[1].name, "aten::copy_");
	assert_int_equal(n->callees[1].n_calls, 2);
	assert_float_equal(n->callees[1].cpu_us, 0.020, 1e-9);
	assert_int_equal(op_neighbours_build(&a, &x, "aten::no")->n_calls, 0);
	arena_done(&a);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_go_back_in_the_reverse_order),
		cmocka_unit_test(what_may_be_either_is_not_known),
		cmocka_unit_test(a_line_of_several_modules_tells_no_module),
		cmocka_unit_test(others_between_do_not_matter_where_the_order_tells),
		cmocka_unit_test(the_inner_of_one_name_made_the_node),
		cmocka_unit_test(operators_before_an_earlier_backward_are_found),
		cmocka_unit_test(what_is_not_known_does_not_spoil_the_rest),
		cmocka_unit_test(numbers_count_by_thread),
		cmocka_unit_test(rows_have_their_places),
		cmocka_unit_test(backward_has_the_line_forward),
		cmocka_unit_test(functions_have_no_line_unless_it_is_told),
		cmocka_unit_test(neighbours_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
