/* SPDX-License-Identifier: MIT
 * usage and bound on hand-made recordings whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/bound.h"
#include "analyze/usage.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"

enum { TICK_MS = 20 };

struct made { /* a recording being made and then read */
	struct writer *w;
	uint32_t process;
	uint64_t start_ns, now_ns;
	struct arena arena;
	struct reader *reader;
	struct tables *tables;
};

static void begin(struct made *m)
{
	struct err e = ERR_INIT;

	*m = (struct made){ .start_ns = 1000000000, .now_ns = 1000000000 };
	assert_int_equal(writer_open(&m->w, NULL, NULL, &e), 0);
	writer_meta_n(m->w, "argv", "python3\0x y.py", 15);
	writer_meta(m->w, "cpus_allowed", "2");
	m->process = writer_row(m->w, RECORD_process,
		&(struct rec_process){
			.pid = 10, .start_ns = 1, .command = writer_string(m->w, "python3 x.py") });
	writer_add(m->w, RECORD_life,
		&(struct rec_life){ .t_ns = m->start_ns, .process = m->process });
}

/* Looks for `ms`: each thread i uses cpu[i] of a core, waits queue[i] for one, sleeps otherwise. */
static void run_threads(struct made *m, uint64_t ms, const double *cpu, const double *queue,
	size_t n, char asleep, bool on_futex)
{
	static uint64_t cpu_ns[8], queue_ns[8];

	if (m->now_ns == m->start_ns) {
		memset(cpu_ns, 0, sizeof cpu_ns);
		memset(queue_ns, 0, sizeof queue_ns);
	}
	for (uint64_t t = 0; t < ms; t += TICK_MS) {
		struct rec_process_usage u = { .process = m->process,
			.rss_bytes = 1 << 20,
			.pss_bytes = RECORD_UNKNOWN,
			.n_threads = (uint32_t)n };

		m->now_ns += TICK_MS * 1000000u;
		u.t_ns = m->now_ns;
		for (size_t i = 0; i < n; i++) {
			uint32_t thread = writer_row(m->w, RECORD_thread,
				&(struct rec_thread){
					.process = m->process, .tid = 10 + (uint32_t)i });
			/* seen running as often as it runs */
			bool runs = (double)(t / TICK_MS % 10) < cpu[i] * 10 &&
				(i == 0 || n == 1 || cpu[0] < 0.9);

			cpu_ns[i] += (uint64_t)(cpu[i] * TICK_MS * 1e6);
			queue_ns[i] += (uint64_t)(queue[i] * TICK_MS * 1e6);
			writer_add(m->w, RECORD_thread_usage,
				&(struct rec_thread_usage){ .t_ns = m->now_ns,
					.thread = thread,
					.cpu_ns = cpu_ns[i],
					.queue_ns = queue_ns[i],
					.state = (uint8_t)(runs ? 'R' : asleep),
					.waits_on_futex = !runs && asleep == 'S'
						? (on_futex ? TRISTATE_YES : TRISTATE_NO)
						: TRISTATE_UNKNOWN });
			u.n_running += runs;
			u.n_disk += !runs && asleep == 'D';
		}
		writer_add(m->w, RECORD_process_usage, &u);
	}
}

static void is_python(struct made *m)
{
	writer_add(m->w, RECORD_life,
		&(struct rec_life){ .t_ns = m->now_ns,
			.process = m->process,
			.event = LIFE_PYTHON,
			.value = 1 });
}

static const struct usage *finish(struct made *m, double user_s, double system_s)
{
	struct err e = ERR_INIT;
	int fd;

	if (!isnan(user_s))
		writer_add(m->w, RECORD_process_end,
			&(struct rec_process_end){ .t_ns = m->now_ns,
				.process = m->process,
				.source = END_REAPED,
				.status = 3 << 8,
				.user_ns = (uint64_t)(user_s * 1e9),
				.system_ns = (uint64_t)(system_s * 1e9),
				.own_user_ns = (uint64_t)(user_s * 1e9),
				.own_system_ns = (uint64_t)(system_s * 1e9),
				.max_rss_bytes = 5 << 20,
				.minor_faults = 100,
				.read_bytes = RECORD_UNKNOWN });
	assert_int_equal(writer_close_keep_fd(m->w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&m->reader, fd, "made", &e), 0);
	assert_int_equal(tables_load(&m->tables, m->reader, &e), 0);
	return usage_build(&m->arena, m->tables);
}

