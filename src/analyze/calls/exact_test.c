/* SPDX-License-Identifier: MIT
 * Exact calls on recordings made by hand, whose counts and times are known. Functions are letters. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/stacks_rig.h"
#include "store/writer.h"
#include "wire/records.h"

static const uint64_t MS = 1000000;

static const struct exact *build_again(struct rig *m, struct nodes_options o)
{
	struct frames *f = frames_new(&m->arena, m->tables);

	return exact_build(&m->arena, m->tables, f, nodes_build(&m->arena, m->tables, f, &o));
}

static const struct exact *build(struct rig *m)
{
	rig_finish(m);
	return build_again(m, (struct nodes_options){ 0 });
}

static uint32_t index_of(const struct exact *x, const char *name)
{
	for (uint32_t i = 0; i < x->n_functions; i++)
		if (strcmp(x->functions[i].name, name) == 0)
			return i;
	fail_msg("no function %s", name);
	return 0;
}

static const struct exact_function *get(const struct exact *x, const char *name)
{
	return &x->functions[index_of(x, name)];
}

static const struct exact_cost *edge(const struct exact *x, const char *caller, const char *callee)
{
	const struct exact_edge *edges;
	size_t n = exact_callers(x, index_of(x, callee), &edges);

	for (size_t i = 0; i < n; i++)
		if (edges[i].caller == index_of(x, caller))
			return &edges[i].cost;
	fail_msg("%s does not call %s", caller, callee);
	return NULL;
}

static void assert_ms(double seconds, double ms)
{
	if (fabs(seconds * 1000 - ms) > 1e-6)
		fail_msg("%g ms instead of %g ms", seconds * 1000, ms);
}

/* m calls f, which calls itself twice more on the way down: 1 outermost call, 3 in all. */
static void add_recursion(struct rig *m)
{
	rig_node(m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 100 * MS, .self_ns = 10 * MS });
	rig_node(m, 0, 'f',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 2,
			.inclusive_ns = 90 * MS,
			.self_ns = 20 * MS });
	rig_node(m, 0, 'f',
		(struct rec_node){ .id = 3,
			.parent = 2,
			.calls = 3,
			.inclusive_ns = 70 * MS,
			.self_ns = 30 * MS });
	rig_node(m, 0, 'f',
		(struct rec_node){ .id = 4,
			.parent = 3,
			.calls = 4,
			.inclusive_ns = 40 * MS,
			.self_ns = 40 * MS });
}

static void recursive_time_counts_once_per_outermost_activation(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_recursion(&m);
	x = build(&m);
	assert_int_equal(x->calls, 10);
	assert_int_equal(x->primitive_calls, 3);
	assert_int_equal(get(x, "f")->cost.calls, 9);
	assert_int_equal(get(x, "f")->cost.primitive_calls, 2);
	assert_ms(get(x, "f")->cost.total, 90);
	assert_ms(get(x, "f")->cost.self, 90);
	assert_ms(x->self, 100);
	/* The edge f → f has its own recursion: 3 calls entered it, 4 happened inside. */
	assert_int_equal(edge(x, "f", "f")->calls, 7);
	assert_int_equal(edge(x, "f", "f")->primitive_calls, 3);
	assert_ms(edge(x, "f", "f")->total, 70);
	assert_ms(edge(x, "f", "f")->self, 70);
	assert_int_equal(edge(x, "m", "f")->calls, 2);
	assert_ms(edge(x, "m", "f")->total, 90);
	rig_done(&m);
}

/* f ran already when tracing began, with calls of its own on the stack: its first call that was counted is primitive, and its time is
 * in that of the activation nobody saw begin. */
