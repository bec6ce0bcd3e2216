/* SPDX-License-Identifier: MIT
 * Spans over time: rows by depth, slices that leave out nothing but names, and what leads from one span to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/torch/events.h"
#include "analyze/torch/flows.h"
#include "analyze/torch/timeline.h"
#include "base/arena.h"

static uint32_t add(struct op_events *x, enum op_category category, const char *track, size_t n,
	int64_t start_ns, int64_t duration_ns)
{
	struct op_event e = { .start_ns = start_ns,
		.duration_ns = duration_ns,
		.name = intern_adds(&x->names, "aten::mm"),
		.track = (uint16_t)intern_add(&x->tracks, track, n, NULL),
		.category = (uint8_t)category };

	vec_push(&x->v, e);
	return (uint32_t)x->v.n - 1;
}

#define THREAD "7\0001", 3
#define STREAM "0\00020", 4

static void spans_lie_in_rows_by_depth(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_timeline *t;
	uint32_t kernel = add(&x, OP_KERNEL, STREAM, 500, 10);
	uint32_t outer = add(&x, OP_CPU, THREAD, 100, 100);
	uint32_t inner = add(&x, OP_CPU, THREAD, 110, 20);
	uint32_t next = add(&x, OP_CPU, THREAD, 130, 20);
	uint32_t over = add(&x, OP_CPU, THREAD, 140, 200); /* reaches beyond the outer one */
	uint32_t last = add(&x, OP_CPU, THREAD, 400, 1);

	(void)state;
	t = op_timeline_build(&a, &x, false);
	assert_int_equal(t->n_lanes, 2);
	assert_false(t->lanes[0].is_device);
	assert_string_equal(t->lanes[0].process, "7");
	assert_string_equal(t->lanes[1].thread, "20");
	assert_int_equal(t->lanes[0].n_rows, 3);
	assert_int_equal(t->row_of[outer], 0);
	assert_int_equal(t->row_of[inner], 1);
	assert_int_equal(t->row_of[next], 1);
	assert_int_equal(t->row_of[over], 2);
	assert_int_equal(t->row_of[last], 0);
	assert_int_equal(t->row_of[kernel], 3);
	assert_int_equal(t->begin_ns, 100);
	assert_int_equal(t->end_ns, 510);
	arena_done(&a);
	op_events_done(&x);
}

static void what_reaches_beyond_its_step_pushes_no_other_down(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_timeline *t;
	uint32_t step = add(&x, OP_ANNOTATION, THREAD, 0, 100);
	uint32_t tail = add(&x, OP_CPU, THREAD, 90, 20);
	uint32_t next = add(&x, OP_ANNOTATION, THREAD, 100, 100);
	uint32_t early = add(&x, OP_CPU, THREAD, 101, 20), late = add(&x, OP_CPU, THREAD, 150, 20);

	(void)state;
	t = op_timeline_build(&a, &x, false);
	assert_int_equal(t->row_of[step], 0);
	assert_int_equal(t->row_of[tail], 1);
	assert_int_equal(t->row_of[next], 0);
	assert_int_equal(t->row_of[early], 2);
	assert_int_equal(t->row_of[late], 1);
	arena_done(&a);
	op_events_done(&x);
}

static void a_slice_holds_every_span_once(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_timeline *t;
	op_spans all = VEC_INIT;
	uint64_t n = 0;

	(void)state;
	for (int64_t i = 0; i < 100000; i++)
		add(&x, OP_CPU, THREAD, i * 10, i % 1000 == 500 ? 9 : 4);
	t = op_timeline_build(&a, &x, false);
	op_timeline_slice(t, &x, 0, 0, 1000000, 8, &all);
	vec_each (&all, s) {
		n += s->n;
		if (s->n == 1)
			assert_int_equal(s->end_ns - s->start_ns, x.v.v[s->event].duration_ns);
	}
	assert_int_equal(n, 100000);
	assert_true(all.n < 20000);
	n = 0; /* those that are long enough are told one by one */
	vec_each (&all, s)
		n += s->n == 1 && s->end_ns - s->start_ns == 9;
	assert_int_equal(n, 100);
	vec_clear(&all);
	op_timeline_slice(t, &x, 0, 5001, 5015, 1, &all); /* 5000–5009, 5010–5014 */
	assert_int_equal(all.n, 2);
	assert_int_equal(all.v[0].event, 500);
	vec_clear(&all);
	op_timeline_slice(t, &x, 0, 5015, 5020, 1, &all); /* between two */
	assert_int_equal(all.n, 0);
	vec_done(&all);
	arena_done(&a);
	op_events_done(&x);
}

static void flows_lead_to_kernels_and_to_autograd(void **state)
{
	struct op_events x = { 0 };
	struct arena a = ARENA_INIT;
	const struct op_flows *f;
	uint32_t found[4];
	uint32_t outer = add(&x, OP_CPU, THREAD, 0, 100), inner = add(&x, OP_CPU, THREAD, 10, 80);
	uint32_t launch = add(&x, OP_RUNTIME, THREAD, 20, 5);
	uint32_t backward = add(&x, OP_CPU, THREAD, 200, 50);
	uint32_t kernel = add(&x, OP_KERNEL, STREAM, 60, 5);

	(void)state;
	x.v.v[launch].detail = 77;
	vec_push(&x.device, (struct op_device){ .correlation = 77 });
	x.v.v[kernel].detail = 1;
	x.v.v[backward].is_backward = 1;
	vec_push(&x.sequences, (struct op_sequence){ outer, 5 });
	vec_push(&x.sequences, (struct op_sequence){ inner, 5 });
	vec_push(&x.sequences, (struct op_sequence){ backward, 5 });
	f = op_flows_build(&a, &x);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->v[0].from, launch);
	assert_int_equal(f->v[0].to, kernel);
	assert_int_equal(f->v[1].from, inner);
	assert_int_equal(f->v[1].to, backward);
	assert_true(f->v[1].is_backward);
	assert_int_equal(op_flows_of(f, &x, outer, 4, found), 2);
	assert_int_equal(op_flows_of(f, &x, outer, 0, found), 2);
	assert_int_equal(op_flows_of(f, &x, kernel, 4, found), 1);
	assert_int_equal(found[0], 0);
	arena_done(&a);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_lie_in_rows_by_depth),
		cmocka_unit_test(what_reaches_beyond_its_step_pushes_no_other_down),
		cmocka_unit_test(a_slice_holds_every_span_once),
		cmocka_unit_test(flows_lead_to_kernels_and_to_autograd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