static void done(struct made *m)
{
	tables_free(m->tables);
	reader_close(m->reader);
	arena_done(&m->arena);
}

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		printf("got %g, want %g\n", got, want);
	assert_true(fabs(got - want) <= within);
}

static void assert_sums_to_one(const struct bound *b)
{
	double sum = 0;

	for (int k = 0; k < BOUND_MIXED; k++)
		if (units_is_known(b->share[k]))
			sum += b->share[k];
	assert_near(sum, 1, 1e-9);
}

static void totals_are_told(void **state)
{
	struct made m;
	const struct usage *u;

	(void)state;
	begin(&m);
	run_threads(&m, 1000, (double[]){ 0.9 }, (double[]){ 0 }, 1, 'S', false);
	u = finish(&m, 0.8, 0.1);
	assert_string_equal(u->command, "python3 'x y.py'");
	assert_string_equal(u->argv[1], "x y.py");
	assert_null(u->argv[2]);
	assert_near(u->wall_s, 1, 1e-9);
	assert_near(u->user_s, 0.8, 1e-9);
	assert_int_equal(u->status, 3 << 8);
	assert_near(u->max_rss_bytes, 5 << 20, 0);
	assert_near(u->peak_tree_rss_bytes, 1 << 20, 0);
	assert_false(units_is_known(u->read_bytes));
	assert_false(units_is_known(u->peak_pss_bytes));
	assert_int_equal(u->n_ticks, 50);
	assert_near(u->ticks[10].cpu, 0.9, 1e-6);
	done(&m);
}

struct expectation {
	double cpu[4], queue[4];
	size_t n;
	char asleep;
	bool on_futex, python;
	double user_s, system_s;
	enum bound_kind verdict;
	double wanted; /* P */
};

/* Each case runs for 2 s on 2 CPUs. */
static const struct expectation cases[] = {
	{ { 1 }, { 0 }, 1, 'S', false, false, 1.95, 0.05, BOUND_CPU, 1 },
	{ { 1, 1 }, { 0, 0 }, 2, 'S', false, false, 3.9, 0.1, BOUND_CPU, 2 },
	{ { 0.5 }, { 0.5 }, 1, 'S', false, false, 1, 0, BOUND_CPU, 1 }, /* a busy machine */
	{ { 1, 1, 0, 0 }, { 0, 0, 1, 1 }, 4, 'S', false, false, 4, 0, BOUND_CPU,
		2 }, /* more threads than CPUs */
	{ { 0.1 }, { 0 }, 1, 'S', false, false, 0.2, 0, BOUND_WAITING, 1 },
	{ { 0.1 }, { 0 }, 1, 'D', false, false, 0.1, 0.1, BOUND_IO, 1 },
	{ { 1 }, { 0 }, 1, 'S', false, false, 0.3, 1.7, BOUND_SYSTEM, 1 },
	{ { 0.5 }, { 0 }, 1, 'S', false, false, 1, 0, BOUND_MIXED, 1 },
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', true, true, 2, 0, BOUND_GIL, 1 },
	{ { 0.4, 0.3 }, { 0.15, 0.15 }, 2, 'S', true, true, 1.4, 0, BOUND_GIL,
		1 }, /* and a busy machine */
	/* planted negatives */
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', true, false, 2, 0, BOUND_CPU, 1 }, /* not Python */
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', false, true, 2, 0, BOUND_CPU, 1 }, /* sleeps elsewhere */
	{ { 1, 1 }, { 0, 0 }, 2, 'S', true, true, 4, 0, BOUND_CPU, 2 },      /* free-threaded */
	{ { 1, 0.02 }, { 0, 0 }, 2, 'S', true, true, 2.04, 0, BOUND_CPU,
		1 }, /* one busy, one idle */
	{ { 0.5, 0.5 }, { 0.5, 0.5 }, 2, 'S', true, true, 2, 0, BOUND_CPU,
		2 }, /* share one CPU, awake */
};

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct expectation *x = &cases[i];
		const struct usage *u;
		struct bound b;
		struct made m;

		begin(&m);
		if (x->python)
			is_python(&m);
		run_threads(&m, 2000, x->cpu, x->queue, x->n, x->asleep, x->on_futex);
		u = finish(&m, x->user_s, x->system_s);
		b = bound_build(u);
		if (b.verdict != x->verdict)
			printf("case %zu: %s, want %s\n", i, bound_names[b.verdict],
				bound_names[x->verdict]);
		assert_int_equal(b.verdict, x->verdict);
		assert_near(b.parallelism_wanted, x->wanted, 0.15);
		assert_sums_to_one(&b);
		assert_false(units_is_known(b.share[BOUND_GPU]));
		done(&m);
	}
}

