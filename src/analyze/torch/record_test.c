/* SPDX-License-Identifier: MIT
 * Operators in recordings: events taken apart and put together, and operators written one by one as a collector does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/stacks_rig.h"
#include "analyze/torch/event_json.h"
#include "analyze/torch/event_template.h"
#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "analyze/torch/tree.h"
#include "analyze/torch/waited.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/tables.h"
#include "store/writer.h"

static const struct op_template_own own = {
	.name = "a \"b\"", .n_name = 5, .ts_ns = 1234567, .duration_ns = 5, .link = 1000
};

static void take_and_fill(
	const char *json, bool is_span, const char *expected_form, const char *expected)
{
	struct buf form = BUF_INIT, numbers = BUF_INIT, out = BUF_INIT;

	op_template_take(json, strlen(json), is_span, own.link, &form, &numbers);
	if (expected_form)
		assert_string_equal(buf_str(&form), expected_form);
	assert_true(op_template_fill(form.data, form.n, numbers.data, numbers.n, &own, &out));
	assert_string_equal(buf_str(&out), expected);
	buf_done(&form);
	buf_done(&numbers);
	buf_done(&out);
}

static void an_event_is_a_form_and_numbers(void **state)
{
	(void)state;
	take_and_fill(
		"{ \"name\": \"x\", \"pid\": 7, \"ts\": 1.5, \"dur\": 9,\n \"args\": { \"Ev Idx\": 1003, "
		"\"Dims\": [[64, 3], []], \"x\": 0.25, \"y\": -12, \"z\": null, \"w\": \"1 2\" } }",
		true,
		"{\"name\":\001,\"pid\":7,\"ts\":\002,\"dur\":\003,\"args\":{\"Ev Idx\":\004,\"Dims\":[[64,3],[]],"
		"\"x\":\005,\"y\":\004,\"z\":null,\"w\":\"1 2\"}}",
		"{\"name\":\"a \\\"b\\\"\",\"pid\":7,\"ts\":1234.567,\"dur\":0.005,\"args\":{\"Ev Idx\":1003,\"Dims\":["
		"[64,3],[]],\"x\":0.25,\"y\":-12,\"z\":null,\"w\":\"1 2\"}}");
	take_and_fill("{\"ph\": \"s\", \"id\": 1001, \"ts\": 3, \"name\": \"f\", \"dur\": 1.5}",
		false, NULL,
		"{\"ph\":\"s\",\"id\":1001,\"ts\":1234.567,\"name\":\"f\",\"dur\":1.5}");
}

static void numbers_are_written_as_they_were(void **state)
{
	static const char *const cases[] = { "{\"a\":0}", "{\"a\":-0}", "{\"a\":007}",
		"{\"a\":123456789012345678}", "{\"a\":-123456789012345678}",
		"{\"a\":12345678901234567890123}", "{\"a\":1e9}",
		"{\"a\":{\"b\":[{\"c\":1}],\"d\":2}}", "{\"a\":\"\\\\\",\"b\":\"\\\"\"}", "{}" };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		take_and_fill(cases[i], false, NULL, cases[i]);
}

static void a_form_without_its_numbers_writes_nothing(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	buf_adds(&out, "as it was");
	assert_false(op_template_fill("[\004]", 3, "", 0, &own, &out));
	assert_false(op_template_fill("[\005]", 3, "\x7fx", 2, &own, &out));
	assert_false(op_template_fill("[]", 2, "\x02", 1, &own, &out));
	assert_string_equal(buf_str(&out), "as it was");
	buf_done(&out);
}

static void operators_of_a_program_stand_next_to_its_samples(void **state)
{
	struct op_events x = { .keeps_all = true };
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 10, 0, "ma", SAMPLE_ON_CPU);
	for (unsigned i = 0; i < 3; i++)
		writer_add(m.w, RECORD_op,
			&(struct rec_op){ .t_ns = rig_ns(11 + i),
				.duration_ns = 1000,
				.thread = m.threads[i % 2],
				.name = writer_string(m.w, "aten::mm"),
				.category = OP_CPU });
	rig_finish(&m);
	assert_int_equal(op_record_read(m.tables, &x, &e), 0);
	assert_int_equal(x.v.n, 3);
	assert_int_equal(x.names.items.n, 1);
	assert_int_equal(x.zero_ns, rig_ns(11));
	assert_int_equal(x.v.v[2].start_ns, rig_ns(13));
	assert_int_equal(x.v.v[0].track, x.v.v[2].track);
	assert_memory_equal(intern_get(&x.tracks, x.v.v[1].track)->p, "10\00011", 6);
	x.v.v[1].start_ns = 2500;
	op_event_json_print(&x, 1, &out);
	assert_string_equal(buf_str(&out),
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":10,\"tid\":11,\"ts\":2.500,\"dur\":1.000,\"args\":{}}");
	assert_int_equal(rig_profile_of(&m, (struct stacks_options){ 0 })->n_samples, 1);
	buf_done(&out);
	op_events_done(&x);
	rig_done(&m);
}

static void add_module(
	struct rig *m, uint32_t number, uint32_t parent, const char *class, const char *path)
{
	writer_add(m->w, RECORD_op_module,
		&(struct rec_op_module){ .process = m->process,
			.number = number,
			.parent = parent,
			.class = writer_string(m->w, class),
			.path = writer_string(m->w, path) });
}

static void add_op(struct rig *m, size_t thread, const char *name, uint64_t ms, uint64_t for_ms)
{
	writer_add(m->w, RECORD_op,
		&(struct rec_op){ .t_ns = rig_ns(ms),
			.duration_ns = for_ms * 1000000,
			.thread = m->threads[thread],
			.name = writer_string(m->w, name),
			.category = OP_CPU });
}

/* Of an event, ns; 0: it did not, or nobody knows. */
static int64_t waited_ns(const struct op_events *x, uint32_t event)
{
	for (size_t i = 0; i < x->waited.n; i++)
		if (x->waited.v[i].event == event)
			return x->waited.v[i].ns;
	return 0;
}

