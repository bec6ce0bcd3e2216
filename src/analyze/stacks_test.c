/* SPDX-License-Identifier: MIT
 * stacks, profile and interval on hand-made recordings whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/interval.h"
#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

static const uint64_t START_NS = 5000000000, MS = 1000000;

struct made { /* a recording being made and then read */
	struct writer *w;
	uint32_t process, threads[2];
	struct arena arena;
	struct reader *reader;
	struct tables *tables;
	const struct stacks *stacks;
};

static void begin(struct made *m)
{
	struct err e = ERR_INIT;

	*m = (struct made){ 0 };
	assert_int_equal(writer_open(&m->w, NULL, NULL, &e), 0);
	m->process = writer_row(m->w, RECORD_process, &(struct rec_process){ .pid = 10 });
	for (uint32_t i = 0; i < 2; i++)
		m->threads[i] = writer_row(m->w, RECORD_thread,
			&(struct rec_thread){ .process = m->process, .tid = 10 + i });
}

/* Functions are letters; each begins at a line of its own. */
static uint32_t code(struct made *m, char function)
{
	const char name[] = { function, '\0' };

	return writer_row(m->w, RECORD_code,
		&(struct rec_code){ .file = writer_string(m->w, "x.py"),
			.qualname = writer_string(m->w, name),
			.first_line = (uint32_t)function });
}

static uint32_t push(struct made *m, uint32_t callers, const struct rec_frame *frame)
{
	return writer_row(m->w, RECORD_stack,
		&(struct rec_stack){
			.parent = callers, .frame = writer_row(m->w, RECORD_frame, frame) });
}

/* At `ms`, thread i is in this chain of functions, root first; "…!" was cut off there. */
static void sample(struct made *m, uint64_t ms, size_t thread, const char *chain, int bits)
{
	struct rec_sample r = {
		.t_ns = START_NS + ms * MS, .thread = m->threads[thread], .state = (uint16_t)bits
	};

	for (; chain[0] != '!' && chain[1]; chain++)
		r.stack = push(m, r.stack,
			&(struct rec_frame){ .tag = FRAME_PY, .code = code(m, *chain) });
	if (*chain == '!') {
		r.stack = push(m, r.stack,
			&(struct rec_frame){
				.tag = FRAME_SYNTH, .name = writer_string(m->w, "[cut]") });
		r.state |= SAMPLE_SHORTENED;
	} else {
		r.leaf_code = code(m, *chain);
	}
	writer_add(m->w, RECORD_sample, &r);
}

static void lose(struct made *m, const char *what, uint64_t count)
{
	writer_add(m->w, RECORD_loss,
		&(struct rec_loss){
			.t_ns = START_NS, .what = writer_string(m->w, what), .count = count });
}

static void finish(struct made *m)
{
	struct err e = ERR_INIT;
	int fd;

	assert_int_equal(writer_close_keep_fd(m->w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&m->reader, fd, "made", &e), 0);
	assert_int_equal(tables_load(&m->tables, m->reader, &e), 0);
}

static const struct profile *profile_of(struct made *m, struct stacks_options o)
{
	m->stacks = stacks_build(&m->arena, m->tables, &o);
	return profile_build(&m->arena, m->stacks);
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

static struct profile_cost cost_of(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, name) == 0)
			return p->functions[i].cost;
	return (struct profile_cost){ 0 };
}

static void assert_counts(const struct profile *p, const char *name, uint64_t self, uint64_t total)
{
	struct profile_cost c = cost_of(p, name);

	assert_int_equal(c.self_n, self);
	assert_int_equal(c.total_n, total);
}

static void assert_interval(uint64_t hits, uint64_t n, double low, double high)
{
	assert_near(interval_share(hits, n).low, low, 5e-5);
	assert_near(interval_share(hits, n).high, high, 5e-5);
}

static void intervals_are_wilsons(void **state)
{
	(void)state;
	assert_interval(10, 100, 0.0552, 0.1744);
	assert_interval(50, 100, 0.4038, 0.5962);
	assert_interval(0, 10, 0, 0.2775);
	assert_interval(10, 10, 0.7225, 1);
	assert_interval(1, 1, 0.2065, 1);
	assert_interval(0, 0, 0, 1);
}

static void shares_are_of_all_samples(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 100; i++)
		sample(&m, i, 0, i < 10 ? "mab" : i < 40 ? "ma" : "mc", SAMPLE_ON_CPU);
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(p->n_samples, 100);
	assert_int_equal(m.stacks->n, 3);
	assert_counts(p, "m", 0, 100);
	assert_counts(p, "a", 30, 40);
	assert_counts(p, "b", 10, 10);
	assert_counts(p, "c", 60, 60);
	assert_near(cost_of(p, "b").self.low, 0.0552, 5e-5);
	assert_near(cost_of(p, "b").self.high, 0.1744, 5e-5);
	assert_string_equal(p->functions[0].name, "c"); /* by self time */
	assert_string_equal(p->functions[3].name, "m");
	done(&m);
}

static void frames_come_leaf_first(void **state)
{
	static struct stack_frame frames[STACKS_DEPTH];
	struct made m;

	(void)state;
	begin(&m);
	sample(&m, 0, 0, "mab", 0);
	finish(&m);
	profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(stacks_frames(m.stacks, 0, frames), 3);
	assert_string_equal(frames[0].name, "b");
	assert_string_equal(frames[1].name, "a");
	assert_string_equal(frames[2].name, "m");
	assert_int_equal(frames[2].first_line, 'm');
	assert_false(frames[0].is_synthetic);
	done(&m);
}

