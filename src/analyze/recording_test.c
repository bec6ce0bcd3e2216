/* SPDX-License-Identifier: MIT
 * recording and selection: what is chosen, what is kept, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/recording.h"
#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

static void begin(struct rig *m)
{
	rig_begin(m);
	writer_add(m->w, RECORD_life,
		&(struct rec_life){
			.t_ns = rig_ns(0), .process = m->process, .event = LIFE_START });
}

/* Takes the rig's file. */
static struct recording *open_rig(struct rig *m)
{
	struct recording *r;

	rig_finish(m);
	tables_free(m->tables);
	r = recording_of_reader(m->reader, "made.lead");
	m->tables = NULL;
	m->reader = NULL;
	return r;
}

/* The first thread computes and waits, half of it each; the second only waits for work. */
static struct recording *sampled(struct rig *m)
{
	begin(m);
	m->names['w'] = "Condition.wait";
	m->files['w'] = "/usr/lib/python3.12/threading.py";
	for (uint64_t i = 0; i < 40; i++) {
		rig_sample(m, 10 * i, 0, i % 2 ? "mab" : "mac", i % 2 ? SAMPLE_ON_CPU : 0);
		rig_sample(m, 10 * i, 1, "tw", 0);
	}
	rig_end_process(m, 400, 0);
	return open_rig(m);
}

static double value_of(struct recording *r, struct choice c)
{
	struct selection *s = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(recording_select(r, &c, &s, &e), 0);
	return s->profile ? s->profile->value : 0;
}

static void assert_refused(struct recording *r, struct choice c, enum err_code code)
{
	struct selection *s = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(recording_select(r, &c, &s, &e), -(int)code);
	assert_null(strchr(e.text, '\n'));
}

static void a_choice_is_what_counts(void **state)
{
	struct rig m;
	struct recording *r = sampled(&m);
	static const char *const c[] = { "^c " };
	double all, idle;

	(void)state;
	all = value_of(r, (struct choice){ 0 });
	idle = value_of(r, (struct choice){ .idle = true });
	assert_true(fabs(all - 0.39) < 0.02);
	assert_true(fabs(idle - 2 * all) < 0.02);
	assert_true(fabs(value_of(r, (struct choice){ .state = STACKS_CPU }) - all / 2) < 0.02);
	assert_true(fabs(value_of(r, (struct choice){ .from_s = 0.1, .to_s = 0.2 }) - 0.1) < 0.03);
	/* Who asks for a thread gets all of it, idle or not. */
	assert_true(fabs(value_of(r, (struct choice){ .threads = "#2" }) - all) < 0.02);
	assert_true(fabs(value_of(r, (struct choice){ .processes = "10" }) - all) < 0.02);
	assert_true(fabs(value_of(r, (struct choice){ .shape.keep = { c, 1 } }) - all / 2) < 0.02);
	recording_free(r);
	rig_done(&m);
}

static void a_selection_is_made_once_and_the_oldest_goes(void **state)
{
	struct selection *first, *again, *other;
	struct err e = ERR_INIT;
	struct rig m;
	struct recording *r = sampled(&m);
	size_t n_kept = 0;

	(void)state;
	assert_int_equal(recording_select(r, &(struct choice){ 0 }, &first, &e), 0);
	assert_ptr_equal(selection_tree(first), selection_tree(first));
	for (int i = 1; i < 2 * RECORDING_SELECTIONS; i++) {
		assert_int_equal(
			recording_select(r, &(struct choice){ .from_s = 0.01 * i }, &other, &e), 0);
		assert_int_equal(recording_select(r, &(struct choice){ 0 }, &again, &e), 0);
		assert_ptr_equal(again, first);
	}
	for (size_t i = 0; i < RECORDING_SELECTIONS; i++)
		n_kept += r->selections[i] != NULL;
	assert_int_equal(n_kept, RECORDING_SELECTIONS);
	recording_free(r);
	rig_done(&m);
}

static void shortened_stacks_hold_the_same_value(void **state)
{
	struct selection *s;
	struct err e = ERR_INIT;
	struct rig m;
	struct recording *r = sampled(&m);

	(void)state;
	assert_int_equal(recording_select(r, &(struct choice){ .threads = "#1" }, &s, &e), 0);
	assert_true(fabs(selection_stacks_within(s, 1)->value - s->stacks->value) < 1e-9);
	recording_free(r);
	rig_done(&m);
}

static void what_cannot_be_said_is_refused(void **state)
{
	static const char *const bad[] = { "(" };
	struct rig m;
	struct recording *r = sampled(&m);

	(void)state;
	assert_refused(r, (struct choice){ .threads = "nobody" }, ERR_USAGE);
	assert_refused(r, (struct choice){ .processes = "77" }, ERR_USAGE);
	assert_refused(r, (struct choice){ .shape.focus = { bad, 1 } }, ERR_USAGE);
	assert_null(recording_torch(r));
	assert_true(recording_has_stacks(r));
	assert_string_equal(recording_damage(r), "");
	recording_free(r);
	rig_done(&m);

	begin(&m);
	rig_node(&m, 0, 'm', (struct rec_node){ .calls = 1, .self_ns = 1000 });
	rig_end_process(&m, 10, 0);
	r = open_rig(&m);
	assert_refused(r, (struct choice){ .state = STACKS_CPU }, ERR_UNSUPPORTED);
	assert_refused(r, (struct choice){ .to_s = 1 }, ERR_UNSUPPORTED);
	recording_free(r);
	rig_done(&m);
}

static void a_choice_in_words(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	choice_describe(&(struct choice){ 0 }, &b);
	assert_string_equal(buf_str(&b), "");
	choice_describe(
		&(struct choice){
			.state = STACKS_CPU, .only_mine = true, .threads = "#1", .to_s = 2 },
		&b);
	assert_string_equal(buf_str(&b), "on a CPU, only mine, thread #1, start to 2.00 s");
	buf_done(&b);
}

static void keys_of_rows(void **state)
{
	struct row_order o = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(row_order_parse("--sort", NULL, false, &o, &e), 0);
	assert_int_equal(o.order, PROFILE_SELF);
	assert_int_equal(row_order_parse("--sort", "cumtime", false, &o, &e), 0);
	assert_int_equal(o.order, PROFILE_TOTAL);
	assert_int_equal(row_order_parse("--sort", "ncalls", false, &o, &e), -ERR_UNSUPPORTED);
	assert_int_equal(row_order_parse("--sort", "ncalls", true, &o, &e), 0);
	assert_int_equal(row_order_parse("--sort", "speed", true, &o, &e), -ERR_USAGE);
	assert_non_null(strstr(e.text, "--sort expects"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_choice_is_what_counts),
		cmocka_unit_test(a_selection_is_made_once_and_the_oldest_goes),
		cmocka_unit_test(shortened_stacks_hold_the_same_value),
		cmocka_unit_test(what_cannot_be_said_is_refused),
		cmocka_unit_test(a_choice_in_words),
		cmocka_unit_test(keys_of_rows),
	};

	return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
