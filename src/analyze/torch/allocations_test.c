/* SPDX-License-Identifier: MIT
 * Memory over time in a hand-made training: levels, peaks, who allocated what, and what it was held for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/torch/allocations.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/unreleased.h"
#include "base/arena.h"

enum { CUDA = 1 };

static void allocate(struct op_events *x, int64_t t_ns, int64_t bytes, uint64_t address)
{
	vec_push(&x->memory,
		(struct op_memory){
			.t_ns = t_ns, .bytes = bytes, .address = address, .device_type = CUDA });
}

/* Forward 100–200 with an aten::empty in it, backward 300–400, the optimizer 500–600. */
static void make_training(struct op_events *x)
{
	op_rig_span(x, OP_ANNOTATION, "ProfilerStep#3", OP_RIG_THREAD, 90, 600);
	op_rig_operator(x, "aten::linear", 100, 100, 1);
	op_rig_operator(x, "aten::empty", 110, 10, 2);
	op_rig_operator(x, "autograd::engine::evaluate_function: AddmmBackward0", 300, 100, 3);
	op_rig_operator(x, "aten::mm", 310, 80, 4);
	op_rig_span(x, OP_ANNOTATION, "Optimizer.step#Adam.step", OP_RIG_THREAD, 500, 100);
	op_rig_operator(x, "aten::zeros_like", 510, 20, 5);
}

static const struct op_allocation *find(const struct op_allocations *s, uint64_t bytes)
{
	for (size_t i = 0; i < s->n_largest; i++)
		if (s->largest[i].bytes == bytes)
			return &s->largest[i];
	fail();
	return NULL;
}

static void what_an_allocation_was_for_follows_from_when_it_lived(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_allocations *s;

	(void)state;
	make_training(&x);
	allocate(&x, 115, 1000, 1); /* activation: until backward */
	allocate(&x, 150, 30, 2);   /* temporary: within its call */
	allocate(&x, 160, -30, 2);
	allocate(&x, 170, 40, 5); /* temporary: after its call, but before anything runs backward */
	allocate(&x, 250, -40, 5);
	allocate(&x, 320, 500, 3); /* gradient: outlives backward */
	allocate(&x, 380, -1000, 1);
	allocate(&x, 515, 200, 4); /* the optimizer's */
	s = op_allocations_build(&a, &x);
	assert_true(s->has_held);
	assert_int_equal(s->n_largest, 5);
	assert_int_equal(find(s, 1000)->held, OP_HELD_ACTIVATION);
	assert_string_equal(find(s, 1000)->operator_name, "aten::linear"); /* not aten::empty */
	assert_float_equal(find(s, 1000)->lived_s * 1e9, 265, 1e-6);
	assert_int_equal(find(s, 30)->held, OP_HELD_TEMPORARY);
	assert_int_equal(find(s, 40)->held, OP_HELD_TEMPORARY);
	assert_int_equal(find(s, 500)->held, OP_HELD_GRADIENT);
	assert_string_equal(find(s, 500)->operator_name, "aten::mm");
	assert_true(isnan(find(s, 500)->lived_s));
	assert_int_equal(find(s, 200)->held, OP_HELD_OPTIMIZER);
	assert_int_equal(s->largest[0].bytes, 1000);
	arena_done(&a);
	op_events_done(&x);
}

static void a_device_has_a_peak_and_what_it_consists_of(void **state)
{
	struct op_events x = { .zero_ns = 50 };
	struct arena a = ARENA_INIT;
	const struct op_allocations *s;
	const struct op_allocator *d;

	(void)state;
	make_training(&x);
	allocate(&x, 115, 1000, 1);
	allocate(&x, 320, 500, 3); /* the peak */
	allocate(&x, 380, -1000, 1);
	vec_push(&x.memory, (struct op_memory){ .t_ns = 390, .bytes = 64, .device = -1 });
	vec_push(&x.memory,
		(struct op_memory){
			.t_ns = 395, .bytes = 9999, .device_type = CUDA, .is_failure = 1 });
	s = op_allocations_build(&a, &x);
	assert_int_equal(s->n_devices, 2);
	d = &s->devices[0];
	assert_string_equal(d->name, "CUDA 0");
	assert_string_equal(s->devices[1].name, "CPU");
	assert_int_equal(d->n_allocations, 2);
	assert_int_equal(d->n_releases, 1);
	assert_int_equal(d->n_failures, 1);
	assert_int_equal(d->allocated_bytes, 1500);
	assert_int_equal(d->released_bytes, 1000);
	assert_int_equal(d->first_bytes, 0);
	assert_int_equal(d->last_bytes, 500);
	assert_int_equal(d->peak_bytes, 1500);
	assert_float_equal(d->peak_s * 1e9, 270, 1e-6);
	assert_string_equal(d->peak_operator, "aten::mm");
	assert_string_equal(d->peak_step, "ProfilerStep#3");
	assert_int_equal(d->at_peak_bytes[OP_HELD_ACTIVATION], 1000);
	assert_int_equal(d->at_peak_bytes[OP_HELD_GRADIENT], 500);
	assert_int_equal(d->at_peak_bytes[OP_HELD_BEFORE], 0);
	arena_done(&a);
	op_events_done(&x);
}