static void recursion_counts_once_per_stack(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	sample(&m, 0, 0, "mrrrr", 0);
	sample(&m, 10, 0, "mrarr", 0);
	sample(&m, 20, 0, "mrra", 0);
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_counts(p, "r", 2, 3);
	assert_counts(p, "a", 1, 2);
	assert_near(cost_of(p, "r").total_s, 0.020, 1e-9);
	assert_near(cost_of(p, "m").total.high, 1, 1e-9);
	done(&m);
}

static void samples_weigh_half_of_the_time_to_their_neighbours(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	sample(&m, 0, 0, "a", 0);
	sample(&m, 1, 1, "x", 0);
	sample(&m, 5, 0, "a", 0);
	sample(&m, 8, 0, "b", 0);
	sample(&m, 101, 1, "x", 0);
	sample(&m, 108, 0, "b", 0); /* the sampler was late */
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_near(cost_of(p, "a").self_s, 0.0065, 1e-9);
	assert_near(cost_of(p, "b").self_s, 0.1015, 1e-9);
	assert_near(cost_of(p, "x").self_s, 0.100, 1e-9);
	assert_near(p->seconds, 0.208, 1e-9);
	assert_counts(p, "a", 2, 2);
	assert_int_equal(m.stacks->n_threads, 2);
	assert_int_equal(m.stacks->threads[1].tid, 11);
	assert_int_equal(m.stacks->threads[1].pid, 10);
	assert_near(m.stacks->threads[1].seconds, 0.1, 1e-9);
	done(&m);
}

static void a_cut_sample_is_never_self_time_of_the_frame_it_was_cut_at(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	sample(&m, 0, 0, "ma", 0);
	sample(&m, 10, 0, "ma!", 0);
	sample(&m, 20, 0, "m!", 0);
	sample(&m, 30, 0, "!", 0); /* not even the root */
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n_shortened, 3);
	assert_int_equal(p->n_samples, 4);
	assert_counts(p, "m", 0, 3);
	assert_counts(p, "a", 1, 2);
	assert_counts(p, "[cut]", 3, 3);
	assert_near(cost_of(p, "a").self_s, 0.005, 1e-9); /* of the whole sample alone */
	assert_near(cost_of(p, "[cut]").self_s, 0.025, 1e-9);
	assert_string_equal(p->functions[0].name, "[cut]");
	assert_true(p->functions[0].is_synthetic);
	for (size_t i = 0; i < p->n_lines; i++)
		assert_string_equal(p->lines[i].file, "x.py"); /* [cut] has no line */
	done(&m);
}

static void lost_samples_stay_in_the_denominator(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 10; i++)
		sample(&m, i, 0, "a", 0);
	lose(&m, "sample", 60);
	lose(&m, "event", 1000); /* of something else */
	lose(&m, "sample", 30);
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n_samples, 10);
	assert_int_equal(m.stacks->n_lost, 90);
	assert_int_equal(p->n_samples, 100);
	assert_near(cost_of(p, "a").self.low, 0.0552, 5e-5);
	assert_near(cost_of(p, "a").self.high, 0.1744, 5e-5);
	done(&m);
}

static void states_choose_samples_but_not_their_weights(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	sample(&m, 0, 0, "a", SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL);
	sample(&m, 10, 0, "b", 0);
	sample(&m, 30, 0, "c", SAMPLE_ON_CPU);
	sample(&m, 60, 0, "d", SAMPLE_HOLDS_GIL);
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "a", 1, 1);
	assert_counts(p, "b", 0, 0);
	assert_near(
		cost_of(p, "c").self_s, 0.025, 1e-9); /* halves to b and d, which do not count */
	p = profile_of(&m, (struct stacks_options){ .state = STACKS_GIL });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "d", 1, 1);
	p = profile_of(&m, (struct stacks_options){ .state = STACKS_WAIT });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "b", 1, 1);
	assert_counts(p, "d", 1, 1);
	p = profile_of(&m, (struct stacks_options){ .state = STACKS_WALL });
	assert_int_equal(p->n_samples, 4);
	assert_int_equal(m.stacks->threads[0].n_cpu, 2);
	assert_int_equal(m.stacks->threads[0].n_gil, 2);
	done(&m);
}

static void times_and_threads_choose_samples(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 10; i++) {
		sample(&m, i * 100, 0, "a", 0);
		sample(&m, i * 100, 1, "b", 0);
	}
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ .from_s = 0.25, .to_s = 0.55 });
	assert_counts(p, "a", 3, 3);
	assert_near(p->seconds, 0.6, 1e-9);
	p = profile_of(&m, (struct stacks_options){ .from_s = 0.75 });
	assert_counts(p, "a", 2, 2);
	p = profile_of(&m, (struct stacks_options){ .thread = m.stacks->threads[1].row });
	assert_counts(p, "a", 0, 0);
	assert_counts(p, "b", 10, 10);
	done(&m);
}

static void no_samples_are_no_stacks(void **state)
{
	const struct profile *p;
	struct made m;

	(void)state;
	begin(&m);
	finish(&m);
	p = profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n, 0);
	assert_int_equal(p->n_functions, 0);
	assert_int_equal(p->n_samples, 0);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_wilsons),
		cmocka_unit_test(shares_are_of_all_samples),
		cmocka_unit_test(frames_come_leaf_first),
		cmocka_unit_test(recursion_counts_once_per_stack),
		cmocka_unit_test(samples_weigh_half_of_the_time_to_their_neighbours),
		cmocka_unit_test(a_cut_sample_is_never_self_time_of_the_frame_it_was_cut_at),
		cmocka_unit_test(lost_samples_stay_in_the_denominator),
		cmocka_unit_test(states_choose_samples_but_not_their_weights),
		cmocka_unit_test(times_and_threads_choose_samples),
		cmocka_unit_test(no_samples_are_no_stacks),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
