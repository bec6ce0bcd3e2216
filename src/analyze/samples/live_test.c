/* SPDX-License-Identifier: MIT
 * live on a hand-made recording that grows while it is looked at; what it says of all of it must be what
 * stacks and profile say when they read it afterwards. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/samples/live.h"
#include "analyze/samples/profile.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

static const uint64_t START_NS = 5000000000, MS = 1000000;
static const int BUSY = SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL;

struct made {
	struct writer *w;
	struct reader *reader;
	struct tables *tables;
	struct live *live;
};

static uint32_t process_row(struct made *m)
{
	return writer_row(m->w, RECORD_process,
		&(struct rec_process){ .pid = 10, .command = writer_string(m->w, "python3 x.py") });
}

/* As the two collectors do it: the host's rows of threads have a start and a name. */
static uint32_t thread_row(struct made *m, uint32_t tid, bool is_hosts)
{
	return writer_row(m->w, RECORD_thread,
		&(struct rec_thread){ .process = process_row(m),
			.tid = tid,
			.start_ns = is_hosts ? 99 : 0,
			.name = is_hosts ? writer_string(m->w, "worker") : 0 });
}

static int begin(void **state)
{
	static struct made m;
	struct err e = ERR_INIT;

	assert_int_equal(writer_open(&m.w, NULL, NULL, &e), 0);
	assert_int_equal(reader_open_fd(&m.reader, dup(writer_fd(m.w)), "made", &e), 0);
	assert_int_equal(tables_load(&m.tables, m.reader, &e), 0);
	m.live = live_new(m.tables);
	writer_add(m.w, RECORD_life,
		&(struct rec_life){
			.t_ns = START_NS, .process = process_row(&m), .event = LIFE_START });
	*state = &m;
	return 0;
}

static int end(void **state)
{
	struct made *m = *state;
	struct err e = ERR_INIT;

	live_free(m->live);
	tables_free(m->tables);
	reader_close(m->reader);
	return writer_close(m->w, &e);
}

static uint32_t code(struct made *m, char function)
{
	const char name[] = { function, '\0' };

	return writer_row(m->w, RECORD_code,
		&(struct rec_code){ .file = writer_string(m->w, "x.py"),
			.qualname = writer_string(m->w, name),
			.first_line = (uint32_t)function });
}

/* At `ms` a thread is in this chain of functions (letters), root first. */
static void sample(struct made *m, uint64_t ms, uint32_t tid, const char *chain, int bits)
{
	struct rec_sample r = { .t_ns = START_NS + ms * MS,
		.thread = thread_row(m, tid, false),
		.state = (uint16_t)bits };

	for (; chain[1]; chain++)
		r.stack = writer_row(m->w, RECORD_stack,
			&(struct rec_stack){ .parent = r.stack,
				.frame = writer_row(m->w, RECORD_frame,
					&(struct rec_frame){
						.tag = FRAME_PY, .code = code(m, *chain) }) });
	r.leaf_code = code(m, *chain);
	writer_add(m->w, RECORD_sample, &r);
}

static void samples(
	struct made *m, uint64_t from_ms, uint64_t to_ms, uint32_t tid, const char *chain, int bits)
{
	for (uint64_t ms = from_ms; ms < to_ms; ms++)
		sample(m, ms, tid, chain, bits);
}

static const struct live_view *look(struct made *m, struct live_select s)
{
	struct err e = ERR_INIT;

	writer_flush(m->w);
	assert_int_equal(live_refresh(m->live, &e), 0);
	return live_build(m->live, &s);
}

static const struct live_row *function(const struct live_view *v, const char *name)
{
	static const struct live_row none;

	for (size_t i = 0; i < v->n_functions; i++)
		if (strcmp(v->functions[i].name, name) == 0)
			return &v->functions[i];
	return &none;
}

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		printf("got %g, want %g\n", got, want);
	assert_true(fabs(got - want) <= within);
}

static const struct live_select ALL = { .state = STACKS_WALL, .window_s = 1 };

