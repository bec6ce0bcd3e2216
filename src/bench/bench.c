/* SPDX-License-Identifier: MIT
 * See bench.h. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/vec.h"
#include "bench/environment.h"
#include "bench/random_layout.h"
#include "base/banned.h"

enum {
	PROCESSES = 10,
	LEAST_PROCESSES = 3,
	BATCHES = 20,      /* of a process: enough to see a warm-up end */
	TIMEIT_REPEAT = 5, /* what timeit takes when only -n is given */
	LEAST_RUNS = 10,   /* of a command */
	PROGRESS_UNITS = 1000,
};

/* Long against the clock (25 ns) and a timer interrupt, short against what else happens on a machine. */
static const double batch_s = 0.01;

struct bench_plan bench_plan_default(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct bench_plan){ .time_s = 3,
		.least_runs = LEAST_RUNS,
		.most_runs = 100000,
		.seed = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec };
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void show(struct progress *p, double share)
{
	if (p)
		progress_set(p, (uint64_t)(PROGRESS_UNITS * fmin(1, fmax(0, share))));
}

typedef VEC(struct series_process) processes;

static void keep(struct arena *a, processes *all, struct series *ret)
{
	ret->n = all->n;
	ret->processes = arena_copy(a, all->v, all->n * sizeof *all->v);
	vec_done(all);
}

static struct statement_plan first_plan(const struct bench_plan *plan, bool exact, unsigned wanted)
{
	if (exact)
		return (struct statement_plan){ .loops = plan->loops,
			.batches = plan->repeat ? plan->repeat : TIMEIT_REPEAT,
			.least_batches = plan->repeat ? plan->repeat : TIMEIT_REPEAT,
			.budget_s = INFINITY };
	return (struct statement_plan){ .loops = plan->loops,
		.batches = plan->repeat ? plan->repeat : BATCHES,
		.least_batches = plan->repeat ? plan->repeat : 1,
		.batch_s = batch_s,
		.budget_s = plan->time_s / wanted };
}

int bench_statement(struct arena *a, const struct statement *s, const struct bench_plan *plan,
	const char *name, struct progress *progress, struct series *ret,
	struct statement_notes *notes, struct err *e)
{
	unsigned wanted = s->exact ? 1 : plan->processes ? plan->processes : PROCESSES;
	struct statement_plan each = first_plan(plan, s->exact, wanted);
	uint64_t seed = plan->seed;
	processes all = VEC_INIT;
	struct timespec start;
	int status = 0;

	*ret = (struct series){ .name = name, .unit_of_run = "batch" };
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (all.n < wanted) {
		struct series_process p;
		struct series_state state;
		uint64_t began_ns = now_ns();

		environment_state(&state);
		status = statement_measure(s, &each, random_next(&seed), a, &p, notes, e);
		if (status < 0)
			break;
		p.state = state;
		p.t_ns = began_ns;
		vec_push(&all, p);
		each.loops = p.loops;
		show(progress, (double)all.n / wanted);
		if (!plan->processes && all.n >= LEAST_PROCESSES &&
			seconds_since(&start) > 2 * plan->time_s)
			break;
	}
	if (status < 0 && all.n && child_was_interrupted())
		status = 0;
	keep(a, &all, ret);
	if (!s->exact)
		series_cut_warmup(ret);
	return status;
}

static struct series_process run_as_process(
	struct arena *a, const struct child_result *r, double subtract_s)
{
	struct series_value v = { .seconds = fmax(0, r->wall_s - subtract_s),
		.user_s = r->user_s,
		.system_s = r->system_s,
		.n_preempted = r->n_preempted,
		.n_minor_faults = r->n_minor_faults,
		.n_major_faults = r->n_major_faults };

	return (struct series_process){ .v = arena_copy(a, &v, sizeof v),
		.n = 1,
		.loops = 1,
		.max_rss_bytes = r->max_rss_bytes,
		.first_s = NAN,
		.exit_status = r->status };
}

/* Whether that is enough: so many runs, or at least so many and so much time. */
static bool is_enough(const struct bench_plan *plan, size_t n, double elapsed)
{
	if (plan->runs)
		return n >= plan->runs;
	return n >= plan->most_runs || (n >= plan->least_runs && elapsed >= plan->time_s);
}

/* What the kernel says of the machine changes more slowly than short commands run, and costs as much as some of them. */
enum { STATE_NS = 20000000 };

int bench_command(struct arena *a, const struct commandline *c, const struct bench_plan *plan,
	struct progress *progress, struct series *ret, struct buf *ret_stderr, struct err *e)
{
	uint64_t seed = plan->seed, looked_ns = 0;
	processes all = VEC_INIT;
	struct series_state state = { 0 };
	double elapsed = 0;
	int status = 0;

	*ret = (struct series){ .name = c->name, .unit_of_run = "run", .is_command = true };
	for (unsigned i = 0; !is_enough(plan, all.n, elapsed) && !child_was_interrupted(); i++) {
		struct child_result r;
		uint64_t began_ns = now_ns();

		if (i == 0 || began_ns - looked_ns > STATE_NS) {
			environment_state(&state);
			looked_ns = began_ns;
		}
		status = commandline_run(c, random_next(&seed), &r, ret_stderr, e);
		if (status < 0)
			break;
		if (child_was_interrupted())
			break;
		if (r.status && !c->ignore_failure) {
			status = err_set(e, ERR_MEASURED,
				"run %u of '%s' exited with status %d; -i measures it anyway",
				i + 1, c->name, r.status);
			break;
		}
		if (i < plan->warmup)
			continue;
		vec_push(&all, run_as_process(a, &r, c->subtract_s));
		all.v[all.n - 1].state = state;
		all.v[all.n - 1].t_ns = began_ns;
		elapsed += r.wall_s;
		show(progress,
			plan->runs
				? (double)all.n / plan->runs
				: fmin(elapsed / plan->time_s, (double)all.n / plan->least_runs));
	}
	keep(a, &all, ret);
	if (status == 0 && ret->n == 0)
		return err_set(e, ERR_MEASURED, "interrupted before the first run was over");
	return status;
}