static void what_ran_already_is_no_call(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 1, .inclusive_ns = 90 * MS, .self_ns = 20 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){
			.id = 2, .parent = 1, .inclusive_ns = 70 * MS, .self_ns = 30 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 3,
			.parent = 2,
			.calls = 4,
			.inclusive_ns = 40 * MS,
			.self_ns = 30 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 4,
			.parent = 3,
			.calls = 1,
			.inclusive_ns = 10 * MS,
			.self_ns = 10 * MS });
	x = build(&m);
	assert_int_equal(get(x, "f")->cost.calls, 5);
	assert_int_equal(get(x, "f")->cost.primitive_calls, 4);
	assert_ms(get(x, "f")->cost.total, 90);
	assert_int_equal(edge(x, "f", "f")->primitive_calls, 4);
	rig_done(&m);
}

static void what_the_agents_counted_and_no_row_has_is_missing(void **state)
{
	static const struct {
		const char *counted;
		uint64_t missing;
	} cases[] = { { "10", 0 }, { "13", 3 }, { "7", 0 }, { "", 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig m;

		rig_begin(&m);
		add_recursion(&m);
		writer_meta(m.w, "trace_counted", cases[i].counted);
		assert_int_equal(build(&m)->n_missing, cases[i].missing);
		/* Of some threads it cannot be told. */
		assert_int_equal(build_again(&m, (struct nodes_options){ &m.threads[0], 1, false })
					 ->n_missing,
			0);
		rig_done(&m);
	}
}

static void mutual_recursion_is_recursion_of_both(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'a',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 60 * MS, .self_ns = 10 * MS });
	rig_node(&m, 0, 'b',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 1,
			.inclusive_ns = 50 * MS,
			.self_ns = 20 * MS });
	rig_node(&m, 0, 'a',
		(struct rec_node){ .id = 3,
			.parent = 2,
			.calls = 5,
			.inclusive_ns = 30 * MS,
			.self_ns = 30 * MS });
	x = build(&m);
	assert_int_equal(get(x, "a")->cost.calls, 6);
	assert_int_equal(get(x, "a")->cost.primitive_calls, 1);
	assert_ms(get(x, "a")->cost.total, 60);
	assert_int_equal(edge(x, "b", "a")->primitive_calls, 5);
	assert_ms(edge(x, "b", "a")->total, 30);
	rig_done(&m);
}

static void threads_have_stacks_of_their_own(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_recursion(&m);
	rig_node(&m, 1, 'f', /* the same id in another thread is another context */
		(struct rec_node){
			.id = 2, .calls = 100, .inclusive_ns = 5 * MS, .self_ns = 5 * MS });
	x = build(&m);
	assert_int_equal(get(x, "f")->cost.calls, 109);
	assert_int_equal(get(x, "f")->cost.primitive_calls, 102);
	x = build_again(&m, (struct nodes_options){ &m.threads[1], 1, false });
	assert_int_equal(x->n_functions, 1);
	assert_int_equal(x->calls, 100);
	rig_done(&m);
}

static void what_a_thread_does_outside_of_functions_is_nobodys(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_add(m.w, RECORD_node, /* neither code nor name: the thread itself */
		&(struct rec_node){ .thread = m.threads[0], .id = 1, .self_ns = 7 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 3,
			.inclusive_ns = 5 * MS,
			.self_ns = 5 * MS });
	x = build(&m);
	assert_int_equal(x->n_functions, 1);
	assert_int_equal(x->n_edges, 0);
	assert_int_equal(x->calls, 3);
	assert_ms(x->self, 5);
	rig_done(&m);
}

