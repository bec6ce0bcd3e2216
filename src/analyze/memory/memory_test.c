/* SPDX-License-Identifier: MIT
 * Memory on hand-made recordings whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/memory/memory.h"
#include "analyze/recording.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "store/reader.h"
#include "store/writer.h"

enum { MIB = 1 << 20 };

static const uint64_t START_NS = 5000000000, MS = 1000000;

struct made { /* a recording being made and then read: two processes, two threads of the first */
	struct writer *w;
	uint32_t process[2], threads[3];
	uint64_t done_ms; /* when the sampler saw its code last */
	struct recording *r;
	struct arena arena;
};

static void begin(struct made *m)
{
	struct err e = ERR_INIT;

	*m = (struct made){ .done_ms = 10000 };
	assert_int_equal(writer_open(&m->w, NULL, NULL, &e), 0);
	for (uint32_t i = 0; i < 2; i++) {
		m->process[i] = writer_row(m->w, RECORD_process,
			&(struct rec_process){ .pid = 10 + i, .start_ns = 1 + i });
		writer_add(m->w, RECORD_life,
			&(struct rec_life){ .t_ns = START_NS, .process = m->process[i] });
	}
	for (uint32_t i = 0; i < 3; i++)
		m->threads[i] = writer_row(m->w, RECORD_thread,
			&(struct rec_thread){ .process = m->process[i == 2], .tid = 20 + i });
}

/* "ab": a called b, which allocated. */
static uint32_t stack_of(struct made *m, const char *chain)
{
	uint32_t stack = 0;

	for (; *chain; chain++) {
		const char name[] = { *chain, '\0' };
		uint32_t frame = writer_row(m->w, RECORD_frame,
			&(struct rec_frame){ .tag = FRAME_FOREIGN,
				.name = writer_string(m->w, name),
				.file = writer_string(m->w, "x.py"),
				.position = (uint64_t)*chain,
				.first_line = (uint32_t)*chain });

		stack = writer_row(m->w, RECORD_stack, &(struct rec_stack){ stack, frame });
	}
	return stack;
}

static void event(struct made *m, uint64_t ms, size_t thread, const char *chain, int event,
	uint64_t address, uint64_t size, double weight)
{
	writer_add(m->w, RECORD_memory,
		&(struct rec_memory){ .t_ns = START_NS + ms * MS,
			.thread = m->threads[thread],
			.stack = stack_of(m, chain),
			.event = (uint8_t)event,
			.address = address,
			.size_bytes = size,
			.weight = weight });
}

static void take(struct made *m, uint64_t ms, size_t thread, const char *chain, uint64_t address,
	uint64_t size)
{
	event(m, ms, thread, chain, MEMORY_ALLOC, address, size, 1);
}

static void give(struct made *m, uint64_t ms, size_t thread, uint64_t address)
{
	event(m, ms, thread, "", MEMORY_FREE, address, 0, 0);
}

static void end_process(struct made *m, uint64_t ms, size_t process)
{
	writer_add(m->w, RECORD_process_end,
		&(struct rec_process_end){ .t_ns = START_NS + ms * MS,
			.process = m->process[process],
			.source = END_REAPED });
}

static const struct memory *finish(struct made *m)
{
	struct err e = ERR_INIT;
	struct reader *reader;
	int fd;

	for (size_t i = 0; i < 3 && m->done_ms; i += 2)
		writer_add(m->w, RECORD_sample,
			&(struct rec_sample){ .t_ns = START_NS + m->done_ms * MS,
				.thread = m->threads[i],
				.stack = stack_of(m, "m") });
	assert_int_equal(writer_close_keep_fd(m->w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&reader, fd, "made", &e), 0);
	m->r = recording_of_reader(reader, "made");
	return recording_memory(m->r);
}

static void done(struct made *m)
{
	recording_free(m->r);
	arena_done(&m->arena);
}

/* What was chosen, through the door that everything comes through: its rows add up to its total. */
static const struct selection *chosen(struct made *m, struct choice c)
{
	struct err e = ERR_INIT;
	struct selection *s;
	double sum = 0;

	assert_int_equal(recording_select(m->r, &c, &s, &e), 0);
	for (size_t i = 0; i < s->profile->n_functions; i++)
		sum += s->profile->functions[i].cost.self_value;
	assert_true(fabs(sum - s->stacks->value) < 1e-6 * (1 + sum));
	assert_true(
		fabs(s->memory->sum.value - s->stacks->value) < 1e-6 * (1 + sum) || c.shape.keep.n);
	assert_int_equal(s->stacks->unit, UNIT_BYTES);
	return s;
}