static void what_waited_for_a_cpu_is_told_from_what_is_slow(void **state)
{
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	struct ops_tree tree;
	int64_t *waits;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 10, 0, "ma", SAMPLE_ON_CPU);
	rig_usage(&m, 90, 0, 50, 5);
	rig_usage(&m, 600, 0, 80, 400);
	rig_usage(&m, 1110, 0, 150, 900);
	rig_usage(&m, 2500, 0, 1400, 950); /* it ran nearly all the time */
	rig_usage(&m, 4000, 0, 1410, 960); /* it slept */
	rig_usage(&m, 90, 1, 1, 1);
	add_op(&m, 0, "aten::linear", 100, 1000); /* –1100; the looks around it: 90 and 1110 */
	add_op(&m, 0, "aten::div", 120, 970);
	add_op(&m, 0, "aten::add", 130, 1);      /* too short to know */
	add_op(&m, 0, "aten::mm", 1200, 1250);   /* between 1110 and 2500 */
	add_op(&m, 0, "aten::item", 2600, 1200); /* between 2500 and 4000 */
	add_op(&m, 0, "aten::last", 3900, 500);  /* no look after it */
	add_op(&m, 1, "aten::other", 100, 1000); /* nor here */
	rig_finish(&m);
	assert_int_equal(op_record_read(m.tables, &x, &e), 0);
	assert_int_equal(waited_ns(&x, 0), INT64_C(895000000)); /* queued; it ran 100 ms of 1000 */
	/* 970 less 100 that it may have run */
	assert_int_equal(waited_ns(&x, 1), INT64_C(870000000));
	assert_int_equal(waited_ns(&x, 2), 0);
	assert_int_equal(waited_ns(&x, 3), 0);
	/* what it waited, not what it slept */
	assert_int_equal(waited_ns(&x, 4), INT64_C(10000000));
	assert_int_equal(waited_ns(&x, 5), 0);
	assert_int_equal(waited_ns(&x, 6), 0);
	ops_tree_init(&tree, &x, false);
	waits = op_waited_own(&tree);
	assert_int_equal(waits[0], INT64_C(25000000));
	assert_int_equal(waits[1], INT64_C(870000000));
	free(waits);
	ops_tree_done(&tree);
	op_events_done(&x);
	rig_done(&m);
}

static void a_recording_without_operators_says_so(void **state)
{
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 10, 0, "ma", SAMPLE_ON_CPU);
	rig_finish(&m);
	assert_int_equal(op_record_read(m.tables, &x, &e), -ERR_NOT_PREPARED);
	op_events_done(&x);
	rig_done(&m);
}

static void add_op_in(struct rig *m, uint32_t module)
{
	writer_add(m->w, RECORD_op,
		&(struct rec_op){ .t_ns = rig_ns(10),
			.duration_ns = 1000,
			.thread = m->threads[0],
			.name = writer_string(m->w, "aten::mm"),
			.module = module,
			.category = OP_CPU });
}

static const char *module_name(const struct op_events *x, size_t event)
{
	return event < x->modules.n && x->modules.v[event]
		? op_events_name(x, x->modules.v[event] - 1)
		: "";
}

static void operators_have_the_modules_that_were_told(void **state)
{
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	uint64_t path, parent;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_module(&m, 1, 0, "Net", "");
	add_module(&m, 2, 0, "Linear", ""); /* as it was first seen */
	add_module(&m, 2, 1, "Linear", "fc");
	add_module(&m, 3, 3, "Loop", "x"); /* nonsense: in itself */
	add_op_in(&m, 0);
	add_op_in(&m, 2);
	add_op_in(&m, 1);
	add_op_in(&m, 3);
	add_op_in(&m, 99);
	rig_finish(&m);
	assert_int_equal(op_record_read(m.tables, &x, &e), 0);
	assert_string_equal(module_name(&x, 0), "");
	assert_string_equal(module_name(&x, 1), "nn.Module: Linear_0");
	assert_string_equal(module_name(&x, 2), "nn.Module: Net_0");
	assert_string_equal(module_name(&x, 4), "");
	assert_true(map_find(&x.module_paths, x.modules.v[1] - 1, &path));
	assert_string_equal(op_events_name(&x, (uint32_t)path), "fc");
	assert_true(map_find(&x.module_parents, x.modules.v[1] - 1, &parent));
	assert_string_equal(op_events_name(&x, (uint32_t)parent), "nn.Module: Net_0");
	op_events_done(&x);
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_a_form_and_numbers),
		cmocka_unit_test(numbers_are_written_as_they_were),
		cmocka_unit_test(a_form_without_its_numbers_writes_nothing),
		cmocka_unit_test(operators_of_a_program_stand_next_to_its_samples),
		cmocka_unit_test(what_waited_for_a_cpu_is_told_from_what_is_slow),
		cmocka_unit_test(a_recording_without_operators_says_so),
		cmocka_unit_test(operators_have_the_modules_that_were_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