static void what_is_held_to_the_end_is_told_by_who_allocated_it_and_in_how_many_steps(void **state)
{
	static const struct op_step v[] = { { .start_ns = 90, .end_ns = 250 },
		{ .start_ns = 300, .end_ns = 600 } };
	struct op_steps steps = { .v = v, .n = 2 };
	struct op_events x = { .zero_ns = 50 };
	struct arena a = ARENA_INIT;
	const struct op_unreleased *u;

	(void)state;
	make_training(&x);
	allocate(&x, 115, 100, 1);
	allocate(&x, 120, 100, 2); /* released */
	allocate(&x, 150, -100, 2);
	allocate(&x, 130, 50, 3);  /* of the same operator, in the same step */
	allocate(&x, 320, 500, 4); /* in the other step */
	allocate(&x, 280, 70, 5);  /* of no operator and in no step */
	u = op_unreleased_build(&a, op_allocations_build(&a, &x), &steps, &x);
	assert_int_equal(u->n, 3);
	assert_int_equal(u->n_allocations, 4);
	assert_int_equal(u->bytes, 720);
	assert_string_equal(u->v[0].operator_name, "aten::mm");
	assert_int_equal(u->v[0].n_steps, 1);
	assert_string_equal(u->v[1].operator_name, "aten::linear");
	assert_int_equal(u->v[1].n_allocations, 2);
	assert_int_equal(u->v[1].bytes, 150);
	assert_int_equal(u->v[1].n_steps, 1);
	assert_float_equal(u->v[1].first_s * 1e9, 65, 1e-6);
	assert_float_equal(u->v[1].last_s * 1e9, 80, 1e-6);
	assert_string_equal(u->v[2].operator_name, "");
	assert_int_equal(u->v[2].n_steps, 0);
	/* Without an address nobody knows what a release released. */
	allocate(&x, 330, 8, 0);
	assert_null(op_unreleased_build(&a, op_allocations_build(&a, &x), &steps, &x));
	arena_done(&a);
	op_events_done(&x);
}

static void what_was_there_before_counts_where_a_record_says_so(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_allocations *s;

	(void)state;
	op_rig_operator(&x, "aten::linear", 0, 1000, 1);
	vec_push(&x.memory,
		(struct op_memory){ .t_ns = 100,
			.bytes = 100,
			.total_bytes = 4100,
			.reserved_bytes = 8192,
			.device_type = CUDA });
	vec_push(&x.memory,
		(struct op_memory){ .t_ns = 900,
			.bytes = -2000,
			.total_bytes = 2100,
			.reserved_bytes = 4096,
			.device_type = CUDA });
	s = op_allocations_build(&a, &x);
	assert_int_equal(s->devices[0].first_bytes, 4000);
	assert_int_equal(s->devices[0].peak_bytes, 4100);
	assert_int_equal(s->devices[0].last_bytes, 2100);
	assert_int_equal(s->devices[0].peak_reserved_bytes, 8192);
	assert_int_equal(s->devices[0].at_peak_bytes[OP_HELD_BEFORE], 4000);
	assert_float_equal(s->devices[0].curve[0], 4000, 0);
	assert_float_equal(s->devices[0].curve[OP_CURVE / 2], 4100, 0);
	assert_float_equal(s->devices[0].curve[OP_CURVE - 1], 2100, 0);
	assert_false(s->has_held); /* nothing backward */
	arena_done(&a);
	op_events_done(&x);
}

static void operators_are_told_with_what_they_allocated_themselves(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_allocations *s;

	(void)state;
	make_training(&x);
	allocate(&x, 115, 100, 1);
	allocate(&x, 130, 50, 2);
	allocate(&x, 315, -100, 1);
	allocate(&x, 50, 7, 3); /* of no operator */
	s = op_allocations_build(&a, &x);
	assert_int_equal(s->n_operators, 3);
	assert_string_equal(s->operators[0].name, "aten::linear");
	assert_int_equal(s->operators[0].n_allocations, 2);
	assert_int_equal(s->operators[0].allocated_bytes, 150);
	assert_string_equal(s->operators[1].name, "(no operator)");
	assert_string_equal(s->operators[2].name, "aten::mm");
	assert_int_equal(s->operators[2].released_bytes, 100);
	arena_done(&a);
	op_events_done(&x);
}

static void without_records_there_is_nothing(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;

	(void)state;
	op_rig_operator(&x, "aten::mm", 0, 10, 1);
	assert_int_equal(op_allocations_build(&a, &x)->n_devices, 0);
	arena_done(&a);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_allocation_was_for_follows_from_when_it_lived),
		cmocka_unit_test(a_device_has_a_peak_and_what_it_consists_of),
		cmocka_unit_test(
			what_is_held_to_the_end_is_told_by_who_allocated_it_and_in_how_many_steps),
		cmocka_unit_test(what_was_there_before_counts_where_a_record_says_so),
		cmocka_unit_test(operators_are_told_with_what_they_allocated_themselves),
		cmocka_unit_test(without_records_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