static double self_of(const struct selection *s, const char *name)
{
	for (size_t i = 0; i < s->profile->n_functions; i++)
		if (strcmp(s->profile->functions[i].name, name) == 0)
			return s->profile->functions[i].cost.self_value;
	return -1;
}

/* ---- what happened --------------------------------------------------------------------------- */

static void the_peak_is_the_moment_with_most(void **state)
{
	struct made m;
	const struct memory *x;
	const struct selection *s;

	(void)state;
	begin(&m);
	take(&m, 0, 0, "ma", 1, 10 * MIB);
	take(&m, 100, 0, "mb", 2, 20 * MIB);
	give(&m, 200, 0, 1);
	take(&m, 300, 1, "mc", 3, 5 * MIB); /* 25: less than 30 */
	give(&m, 400, 1, 2);
	x = finish(&m);
	assert_true(x->all.peak.value == 30 * MIB && fabs(x->all.peak_s - 0.1) < 1e-9);
	assert_true(x->all.live.value == 5 * MIB && x->all.allocated.value == 35 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_PEAK });
	assert_true(self_of(s, "a") == 10 * MIB && self_of(s, "b") == 20 * MIB);
	assert_true(self_of(s, "c") == -1 && self_of(s, "m") == 0);
	assert_true(
		s->profile->functions[0].cost.self.low == s->profile->functions[0].cost.self.high);
	s = chosen(&m, (struct choice){ .memory = MEMORY_LEAKS });
	assert_true(self_of(s, "c") == 5 * MIB && s->stacks->value == 5 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_CHURN });
	assert_true(s->stacks->value == 35 * MIB);
	done(&m);
}

static void records_need_no_order(void **state)
{
	struct made m;
	const struct memory *x;

	(void)state;
	begin(&m);
	give(&m, 200, 1, 1); /* its thread's records came first */
	take(&m, 300, 1, "b", 1, 3 * MIB);
	take(&m, 0, 0, "a", 1, 8 * MIB);
	x = finish(&m);
	assert_int_equal(x->blocks->n_unknown_releases, 0);
	assert_int_equal(x->blocks->n_lost_releases, 0);
	assert_true(x->all.peak.value == 8 * MIB && x->all.peak_s == 0);
	assert_true(x->all.live.value == 3 * MIB);
	done(&m);
}

static void processes_have_one_peak_together(void **state)
{
	struct made m;
	const struct memory *x;
	const struct selection *s;

	(void)state;
	begin(&m);
	take(&m, 0, 0, "a", 1, 10 * MIB);
	give(&m, 100, 0, 1);
	take(&m, 200, 0, "a", 2, 6 * MIB);
	take(&m, 300, 2, "a", 1, 7 * MIB); /* the same address in another process */
	end_process(&m, 400, 1);
	take(&m, 500, 0, "b", 3, 5 * MIB); /* 11 without the other's */
	x = finish(&m);
	assert_true(x->all.peak.value == 13 * MIB && fabs(x->all.peak_s - 0.3) < 1e-9);
	assert_true(x->processes[0].peak.value == 11 * MIB &&
		fabs(x->processes[0].peak_s - 0.5) < 1e-9);
	assert_true(x->processes[1].peak.value == 7 * MIB);
	assert_true(x->processes[1].live.value == 7 * MIB && x->all.live.value == 18 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_PEAK, .processes = "10" });
	assert_true(s->stacks->value == 11 * MIB && self_of(s, "b") == 5 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_PEAK, .threads = "22" });
	assert_true(s->stacks->value == 7 * MIB);
	done(&m);
}

static void growth_is_what_places_have_more(void **state)
{
	struct made m;
	const struct selection *s;

	(void)state;
	begin(&m);
	take(&m, 0, 0, "ma", 1, 4 * MIB);
	take(&m, 10, 0, "mb", 2, 4 * MIB);
	take(&m, 20, 0, "mc", 3, 9 * MIB);
	give(&m, 500, 1, 1);
	take(&m, 501, 1, "ma", 4, 4 * MIB); /* replaced, by another thread */
	take(&m, 600, 0, "mb", 5, 2 * MIB); /* more */
	give(&m, 700, 0, 3);                /* less */
	take(&m, 800, 0, "md", 6, MIB);
	give(&m, 900, 0, 6);
	take(&m, 1000, 0, "me", 7, MIB);
	finish(&m);
	s = chosen(&m, (struct choice){ .memory = MEMORY_GROWTH });
	assert_true(fabs(s->memory->from_s - 0.2) < 1e-6);
	assert_true(self_of(s, "b") == 2 * MIB && self_of(s, "e") == MIB);
	assert_true(self_of(s, "a") == -1 && self_of(s, "c") == -1 && self_of(s, "d") == -1);
	assert_true(s->stacks->value == 3 * MIB && s->memory->given_back == 9 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_GROWTH, .from_s = 0.005, .to_s = 0.65 });
	assert_true(self_of(s, "b") == 6 * MIB && self_of(s, "c") == 9 * MIB);
	done(&m);
}