/* One look takes the threads one after another, each with its own time. */
static void the_rate_is_that_of_looks_and_not_of_threads(void **state)
{
	struct made *m = *state;

	for (uint64_t ms = 0; ms < 2000; ms += 2) {
		sample(m, ms, 10, "mab", BUSY);
		sample(m, ms + 1, 11, "mc", BUSY);
	}
	assert_near(look(m, ALL)->rate_hz, 500, 10);
}

static void now_is_the_window_and_since_is_all(void **state)
{
	struct made *m = *state;
	const struct live_view *v;

	samples(m, 0, 2000, 10, "mab", BUSY);
	v = look(m, ALL);
	assert_near(function(v, "b")->now.self_s, v->window_s, 0.002);
	samples(m, 2000, 4000, 10, "mac", BUSY);
	v = look(m, ALL);
	assert_near(v->window_s, 1.1, 0.2);
	assert_near(function(v, "b")->now.total_s, 0, 0.002);
	assert_near(function(v, "c")->now.self_s, v->window_s, 0.002);
	assert_near(function(v, "a")->now.total_s, v->window_s, 0.002);
	assert_near(function(v, "b")->since.self_s, 2, 0.002);
	assert_near(function(v, "c")->since.self_s, 2, 0.002);
	assert_near(function(v, "m")->since.total_s, 4, 0.002);
	assert_near(function(v, "m")->since.self_s, 0, 1e-9);
	assert_near(v->rate_hz, 1000, 10);
	assert_near(v->gil, 1, 0.01);
	assert_int_equal(v->n_samples, 4000);
}

static void recursion_counts_once(void **state)
{
	struct made *m = *state;
	const struct live_view *v;

	samples(m, 0, 1000, 10, "mrrr", BUSY);
	v = look(m, ALL);
	assert_near(function(v, "r")->since.total_s, 1, 0.002);
	assert_near(function(v, "r")->since.self_s, 1, 0.002);
}

static void thread_and_state_are_chosen_later(void **state)
{
	struct made *m = *state;
	const struct live_view *v;

	for (uint64_t ms = 0; ms < 1000; ms++) {
		sample(m, ms, 10, "ma", BUSY);
		sample(m, ms, 11, "mw", 0);
	}
	v = look(m, ALL);
	assert_near(v->selected_since, 2, 0.003);
	assert_near(v->rate_hz, 1000, 10);
	v = look(m, (struct live_select){ .state = STACKS_CPU, .window_s = 1 });
	assert_near(function(v, "a")->since.self_s, 1, 0.002);
	assert_near(function(v, "w")->since.total_s, 0, 1e-9);
	v = look(m, (struct live_select){ .state = STACKS_WAIT, .window_s = 1 });
	assert_near(function(v, "w")->now.self_s, 1, 0.002);
	assert_near(function(v, "a")->now.total_s, 0, 1e-9);
	v = look(m,
		(struct live_select){ .state = STACKS_WALL, .pid = 10, .tid = 11, .window_s = 1 });
	assert_near(v->selected_since, 1, 0.002);
	assert_near(function(v, "w")->since.self_s, 1, 0.002);
	assert_int_equal(v->n_live_threads, 2);
	assert_string_equal(v->threads[1].at.name, "w");
}

static void since_can_begin_anew(void **state)
{
	struct made *m = *state;
	const struct live_view *v;

	samples(m, 0, 1000, 10, "ma", BUSY);
	look(m, ALL);
	live_reset(m->live);
	samples(m, 1000, 1500, 10, "mb", BUSY);
	v = look(m, ALL);
	assert_near(v->since_s, 0.5, 0.002);
	assert_near(function(v, "b")->since.self_s, 0.5, 0.002);
	assert_near(function(v, "a")->since.self_s, 0, 0.002);
	assert_near(function(v, "a")->now.self_s, 0.75, 0.3); /* still in the window */
}

