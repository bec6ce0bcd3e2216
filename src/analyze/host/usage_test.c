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

#include "analyze/host/bound.h"
#include "analyze/host/usage.h"
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

static void has_gil(struct made *m)
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

/* The figure that is told is the one it was decided by. */
static void assert_decided(const struct bound *b)
{
	double own = 1 - b->share[BOUND_RUNNABLE];

	if (b->verdict < BOUND_RUNNABLE) {
		assert_int_equal(b->largest, b->verdict);
		assert_near(b->decided, b->share[b->verdict] / own, 1e-9);
		assert_true(b->decided >= BOUND_SHARE);
	}
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
	{ { 0.5 }, { 0.5 }, 1, 'S', false, false, 0.35, 0.65, BOUND_SYSTEM, 1 },
	{ { 0.1 }, { 0.6 }, 1, 'S', false, false, 0.2, 0, BOUND_WAITING, 1 },
	{ { 1, 1, 0, 0 }, { 0, 0, 1, 1 }, 4, 'S', false, false, 4, 0, BOUND_CPU,
		2 }, /* more threads than CPUs */
	{ { 0.1 }, { 0 }, 1, 'S', false, false, 0.2, 0, BOUND_WAITING, 1 },
	{ { 0.1 }, { 0 }, 1, 'D', false, false, 0.1, 0.1, BOUND_IO, 1 },
	{ { 1 }, { 0 }, 1, 'S', false, false, 0.3, 1.7, BOUND_SYSTEM, 1 },
	{ { 0.5 }, { 0 }, 1, 'S', false, false, 1, 0, BOUND_MIXED, 1 },
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', true, true, 2, 0, BOUND_GIL, 1 },
	{ { 0.4, 0.3 }, { 0.15, 0.15 }, 2, 'S', true, true, 1.4, 0, BOUND_GIL,
		1 }, /* and a busy machine */
	{ { 0.1, 0.1, 0.1, 0.1 }, { 0.3, 0.3, 0.3, 0.3 }, 4, 'S', true, true, 0.8, 0, BOUND_GIL,
		1.6 }, /* and a busier one */
	{ { 0.1, 0.1 }, { 0.7, 0.7 }, 2, 'S', true, true, 0.4, 0, BOUND_GIL, 1.6 },
	/* planted negatives */
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', true, false, 2, 0, BOUND_CPU, 1 }, /* not Python */
	{ { 0.5, 0.5 }, { 0, 0 }, 2, 'S', false, true, 2, 0, BOUND_CPU, 1 }, /* sleeps elsewhere */
	{ { 1, 1 }, { 0, 0 }, 2, 'S', true, true, 4, 0, BOUND_CPU, 2 },      /* free-threaded */
	{ { 1, 0.02 }, { 0, 0 }, 2, 'S', true, true, 2.04, 0, BOUND_CPU,
		1 }, /* one busy, one idle */
	{ { 0.5, 0.5 }, { 0.5, 0.5 }, 2, 'S', true, true, 2, 0, BOUND_CPU,
		2 }, /* share one CPU, awake */
	{ { 0.12, 0.12 }, { 0.88, 0.88 }, 2, 'S', true, true, 0.48, 0, BOUND_CPU,
		2 }, /* and a busier one */
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
			has_gil(&m);
		run_threads(&m, 2000, x->cpu, x->queue, x->n, x->asleep, x->on_futex);
		u = finish(&m, x->user_s, x->system_s);
		b = bound_build(u);
		if (b.verdict != x->verdict)
			printf("case %zu: %s, want %s\n", i, bound_names[b.verdict],
				bound_names[x->verdict]);
		assert_int_equal(b.verdict, x->verdict);
		assert_near(b.parallelism_wanted, x->wanted, 0.15);
		assert_sums_to_one(&b);
		assert_decided(&b);
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

/* Half of the time other programs had the CPU: that is neither computing nor sleep. */
static void waiting_for_a_cpu_is_a_share_of_its_own(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	run_threads(&m, 2000, (double[]){ 0.4 }, (double[]){ 0.5 }, 1, 'S', false);
	u = finish(&m, 0.3, 0.5);
	b = bound_build(u);
	assert_near(b.share[BOUND_CPU], 0.15, 0.01);
	assert_near(b.share[BOUND_SYSTEM], 0.25, 0.01);
	assert_near(b.share[BOUND_RUNNABLE], 0.5, 0.01);
	assert_near(b.share[BOUND_WAITING], 0.1, 0.01);
	assert_int_equal(b.verdict, BOUND_SYSTEM);
	assert_near(b.decided, 0.5, 0.01);
	done(&m);
}

/* The kernel tells of a wait when it ends, so it is of many looks before. */
static void a_long_wait_for_a_cpu_is_told_at_its_end(void **state)
{
	double cpu = 0.1, queue = 0;
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	for (int i = 0; i < 5; i++) {
		run_threads(&m, 400 - TICK_MS, (double[]){ 0 }, (double[]){ 0 }, 1, 'R', false);
		queue = 0.36 / (TICK_MS / 1e3); /* of the 400 ms */
		cpu = 1;
		run_threads(&m, TICK_MS, &cpu, &queue, 1, 'R', false);
	}
	u = finish(&m, 0.1, 0);
	b = bound_build(u);
	assert_near(b.share[BOUND_RUNNABLE], 0.9, 0.01);
	assert_near(b.share[BOUND_CPU], 0.05, 0.01);
	done(&m);
}

/* More threads than CPUs: the program has all the CPUs it may have. */
static void threads_beyond_the_cpus_wait_for_each_other(void **state)
{
	const struct usage *u;
	struct bound b;
	struct made m;

	(void)state;
	begin(&m);
	run_threads(&m, 2000, (double[]){ 0.5, 0.5, 0.5, 0.5 }, (double[]){ 0.5, 0.5, 0.5, 0.5 }, 4,
		'S', false);
	u = finish(&m, 4, 0);
	b = bound_build(u);
	assert_near(b.share[BOUND_RUNNABLE], 0, 0.01);
	assert_near(b.share[BOUND_CPU], 1, 0.01);
	done(&m);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* A few ticks cannot tell user from system; they can tell work from sleep. */
static void a_few_ticks_are_too_short_to_tell(void **state)
{
	static const struct {
		const char *tick_ns;
		double user_s, system_s;
		uint64_t ms;
		enum bound_kind verdict;
	} runs[] = {
		{ NULL, 0.02, 0.018, 40, BOUND_TOO_SHORT },
		{ "4000000", 0.038, 0, 40, BOUND_CPU }, /* all of nine ticks */
		{ "4000000", 0.01, 0, 10, BOUND_TOO_SHORT },
		{ NULL, 0.001, 0.001, 40, BOUND_WAITING },
		{ NULL, 1.02, 0.9, 2000, BOUND_MIXED },
		{ "nonsense", 0.038, 0, 40, BOUND_TOO_SHORT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		double cpu = (runs[i].user_s + runs[i].system_s) / ((double)runs[i].ms / 1000);
		const struct usage *u;
		struct bound b;
		struct made m;

		begin(&m);
		if (runs[i].tick_ns)
			writer_meta(m.w, "tick_ns", runs[i].tick_ns);
		run_threads(&m, runs[i].ms, &cpu, (double[]){ 0 }, 1, 'S', false);
		m.now_ns = m.start_ns + runs[i].ms * 1000000;
		u = finish(&m, runs[i].user_s, runs[i].system_s);
		b = bound_build(u);
		if (b.verdict != runs[i].verdict)
			printf("run %zu: %s\n", i, bound_names[b.verdict]);
		assert_int_equal(b.verdict, runs[i].verdict);
		assert_sums_to_one(&b);
		done(&m);
	}
}

/* Of a process nobody waits for /proc tells hundredths of a second, and its threads' times nanoseconds. */
static void the_finer_clock_counts(void **state)
{
	struct err e = ERR_INIT;
	const struct usage *u;
	struct bound b;
	struct made m = { .start_ns = 1000000000 };
	uint32_t thread;

	(void)state;
	assert_int_equal(writer_open(&m.w, NULL, NULL, &e), 0);
	writer_meta(m.w, "cpus_allowed", "2");
	writer_meta(m.w, "tick_ns", "4000000");
	m.process =
		writer_row(m.w, RECORD_process, &(struct rec_process){ .pid = 10, .start_ns = 1 });
	writer_add(m.w, RECORD_life,
		&(struct rec_life){ .t_ns = m.start_ns, .process = m.process, .value = 1 });
	thread = writer_row(
		m.w, RECORD_thread, &(struct rec_thread){ .process = m.process, .tid = 10 });
	for (uint64_t ms = 0; ms <= 31; ms += 31) {
		m.now_ns = m.start_ns + ms * 1000000;
		writer_add(m.w, RECORD_process_usage,
			&(struct rec_process_usage){ .t_ns = m.now_ns,
				.process = m.process,
				.user_ns = 500000000,
				.n_threads = 1,
				.pss_bytes = RECORD_UNKNOWN });
		writer_add(m.w, RECORD_thread_usage,
			&(struct rec_thread_usage){ .t_ns = m.now_ns,
				.thread = thread,
				.cpu_ns = 505000000 + ms * 1000000,
				.state = 'R' });
	}
	writer_add(m.w, RECORD_process_end,
		&(struct rec_process_end){ .t_ns = m.now_ns,
			.process = m.process,
			.source = END_RUNNING,
			.user_ns = RECORD_UNKNOWN,
			.system_ns = RECORD_UNKNOWN,
			.own_user_ns = 500000000,
			.max_rss_bytes = 1 });
	u = finish(&m, (double)NAN, 0);
	assert_near(u->user_s, 0.031, 1e-6);
	assert_near(u->processes[0].user_s, 0.031, 1e-6);
	b = bound_build(u);
	assert_int_equal(b.verdict, BOUND_CPU);
	assert_near(b.decided, 1, 0.01);
	done(&m);
}

/* ---- the GIL as samplers see it -------------------------------------------------------------- */

/* Two threads that look as if they took turns. In `wanting` of each hundred looks one is at the GIL, else asleep;
 * `ready`: else ready to run without the GIL, as in code that releases it. */
static struct bound sampled_turns(double queue, unsigned wanting, bool ready)
{
	struct made m;
	struct bound b;
	const struct usage *u;

	begin(&m);
	has_gil(&m);
	run_threads(&m, 2000, (double[]){ 0.5 - queue, 0.5 - queue }, (double[]){ queue, queue }, 2,
		'S', true);
	for (uint64_t ms = 0; ms < 2000; ms++)
		for (uint32_t i = 0; i < 2; i++) {
			bool holds = (ms / 5) % 2 == i;
			uint16_t other = ms % 100 < wanting ? SAMPLE_WANTS_GIL
				: ready                     ? SAMPLE_ON_CPU
							    : 0;

			writer_add(m.w, RECORD_sample,
				&(struct rec_sample){ .t_ns = m.start_ns + ms * 1000000,
					.thread = writer_row(m.w, RECORD_thread,
						&(struct rec_thread){
							.process = m.process, .tid = 10 + i }),
					.state =
						holds ? SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL : other });
		}
	u = finish(&m, (1 - 2 * queue) * 2, 0);
	b = bound_build(u);
	assert_sums_to_one(&b);
	done(&m);
	return b;
}

static void what_a_sampler_sees_of_the_gil_counts(void **state)
{
	struct bound b;

	(void)state;
	b = sampled_turns(0, 100, false);
	assert_int_equal(b.verdict, BOUND_GIL);
	assert_false(b.is_estimate);
	assert_near(b.share[BOUND_GIL], 1, 0.02);
	b = sampled_turns(0, 6, false); /* their CPU time looks like turns all the same */
	assert_int_equal(b.verdict, BOUND_CPU);
	assert_near(b.share[BOUND_GIL], 0.06, 0.02);
	b = sampled_turns(0, 2, true);
	assert_int_equal(b.verdict, BOUND_CPU);
	b = sampled_turns(0.3, 50, true); /* no CPU to go to sleep on */
	assert_int_equal(b.verdict, BOUND_GIL);
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

static void look(struct made *m, uint32_t process, uint64_t rss_bytes)
{
	writer_add(m->w, RECORD_process_usage,
		&(struct rec_process_usage){ .t_ns = m->now_ns,
			.process = process,
			.rss_bytes = rss_bytes,
			.pss_bytes = RECORD_UNKNOWN });
}

static uint32_t child(struct made *m, uint32_t pid, uint32_t parent)
{
	return writer_row(m->w, RECORD_process,
		&(struct rec_process){ .pid = pid, .start_ns = pid, .parent_pid = parent });
}

/* A worker ends in the middle, and the program takes half a second to free what it has. */
static void memory_given_back_is_no_shrinking(void **state)
{
	const struct usage *u;
	uint32_t worker;
	struct made m;

	(void)state;
	begin(&m);
	worker = child(&m, 11, 10);
	for (int i = 0; i < 150; i++) {
		m.now_ns += TICK_MS * 1000000u;
		look(&m, m.process, i < 125 ? 100000000 : (uint64_t)(150 - i) * 4000000);
		if (i < 100)
			look(&m, worker, 50000000);
	}
	u = finish(&m, 0.1, 0);
	assert_near(u->rss_growth_per_s, 0, 1);
	assert_near(u->rss_growth_span_s, 1, 0.05);
	done(&m);
}

static void end_of(
	struct made *m, uint32_t process, enum end_source source, double own_s, double all_s)
{
	writer_add(m->w, RECORD_process_end,
		&(struct rec_process_end){ .t_ns = m->now_ns,
			.process = process,
			.source = (uint8_t)source,
			.user_ns = (uint64_t)(all_s * 1e9),
			.own_user_ns = (uint64_t)(own_s * 1e9) });
}

/* The program (0.1 s of its own) leaves a forkserver (0.2 s) that waited for one worker (1 s, last seen at 0.9)
 * and has not waited for another (3 s), of which a child (0.5 s) was waited for by nobody. */
static void each_child_counts_once(void **state)
{
	uint32_t server, waited, unwaited, lost;
	const struct usage *u;
	struct made m;

	(void)state;
	begin(&m);
	server = child(&m, 11, 10);
	waited = child(&m, 12, 11);
	unwaited = child(&m, 13, 11);
	lost = child(&m, 14, 13);
	m.now_ns += 1000000000;
	end_of(&m, lost, END_LAST_SEEN, 0.5, 0.5);
	end_of(&m, waited, END_LAST_SEEN, 0.9, 0.9);
	end_of(&m, unwaited, END_LAST_SEEN, 3, 3);
	end_of(&m, server, END_RUNNING, 0.2, 1.2);
	u = finish(&m, 0.1, 0);
	/* 0.1 + 0.2 + 0.9 + 3 + 0.5: the worker's last 0.1 s cannot be told from the others' time */
	assert_near(u->user_s, 4.7, 1e-9);
	assert_near(u->unwaited_cpu_s, 3.4, 1e-9);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_told),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(parallelism_counts_only_while_something_runs),
		cmocka_unit_test(waiting_for_a_cpu_is_a_share_of_its_own),
		cmocka_unit_test(a_long_wait_for_a_cpu_is_told_at_its_end),
		cmocka_unit_test(threads_beyond_the_cpus_wait_for_each_other),
		cmocka_unit_test(a_few_ticks_are_too_short_to_tell),
		cmocka_unit_test(the_finer_clock_counts),
		cmocka_unit_test(what_a_sampler_sees_of_the_gil_counts),
		cmocka_unit_test(unseen_children_count),
		cmocka_unit_test(a_cut_off_run_is_told_up_to_its_last_look),
		cmocka_unit_test(what_was_never_looked_at_is_unknown),
		cmocka_unit_test(no_run_is_no_usage),
		cmocka_unit_test(growth_is_found),
		cmocka_unit_test(memory_given_back_is_no_shrinking),
		cmocka_unit_test(each_child_counts_once),
	};

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