static void times_choose_what_each_view_means(void **state)
{
	struct made m;
	const struct selection *s;

	(void)state;
	begin(&m);
	take(&m, 0, 0, "a", 1, 30 * MIB);
	give(&m, 300, 0, 1);
	take(&m, 400, 0, "b", 2, 20 * MIB);
	give(&m, 500, 0, 2);
	take(&m, 600, 0, "c", 3, 10 * MIB);
	finish(&m);
	s = chosen(&m, (struct choice){ .memory = MEMORY_PEAK, .from_s = 0.35 });
	assert_true(self_of(s, "b") == 20 * MIB && s->stacks->value == 20 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_PEAK, .from_s = 0.1, .to_s = 0.2 });
	assert_true(self_of(s, "a") == 30 * MIB && fabs(s->memory->to_s - 0.1) < 1e-9);
	s = chosen(&m, (struct choice){ .memory = MEMORY_LEAKS, .to_s = 0.45 });
	assert_true(self_of(s, "b") == 20 * MIB && s->stacks->value == 20 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_CHURN, .from_s = 0.1, .to_s = 0.55 });
	assert_true(s->stacks->value == 20 * MIB);
	done(&m);
}

static void what_an_ending_interpreter_releases_was_there_to_the_end(void **state)
{
	struct made m;
	const struct memory *x;
	const struct selection *s;

	(void)state;
	begin(&m);
	m.done_ms = 500;
	take(&m, 0, 0, "a", 1, 2 * MIB);
	take(&m, 300, 0, "b", 2, 4 * MIB);
	give(&m, 400, 0, 1); /* by the program, which the sampler sees afterwards */
	give(&m, 600, 0, 2); /* while the interpreter ends */
	x = finish(&m);
	assert_true(x->all.live.value == 4 * MIB);
	s = chosen(&m, (struct choice){ .memory = MEMORY_GROWTH, .from_s = 0.2 });
	assert_true(self_of(s, "b") == 4 * MIB && fabs(s->memory->to_s - 0.5) < 1e-9);
	s = chosen(&m, (struct choice){ .memory = MEMORY_LEAKS, .to_s = 0.7 });
	assert_true(s->stacks->value == 0);
	done(&m);
}

/* ---- what is estimated ----------------------------------------------------------------------- */

static void samples_stand_for_others(void **state)
{
	struct made m;
	const struct memory *x;
	const struct profile_function *f;
	const struct selection *s;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 10; i++)
		event(&m, i, 0, "a", MEMORY_ALLOC, 100 + i, 1024, 64);
	writer_add(m.w, RECORD_memory_total,
		&(struct rec_memory_total){ .t_ns = START_NS,
			.process = m.process[0],
			.allocated_bytes = 650000,
			.n_allocated = 635,
			.n_sampled = 12,
			.n_dropped = 2,
			.n_frees_dropped = 1,
			.period_bytes = 65536 });
	x = finish(&m);
	assert_true(x->all.allocated.value == 10 * 64 * 1024 && x->all.allocated.count == 640);
	assert_true(x->all.counted_bytes == 650000 && x->all.counted_n == 635);
	assert_true(x->is_at_least && x->is_at_most && x->period_bytes == 65536);
	s = chosen(&m, (struct choice){ .memory = MEMORY_CHURN });
	f = &s->profile->functions[0];
	assert_true(f->cost.self_count == 640 && f->cost.self_n == 10);
	assert_true(f->cost.self.low < 0.6 && f->cost.self.high > 1.7 && f->cost.self.high < 2);
	assert_true(fabs(s->memory->interval.low - f->cost.self.low * s->profile->value) < 1);
	done(&m);
}