/* Looked at many times, in another way each time. */
static void the_sum_of_all_looks_is_the_profile(void **state)
{
	static const char *const chains[] = { "mabc", "mab", "mdb", "mdddb", "m" };
	struct made *m = *state;
	struct arena a = ARENA_INIT;

	for (uint64_t ms = 0; ms < 3000; ms++) {
		sample(m, ms + ms % 3, 10 + (uint32_t)(ms % 7 == 0), chains[(ms / 10 + ms % 2) % 5],
			ms % 4 ? BUSY : 0);
		if (ms % 113 == 0)
			look(m,
				(struct live_select){ .state = (enum stacks_state)(ms / 113 % 4),
					.window_s = 0.5 });
	}
	for (int s = STACKS_WALL; s <= STACKS_WAIT; s++) {
		const struct live_view *v = look(
			m, (struct live_select){ .state = (enum stacks_state)s, .window_s = 60 });
		const struct profile *p = profile_build(&a,
			stacks_build(&a, m->tables,
				&(struct stacks_options){ .state = (enum stacks_state)s }));

		assert_near(v->selected_since, p->value, 1e-6);
		for (size_t i = 0; i < p->n_functions; i++) {
			const struct live_row *f = function(v, p->functions[i].name);

			assert_near(f->since.self_s, p->functions[i].cost.self_value, 1e-6);
			assert_near(f->since.total_s, p->functions[i].cost.total_value, 1e-6);
			assert_near(f->now.total_s, p->functions[i].cost.total_value, 1e-6);
		}
	}
	arena_done(&a);
}

static void the_host_tells_cpu_memory_and_the_end(void **state)
{
	struct made *m = *state;
	const struct live_view *v;

	for (uint64_t ms = 0; ms <= 4000; ms += 50) {
		writer_add(m->w, RECORD_process_usage,
			&(struct rec_process_usage){ .t_ns = START_NS + ms * MS,
				.process = process_row(m),
				.user_ns = ms * MS * 2,
				.rss_bytes = 1000 + ms,
				.n_threads = 3 });
		writer_add(m->w, RECORD_thread_usage,
			&(struct rec_thread_usage){ .t_ns = START_NS + ms * MS,
				.thread = thread_row(m, 10, true),
				.cpu_ns = ms * MS / 2,
				.state = 'R' });
	}
	sample(m, 4000, 10, "ma", BUSY);
	v = look(m, ALL);
	assert_int_equal(v->pid, 10);
	assert_string_equal(v->command, "python3 x.py");
	assert_near(v->cpu, 2, 0.1);
	assert_near(v->rss_bytes, 5000, 0);
	assert_near(v->n_threads, 3, 0);
	assert_int_equal(v->n_history, 16);
	assert_near(v->cpu_history[3], 2, 1e-6);
	assert_near(v->rss_history[15], 4950, 0);
	assert_int_equal(v->n_live_threads, 1); /* two rows, one thread */
	assert_string_equal(v->threads[0].name, "worker");
	assert_near(v->threads[0].cpu, 0.5, 0.05);
	assert_false(v->has_ended);
	writer_add(m->w, RECORD_process_end,
		&(struct rec_process_end){ .t_ns = START_NS + 4001 * MS,
			.process = process_row(m),
			.source = END_REAPED,
			.status = 9 });
	v = look(m, ALL);
	assert_true(v->has_ended);
	assert_int_equal(v->status, 9);
}

static void nothing_recorded_is_nothing(void **state)
{
	const struct live_view *v = look(*state, ALL);

	assert_int_equal(v->n_functions, 0);
	assert_int_equal(v->n_live_threads, 0);
	assert_true(v->window_s == 0 && v->cpu == 0 && v->rate_hz == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_rate_is_that_of_looks_and_not_of_threads, begin, end),
		cmocka_unit_test_setup_teardown(now_is_the_window_and_since_is_all, begin, end),
		cmocka_unit_test_setup_teardown(recursion_counts_once, begin, end),
		cmocka_unit_test_setup_teardown(thread_and_state_are_chosen_later, begin, end),
		cmocka_unit_test_setup_teardown(since_can_begin_anew, begin, end),
		cmocka_unit_test_setup_teardown(the_sum_of_all_looks_is_the_profile, begin, end),
		cmocka_unit_test_setup_teardown(the_host_tells_cpu_memory_and_the_end, begin, end),
		cmocka_unit_test_setup_teardown(nothing_recorded_is_nothing, begin, end),
	};

	return cmocka_run_group_tests_name("analyze/samples/live", tests, NULL, NULL);
}