/* Two busy threads for a second, then a second of sleep: half of the time, not all of it. */
static void parallelism_counts_only_while_something_runs(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	run_threads(&m, 1000, (double[]){ 1, 1 }, (double[]){ 0, 0 }, 2, 'S', false);
	run_threads(&m, 1000, (double[]){ 0, 0 }, (double[]){ 0, 0 }, 2, 'S', false);
	u = finish(&m, 2, 0);
	b = bound_build(u);
	assert_near(b.parallelism_wanted, 2, 0.05);
	assert_near(b.share[BOUND_CPU], 0.5, 0.02);
	assert_near(b.share[BOUND_WAITING], 0.5, 0.02);
	assert_int_equal(b.verdict, BOUND_MIXED);
	done(&m);
}

/* Children too short to be seen still count. */
static void unseen_children_count(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	run_threads(&m, 1000, (double[]){ 0.05 }, (double[]){ 0 }, 1, 'S', false);
	u = finish(&m, 0.9, 0.05);
	b = bound_build(u);
	assert_int_equal(b.verdict, BOUND_CPU);
	assert_sums_to_one(&b);
	done(&m);
}

/* The recorder was killed: no end record. What was seen is told, the status is not. */
static void a_cut_off_run_is_told_up_to_its_last_look(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	run_threads(&m, 400, (double[]){ 0.5 }, (double[]){ 0 }, 1, 'S', false);
	u = finish(&m, (double)NAN, 0);
	assert_non_null(u);
	assert_int_equal(u->status, -1);
	assert_near(u->wall_s, 0.4, 1e-9);
	assert_true(u->processes[0].is_running);
	b = bound_build(u);
	assert_sums_to_one(&b);
	done(&m);
}

/* The disk was full before the first look: nothing is known of it, and nothing is made up. */
static void what_was_never_looked_at_is_unknown(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	u = finish(&m, (double)NAN, 0);
	b = bound_build(u);
	assert_false(b.is_known);
	for (int k = 0; k < BOUND_MAX_; k++)
		assert_false(units_is_known(b.share[k]));
	done(&m);
}

static void no_run_is_no_usage(void **state)
{
	struct made m = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(writer_open(&m.w, NULL, NULL, &e), 0);
	assert_null(finish(&m, (double)NAN, 0));
	done(&m);
}

static void growth_is_found(void **state)
{
	const struct usage *u;
	struct made m;

	(void)state;
	begin(&m);
	for (int i = 0; i < 100; i++) {
		m.now_ns += TICK_MS * 1000000u;
		writer_add(m.w, RECORD_process_usage,
			&(struct rec_process_usage){ .t_ns = m.now_ns,
				.process = m.process,
				.rss_bytes = (uint64_t)i * 100000,
				.pss_bytes = RECORD_UNKNOWN });
	}
	m.now_ns += TICK_MS * 1000000u;
	writer_add(m.w, RECORD_process_usage, /* it exits: its memory is given back */
		&(struct rec_process_usage){ .t_ns = m.now_ns,
			.process = m.process,
			.rss_bytes = 4096,
			.pss_bytes = RECORD_UNKNOWN });
	u = finish(&m, 0.1, 0);
	assert_near(u->rss_growth_per_s, 100000 / 0.02, 1);
	assert_near(u->rss_growth_span_s, 1, 0.02);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_told),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(parallelism_counts_only_while_something_runs),
		cmocka_unit_test(unseen_children_count),
		cmocka_unit_test(a_cut_off_run_is_told_up_to_its_last_look),
		cmocka_unit_test(what_was_never_looked_at_is_unknown),
		cmocka_unit_test(no_run_is_no_usage),
		cmocka_unit_test(growth_is_found),
	};

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