static void time_of_the_library_is_its_callers_when_only_mine_counts(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.files['L'] = "/usr/lib/python3.12/json/encoder.py";
	m.names['l'] = "<built-in method builtins.len>";
	rig_node(&m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 10 * MS, .self_ns = 1 * MS });
	rig_node(&m, 0, 'L',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 2,
			.inclusive_ns = 9 * MS,
			.self_ns = 2 * MS });
	rig_node(&m, 0, 'l',
		(struct rec_node){ .id = 3,
			.parent = 2,
			.calls = 3,
			.inclusive_ns = 3 * MS,
			.self_ns = 3 * MS });
	rig_node(&m, 0, 'b', /* called back by the library */
		(struct rec_node){ .id = 4,
			.parent = 2,
			.calls = 5,
			.inclusive_ns = 4 * MS,
			.self_ns = 4 * MS });
	rig_node(&m, 1, 'L',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 7 * MS, .self_ns = 7 * MS });
	rig_finish(&m);
	x = build_again(&m, (struct nodes_options){ .only_mine = true });
	assert_int_equal(x->n_functions, 3);
	assert_ms(get(x, "m")->cost.self, 6);
	assert_ms(get(x, "m")->cost.total, 10);
	assert_int_equal(edge(x, "m", "b")->calls, 5);
	assert_ms(get(x, "[library]")->cost.self, 7);
	rig_done(&m);
}

static void rig_call(
	struct rig *m, int function, uint64_t id, uint64_t parent, uint64_t total, uint64_t own)
{
	rig_node(m, 0, function,
		(struct rec_node){ .id = (uint32_t)id,
			.parent = (uint32_t)parent,
			.calls = 1,
			.inclusive_ns = total * MS,
			.self_ns = own * MS });
}

/* m calls c, which calls d, and the library, which calls b: without the library d lies between what m calls. */
static void what_the_library_calls_counts_once_when_only_mine_counts(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.files['L'] = "/usr/lib/python3.12/json/encoder.py";
	rig_call(&m, 'm', 1, 0, 10, 1);
	rig_call(&m, 'c', 2, 1, 4, 1);
	rig_call(&m, 'L', 3, 1, 5, 2);
	rig_call(&m, 'd', 4, 2, 3, 3);
	rig_call(&m, 'b', 5, 3, 3, 3);
	rig_finish(&m);
	x = build_again(&m, (struct nodes_options){ .only_mine = true });
	assert_int_equal(x->n_functions, 4);
	assert_ms(x->self, 10);
	assert_int_equal(x->calls, 4);
	assert_ms(get(x, "d")->cost.self, 3);
	assert_ms(get(x, "m")->cost.total, 10);
	rig_done(&m);
}

static void neighbours_have_the_calls_between_the_two(void **state)
{
	const struct neighbours *n;
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_recursion(&m);
	x = build(&m);
	n = exact_neighbours(&m.arena, x, get(x, "f")->function);
	assert_int_equal(n->total_n, 9);
	assert_int_equal(n->n_callers, 2);
	assert_int_equal(n->callers[0].n, 2); /* m, by time */
	assert_ms(n->callers[0].value, 90);
	assert_int_equal(n->callers[1].n, 7);
	assert_int_equal(n->n_callees, 2);
	assert_true(n->callees[0].is_none);
	assert_ms(n->callees[0].value, 90);
	rig_done(&m);
}

static void the_last_record_of_a_context_counts(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 1; i <= 3; i++)
		rig_node(&m, 0, 'f',
			(struct rec_node){ .id = 1,
				.calls = i * 10,
				.inclusive_ns = i * MS,
				.self_ns = i * MS });
	x = build(&m);
	assert_int_equal(x->calls, 30);
	assert_ms(x->self, 3);
	rig_done(&m);
}

static void resumptions_are_counted_apart(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'm', (struct rec_node){ .id = 1, .calls = 1, .inclusive_ns = 9 * MS });
	rig_node(&m, 0, 'g',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 1,
			.resumes = 7,
			.awaited_ns = 4 * MS,
			.inclusive_ns = 3 * MS,
			.self_ns = 3 * MS });
	x = build(&m);
	assert_int_equal(get(x, "g")->cost.calls, 1);
	assert_int_equal(get(x, "g")->cost.resumes, 7);
	assert_int_equal(edge(x, "m", "g")->resumes, 7);
	assert_ms(get(x, "g")->awaited_s, 4);
	assert_int_equal(x->resumes, 7);
	rig_done(&m);
}

