/* SPDX-License-Identifier: MIT
 * Spans of traces as stacks: what lies in what, what is cut, begun and never ended, and whose thread it is. */
#include "analyze/torch/stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/origin.h"
#include "analyze/samples/stacks.h"
#include "analyze/torch/rig.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"

struct stacked {
	struct arena arena;
	struct reader *reader;
	struct tables *tables;
	const struct stacks *stacks;
	struct buf text; /* "tid root;leaf ns" a line, as stacks has them */
};

static struct stacked stack_up(struct op_events *x)
{
	static const struct stacks_options all = { 0 };
	static struct stack_frame frames[STACKS_DEPTH];
	struct stacked s = { 0 };
	struct err e = ERR_INIT;

	assert_int_equal(op_stacks_open(&s.reader, x, "x", &e), 0);
	assert_int_equal(tables_load(&s.tables, s.reader, &e), 0);
	s.stacks = stacks_build(&s.arena, s.tables, &all);
	for (size_t i = 0; i < s.stacks->n; i++) {
		const struct stack_place *p = &s.stacks->v[i];

		buf_printf(&s.text, "%u ", s.stacks->threads[p->thread].tid);
		for (size_t k = stacks_frames(s.stacks, i, frames); k-- > 0;)
			buf_printf(&s.text, "%s%s", frames[k].name, k ? ";" : "");
		buf_printf(&s.text, " %.0f\n", p->value * 1e9);
	}
	return s;
}

static void stacked_done(struct stacked *s)
{
	tables_free(s->tables);
	reader_close(s->reader);
	arena_done(&s->arena);
	buf_done(&s->text);
}

static void assert_has(const struct stacked *s, const char *line)
{
	if (!strstr(buf_str(&s->text), line))
		fail_msg("%s is not in\n%s", line, buf_str(&s->text));
}

static void other(struct op_events *x, char phase, const char *name, int64_t start, int64_t end)
{
	if (!x->others.texts.items.n)
		intern_adds(&x->others.texts, "");
	vec_push(&x->others.v,
		(struct op_other){ .phase = phase,
			.start_ns = start,
			.end_ns = end,
			.name = intern_adds(&x->others.texts, name),
			.track = intern_add(&x->others.tracks, OP_RIG_THREAD, NULL),
			.after = (uint32_t)x->v.n });
	x->others.n_spans += phase == 'X' || phase == 'B';
}

static void spans_of_torch_and_of_others_lie_in_each_other(void **state)
{
	struct op_events x = { 0 };
	struct stacked s;

	(void)state;
	op_rig_operator(&x, "inner", 1000200, 100, 1);
	other(&x, 'X', "step", 1000000, 1001000);
	other(&x, 'M', "worker", 0, 0);
	op_rig_operator(&x, "late", 1000900, 500, 2); /* reaches beyond step */
	op_rig_kernel(&x, "gemm", 1000300, 50, 1, 9);
	s = stack_up(&x);
	assert_has(&s, "1 step 800\n");
	assert_has(&s, "1 step;inner 100\n");
	assert_has(&s, "1 step;late 100\n");
	assert_has(&s, "20 gemm 50\n");
	assert_string_equal(s.stacks->threads[0].name, "worker");
	assert_string_equal(origin_build(&s.arena, s.tables).note,
		"1 events reach beyond the one they began in, and were cut there");
	stacked_done(&s);
	op_events_done(&x);
}

static void what_begins_ends_with_its_own_end_or_with_the_trace(void **state)
{
	struct op_events x = { 0 };
	struct stacked s;

	(void)state;
	other(&x, 'E', "", 5, 0); /* of nothing */
	other(&x, 'B', "open", 10, 0);
	other(&x, 'B', "in", 20, 0);
	other(&x, 'E', "", 50, 0);
	other(&x, 'B', "backwards", 60, 0);
	other(&x, 'E', "", 55, 0);
	other(&x, 'X', "last", 80, 100);
	s = stack_up(&x);
	assert_string_equal(buf_str(&s.text), "1 open 40\n1 open;in 30\n1 open;last 20\n");
	stacked_done(&s);
	op_events_done(&x);
}

/* Written wider than what it is around, and mended when it is read: of two with the same times it must be the outer one. */
static void an_annotation_of_the_device_is_around_its_kernel(void **state)
{
	struct op_events x = { 0 };
	struct stacked s;

	(void)state;
	op_rig_kernel(&x, "gemm", 300, 50, 1, 9);
	op_rig_span(&x, OP_DEVICE_ANNOTATION, "step", OP_RIG_STREAM, 300, 50);
	s = stack_up(&x);
	assert_string_equal(buf_str(&s.text), "20 step 2\n20 step;gemm 50\n");
	stacked_done(&s);
	op_events_done(&x);
}

static void times_at_the_ends_of_what_can_be_told_do_not_wrap(void **state)
{
	struct op_events x = { 0 };
	struct stacked s;

	(void)state;
	op_rig_operator(&x, "long", -INT64_C(9000000000000000000), INT64_MAX, 1);
	op_rig_operator(&x, "far", INT64_C(9000000000000000000), INT64_MAX, 2);
	s = stack_up(&x);
	assert_has(&s, "1 long 9223372036854775808\n"); /* the nearest double */
	assert_has(&s, "1 far 223372036854775808\n");
	stacked_done(&s);
	op_events_done(&x);
}

static void a_trace_without_spans_has_no_stacks(void **state)
{
	struct op_events x = { 0 };
	struct reader *r = NULL;
	struct err e = ERR_INIT;

	(void)state;
	other(&x, 'E', "", 5, 0);
	assert_int_equal(op_stacks_open(&r, &x, "x", &e), -ERR_BAD_FILE);
	assert_string_equal(e.text,
		"x: read as a chrome file: it holds no spans: no event has the phase X or B");
	assert_null(r);
	op_events_done(&x);
}

static void what_a_file_may_cost_is_kept_to(void **state)
{
	struct op_events x = { .budget = budget_for(1) };
	struct reader *r = NULL;
	struct err e = ERR_INIT;

	(void)state;
	op_rig_operator(&x, "a", 0, 1, 1);
	x.budget.bytes = x.budget.most_bytes - 1;
	assert_int_equal(op_stacks_open(&r, &x, "x", &e), -ERR_BAD_FILE);
	assert_non_null(strstr(e.text, "of memory, for a file of 1 B"));
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_of_torch_and_of_others_lie_in_each_other),
		cmocka_unit_test(what_begins_ends_with_its_own_end_or_with_the_trace),
		cmocka_unit_test(an_annotation_of_the_device_is_around_its_kernel),
		cmocka_unit_test(times_at_the_ends_of_what_can_be_told_do_not_wrap),
		cmocka_unit_test(a_trace_without_spans_has_no_stacks),
		cmocka_unit_test(what_a_file_may_cost_is_kept_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