/* A period so long that nothing was sampled. */
static void totals_alone_are_told(void **state)
{
	struct made m;
	const struct memory *x;

	(void)state;
	begin(&m);
	for (size_t i = 0; i < 2; i++)
		writer_add(m.w, RECORD_memory_total,
			&(struct rec_memory_total){ .t_ns = START_NS,
				.process = m.process[i],
				.allocated_bytes = 1000,
				.n_allocated = 10,
				.period_bytes = 1 << 30 });
	x = finish(&m);
	assert_non_null(x);
	assert_true(x->all.allocated.value == 0 && x->all.counted_bytes == 2000);
	done(&m);
}

static void the_curve_keeps_what_is_largest(void **state)
{
	struct made m;
	const struct memory *x;
	double most = 0;

	(void)state;
	begin(&m);
	for (uint64_t i = 0; i < 5000; i++) {
		take(&m, i, 0, "a", 1, i == 2345 ? 77 * MIB : MIB);
		give(&m, i, 0, 1);
		take(&m, i, 0, "a", 1, i == 2346 ? 66 * MIB : MIB); /* stays for a millisecond */
	}
	x = finish(&m);
	assert_int_equal(x->n_points, MEMORY_POINTS);
	for (size_t i = 0; i < x->n_points; i++)
		most = fmax(most, x->curve[i].bytes);
	assert_true(most == 66 * MIB); /* the other one was there for no time at all */
	assert_true(x->all.peak.value == 66 * MIB && fabs(x->all.peak_s - 2.346) < 1e-9);
	done(&m);
}

/* ---- what cannot be believed ----------------------------------------------------------------- */

static void odd_records_do_no_harm(void **state)
{
	static const double weights[] = { 0, -1, NAN, INFINITY, 1e300, 0.3 };
	struct made m;
	const struct memory *x;

	(void)state;
	begin(&m);
	give(&m, 0, 0, 99);
	take(&m, 1, 0, "a", 1, MIB);
	take(&m, 2, 0, "b", 1, 2 * MIB); /* where another one is */
	event(&m, 3, 0, "c", MEMORY_RESIZE, 1, 3 * MIB, 1);
	event(&m, 4, 0, "d", 77, 1, 3 * MIB, 1); /* no such event: a release */
	for (uint64_t i = 0; i < sizeof weights / sizeof *weights; i++)
		event(&m, 5, 0, "e", MEMORY_ALLOC, 200 + i, UINT64_MAX, weights[i]);
	end_process(&m, 1, 0); /* before most of it */
	x = finish(&m);
	assert_int_equal(x->blocks->n_unknown_releases, 1);
	assert_int_equal(x->blocks->n_lost_releases, 1);
	assert_true(isfinite(x->all.peak.value) && isfinite(x->all.allocated.value));
	assert_true(isfinite(sampled_sum_interval(&x->all.allocated).high));
	for (int view = MEMORY_PEAK; view < MEMORY_VIEWS_; view++)
		chosen(&m, (struct choice){ .memory = (enum memory_view)view });
	done(&m);
}

static void what_means_nothing_is_refused(void **state)
{
	struct made m, other;
	struct err e = ERR_INIT;
	struct selection *s;

	(void)state;
	begin(&m);
	take(&m, 0, 0, "a", 1, MIB);
	finish(&m);
	assert_true(recording_select(m.r,
			    &(struct choice){ .memory = MEMORY_PEAK, .state = STACKS_CPU }, &s,
			    &e) < 0);
	assert_true(recording_select(m.r, &(struct choice){ .memory = MEMORY_PEAK, .idle = true },
			    &s, &e) < 0);
	assert_true(recording_select(m.r,
			    &(struct choice){ .memory = MEMORY_PEAK, .threads = "nobody" }, &s,
			    &e) < 0);
	begin(&other);
	assert_null(finish(&other));
	assert_true(
		recording_select(other.r, &(struct choice){ .memory = MEMORY_PEAK }, &s, &e) < 0);
	assert_non_null(strstr(e.text, "run --memory"));
	done(&m);
	done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_the_moment_with_most),
		cmocka_unit_test(records_need_no_order),
		cmocka_unit_test(processes_have_one_peak_together),
		cmocka_unit_test(growth_is_what_places_have_more),
		cmocka_unit_test(times_choose_what_each_view_means),
		cmocka_unit_test(what_an_ending_interpreter_releases_was_there_to_the_end),
		cmocka_unit_test(samples_stand_for_others),
		cmocka_unit_test(totals_alone_are_told),
		cmocka_unit_test(the_curve_keeps_what_is_largest),
		cmocka_unit_test(odd_records_do_no_harm),
		cmocka_unit_test(what_means_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