static void the_cost_of_tracing_is_taken_off(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.names['l'] = "<built-in method builtins.len>";
	writer_meta(m.w, "trace_cost_ns", "1000000 500000.00 100000.00 200000");
	rig_node(&m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 100 * MS, .self_ns = 50 * MS });
	rig_node(&m, 0, 'l',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 10,
			.inclusive_ns = 50 * MS,
			.self_ns = 50 * MS });
	x = build(&m);
	assert_true(x->is_calibrated);
	/* 1e6 ns is more than any event costs: not believed. The C calls cost 10 · 0.1 and 10 · 0.2 ms. */
	assert_ms(get(x, "m")->cost.self, 48);
	assert_ms(get(x, "m")->cost.raw.self_s, 50);
	assert_ms(get(x, "{built-in method builtins.len}")->cost.self, 49);
	assert_ms(get(x, "m")->cost.total, 97);
	assert_false(exact_is_bound(exact_self(get(x, "m"))));
	assert_int_equal(x->n_events, 11);
	rig_done(&m);
}

static void sums_of_the_agent_count_before_means(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_meta(m.w, "trace_cost_ns", "1000 1000 1000 1000");
	rig_node(&m, 0, 'm',
		(struct rec_node){ .id = 1,
			.calls = 1,
			.inclusive_ns = 100 * MS,
			.self_ns = 50 * MS,
			.cost_ns = 5 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 10000,
			.inclusive_ns = 50 * MS,
			.self_ns = 50 * MS,
			.cost_ns = 30 * MS });
	x = build(&m);
	assert_ms(get(x, "m")->cost.self, 45);
	assert_ms(get(x, "f")->cost.self, 20);
	assert_ms(get(x, "m")->cost.total, 65);
	assert_true(exact_is_bound(exact_self(get(x, "f"))));
	rig_done(&m);
}

static void a_cost_beyond_a_callees_time_is_its_callers(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_meta(m.w, "trace_cost_ns", "1000 1000 1000 1000");
	rig_node(&m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 100 * MS, .self_ns = 90 * MS });
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 1000,
			.inclusive_ns = 10 * MS,
			.self_ns = 10 * MS,
			.cost_ns = 30 * MS });
	x = build(&m);
	assert_ms(get(x, "f")->cost.self, 0);
	assert_ms(get(x, "m")->cost.self, 70);
	assert_ms(get(x, "m")->cost.total, 70);
	rig_done(&m);
}

static void a_cost_that_is_not_known_is_not_taken_off(void **state)
{
	static const char *const errors[] = { "0.24 1.00", "0.26 1.00", "nan", "inf" };

	(void)state;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		const struct exact *x;
		struct rig m;

		rig_begin(&m);
		writer_meta(m.w, "trace_cost_ns", "20000 0 0 0");
		writer_meta(m.w, "trace_cost_error", errors[i]);
		rig_node(&m, 0, 'f',
			(struct rec_node){ .id = 1,
				.calls = 100,
				.inclusive_ns = 10 * MS,
				.self_ns = 10 * MS });
		x = build(&m);
		assert_ms(get(x, "f")->cost.self, i == 0 ? 8 : 10);
		rig_done(&m);
	}
}

static void slower_code_is_told_of_within_reason(void **state)
{
	static const struct {
		const char *said;
		double believed;
	} cases[] = { { "1.625", 1.625 }, { "0.5", 1 }, { "99", 1 }, { "nan", 1 }, { "", 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct exact *x;
		struct rig m;

		rig_begin(&m);
		writer_meta(m.w, "trace_code_slower", cases[i].said);
		rig_node(&m, 0, 'f', (struct rec_node){ .id = 1, .calls = 1, .self_ns = MS });
		x = build(&m);
		assert_true(x->nodes->code_slower == cases[i].believed);
		assert_false(x->is_calibrated);
		rig_done(&m);
	}
}

/* low ≤ corrected ≤ high ≤ as stamped, for whatever a function has. */
static void assert_ordered(const struct exact_function *f)
{
	struct interval self = exact_self(f), total = exact_total(f);

	assert_true(self.low >= 0 && self.low <= f->cost.self);
	assert_true(f->cost.self <= self.high && self.high <= f->cost.raw.self_s);
	assert_true(total.low >= 0 && total.low <= f->cost.total);
	assert_true(f->cost.total <= total.high && total.high <= f->cost.raw.total_s);
}

static void a_corrected_time_has_an_interval(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.names['l'] = "<built-in method builtins.len>";
	writer_meta(m.w, "trace_cost_ns", "10 50 20 30 10 40");
	writer_meta(m.w, "trace_cost_error", "0.08 1.20");
	rig_node(&m, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .inclusive_ns = 100 * MS, .self_ns = 50 * MS });
	rig_node(&m, 0, 'f', /* 60 ns of tracing a call, in 2 µs */
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = 10000,
			.resumes = 10,
			.inclusive_ns = 30 * MS,
			.self_ns = 20 * MS });
	rig_node(&m, 0, 'l', /* mostly tracing */
		(struct rec_node){ .id = 3,
			.parent = 2,
			.calls = 200000,
			.inclusive_ns = 10 * MS,
			.self_ns = 10 * MS });
	x = build(&m);
	for (size_t i = 0; i < x->n_functions; i++)
		assert_ordered(&x->functions[i]);
	assert_false(exact_is_bound(exact_self(get(x, "m"))));
	assert_true(exact_is_bound(exact_self(get(x, "{built-in method builtins.len}"))));
	assert_true(x->self_interval.low < x->self && x->self < x->self_interval.high);
	assert_true(x->self_interval.high <= x->raw_self);
	/* The sum is known better than each of its parts: what is on the wrong side of a stamp is in it. */
	assert_true(x->self_interval.high - x->self_interval.low <
		exact_total(get(x, "m")).high - exact_total(get(x, "m")).low + 1e-6);
	assert_true(edge(x, "m", "f")->low.total_s < edge(x, "m", "f")->total);
	rig_done(&m);
}

static void what_is_not_corrected_has_no_interval(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 1, .calls = 9, .inclusive_ns = MS, .self_ns = MS });
	x = build(&m);
	assert_false(units_is_known(exact_self(get(x, "f")).low));
	assert_false(units_is_known(exact_total(get(x, "f")).high));
	assert_false(exact_is_bound(exact_self(get(x, "f"))));
	assert_false(units_is_known(x->self_interval.low));
	rig_done(&m);
}

static void a_cost_that_is_not_known_leaves_bounds(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_meta(m.w, "trace_cost_ns", "20000 0 0 0");
	writer_meta(m.w, "trace_cost_error", "0.4 1.00");
	rig_node(&m, 0, 'f',
		(struct rec_node){
			.id = 1, .calls = 200, .inclusive_ns = 10 * MS, .self_ns = 10 * MS });
	x = build(&m);
	assert_ms(get(x, "f")->cost.self, 10);
	assert_ms(exact_self(get(x, "f")).high, 10);
	/* 4 of its 10 ms may be tracing, and more */
	assert_true(exact_self(get(x, "f")).low < 0.006);
	assert_true(exact_is_bound(exact_self(get(x, "f"))));
	rig_done(&m);
}

/* Each at what its kind costs, also where the agent has summed up the mean of both. */
static void methods_of_c_types_cost_what_they_cost(void **state)
{
	(void)state;
	for (int has_sums = 0; has_sums < 2; has_sums++) {
		uint64_t sum_ns = has_sums ? 10 * MS : 0;
		const struct exact *x;
		struct rig m;

		rig_begin(&m);
		m.names['l'] = "<built-in method builtins.len>";
		m.names['a'] = "<method 'append' of 'list' objects>";
		writer_meta(m.w, "trace_cost_ns", "0 0 100 0");
		writer_meta(m.w, "trace_cost_c", "0.6 1.5");
		rig_node(&m, 0, 'l',
			(struct rec_node){ .id = 1,
				.calls = 100000,
				.inclusive_ns = 30 * MS,
				.self_ns = 30 * MS,
				.cost_ns = sum_ns });
		rig_node(&m, 0, 'a',
			(struct rec_node){ .id = 2,
				.calls = 100000,
				.inclusive_ns = 30 * MS,
				.self_ns = 30 * MS,
				.cost_ns = sum_ns });
		x = build(&m);
		assert_ms(get(x, "{built-in method builtins.len}")->cost.self, 24);
		assert_ms(get(x, "{method 'append' of 'list' objects}")->cost.self, 15);
		rig_done(&m);
	}
}

/* Looks at the CPU's pace are in what a node says its tracing cost; a call's cost is not more for that. */
static void rare_calls_cost_what_a_call_costs(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_meta(m.w, "trace_cost_ns", "20 60 20 40 20 40");
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 1,
			.calls = 100,
			.inclusive_ns = 1000 * MS,
			.self_ns = 1000 * MS,
			.cost_ns = 1560000 });
	x = build(&m);
	assert_true(x->event_s < 100e-9);
	assert_ms(x->cost_s, 1.56);
	rig_done(&m);
}

static void a_row_that_is_mostly_cost_is_known_by_bounds(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	writer_meta(m.w, "trace_cost_ns", "60 0 0 0");
	rig_node(&m, 0, 'f',
		(struct rec_node){
			.id = 1, .calls = 1000, .inclusive_ns = 100000, .self_ns = 100000 });
	rig_node(&m, 0, 'g',
		(struct rec_node){ .id = 2, .calls = 1000, .inclusive_ns = 1000, .self_ns = 1000 });
	x = build(&m);
	assert_true(exact_is_bound(exact_self(get(x, "f"))));
	assert_ms(get(x, "f")->cost.self, 0.04);
	assert_true(exact_is_bound(exact_self(get(x, "g"))) || exact_self(get(x, "g")).high == 0);
	assert_ms(get(x, "g")->cost.self, 0); /* never below */
	rig_done(&m);
}

static void quantiles_lie_in_their_bucket(void **state)
{
	/* 90 calls of 1024 … 2047 ns, 10 of 65536 … 131071 ns. */
	static const unsigned char counts[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 0, 0,
		10 };
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'f',
		(struct rec_node){ .id = 1,
			.calls = 100,
			.min_ns = 1100,
			.max_ns = 70000,
			.histogram = { counts, sizeof counts } });
	x = build(&m);
	assert_true(get(x, "f")->p50_s >= 1024e-9 && get(x, "f")->p50_s < 2048e-9);
	assert_true(get(x, "f")->p99_s >= 65536e-9 && get(x, "f")->p99_s <= 70000e-9);
	assert_ms(get(x, "f")->min_s, 0.0011);
	assert_ms(get(x, "f")->max_s, 0.07);
	rig_done(&m);
}

/* A generator that was given up, a thread that still runs. */
static void without_a_call_that_ended_the_longest_is_not_known(void **state)
{
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'g', (struct rec_node){ .id = 1, .calls = 2, .self_ns = 5000 });
	x = build(&m);
	assert_true(isnan(get(x, "g")->max_s) && isnan(get(x, "g")->min_s));
	rig_done(&m);
}

static void contexts_that_are_their_own_ancestors_are_left_out(void **state)
{
	static const unsigned char endless[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255, 255 };
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_node(&m, 0, 'a', (struct rec_node){ .id = 1, .parent = 2, .calls = 1 });
	rig_node(&m, 0, 'b', (struct rec_node){ .id = 2, .parent = 1, .calls = 1 });
	rig_node(&m, 0, 'c', (struct rec_node){ .id = 3, .parent = 3, .calls = 1 });
	rig_node(&m, 0, 'd', /* an orphan */
		(struct rec_node){ .id = 4,
			.parent = 99,
			.calls = 5,
			.recursive_calls = 50,
			.histogram = { endless, sizeof endless } });
	x = build(&m);
	assert_int_equal(x->n_functions, 1);
	assert_int_equal(x->calls, 5);
	assert_int_equal(x->primitive_calls, 0);
	rig_done(&m);
}

static void totals_of_other_tools_are_taken_as_they_are(void **state)
{
	struct rec_call_total r = {
		.calls = 9, .primitive_calls = 2, .self_s = 0.25, .total_s = 1.5
	};
	const struct exact *x;
	struct rig m;

	(void)state;
	rig_begin(&m);
	r.builtin = writer_string(m.w, "<built-in method time.sleep>");
	writer_add(m.w, RECORD_call_total, &r);
	r.is_edge = 1;
	r.calls = 4;
	r.caller_builtin = writer_string(m.w, "<method 'x' of 'y' objects>");
	writer_add(m.w, RECORD_call_total, &r);
	x = build(&m);
	assert_int_equal(get(x, "{built-in method time.sleep}")->cost.calls, 9);
	assert_ms(get(x, "{built-in method time.sleep}")->cost.total, 1500);
	assert_true(isnan(get(x, "{built-in method time.sleep}")->max_s));
	assert_int_equal(
		edge(x, "{method 'x' of 'y' objects}", "{built-in method time.sleep}")->calls, 4);
	assert_false(x->has_contexts);
	rig_done(&m);
}

static void a_recording_of_samples_has_no_exact_calls(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "mf", 0);
	assert_null(build(&m));
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursive_time_counts_once_per_outermost_activation),
		cmocka_unit_test(what_ran_already_is_no_call),
		cmocka_unit_test(what_the_agents_counted_and_no_row_has_is_missing),
		cmocka_unit_test(mutual_recursion_is_recursion_of_both),
		cmocka_unit_test(threads_have_stacks_of_their_own),
		cmocka_unit_test(what_a_thread_does_outside_of_functions_is_nobodys),
		cmocka_unit_test(time_of_the_library_is_its_callers_when_only_mine_counts),
		cmocka_unit_test(what_the_library_calls_counts_once_when_only_mine_counts),
		cmocka_unit_test(neighbours_have_the_calls_between_the_two),
		cmocka_unit_test(the_last_record_of_a_context_counts),
		cmocka_unit_test(resumptions_are_counted_apart),
		cmocka_unit_test(the_cost_of_tracing_is_taken_off),
		cmocka_unit_test(sums_of_the_agent_count_before_means),
		cmocka_unit_test(a_cost_beyond_a_callees_time_is_its_callers),
		cmocka_unit_test(a_cost_that_is_not_known_is_not_taken_off),
		cmocka_unit_test(slower_code_is_told_of_within_reason),
		cmocka_unit_test(a_row_that_is_mostly_cost_is_known_by_bounds),
		cmocka_unit_test(a_corrected_time_has_an_interval),
		cmocka_unit_test(what_is_not_corrected_has_no_interval),
		cmocka_unit_test(a_cost_that_is_not_known_leaves_bounds),
		cmocka_unit_test(rare_calls_cost_what_a_call_costs),
		cmocka_unit_test(methods_of_c_types_cost_what_they_cost),
		cmocka_unit_test(quantiles_lie_in_their_bucket),
		cmocka_unit_test(without_a_call_that_ended_the_longest_is_not_known),
		cmocka_unit_test(contexts_that_are_their_own_ancestors_are_left_out),
		cmocka_unit_test(totals_of_other_tools_are_taken_as_they_are),
		cmocka_unit_test(a_recording_of_samples_has_no_exact_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
