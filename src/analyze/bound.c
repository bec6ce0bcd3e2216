/* SPDX-License-Identifier: MIT
 * See bound.h. */
#include "analyze/bound.h"

#include <math.h>
#include <stddef.h>

#include "analyze/usage.h"
#include "base/units.h"
#include "base/banned.h"

const char *const bound_names[BOUND_MAX_] = {
	[BOUND_CPU] = "cpu",
	[BOUND_MEMORY] = "memory",
	[BOUND_SYSTEM] = "system",
	[BOUND_IO] = "io",
	[BOUND_WAITING] = "waiting",
	[BOUND_GIL] = "gil",
	[BOUND_GPU] = "gpu",
	[BOUND_MIXED] = "mixed",
};

struct demand {
	double busy_s;                 /* wall time in which something was running or runnable */
	double runnable_s;             /* thread time of the same, at most cpus_allowed at once */
	double queue_s;                /* part of it waiting for a CPU */
	double idle_looks, disk_looks; /* looks with nothing running, and those of them with D */
};

static double or_zero(double v)
{
	return units_is_known(v) ? v : 0;
}

static struct demand measure(const struct usage *u)
{
	double most = units_is_known(u->cpus_allowed) && u->cpus_allowed > 0 ? u->cpus_allowed : 1;
	double cpu = or_zero(u->user_s) + or_zero(u->system_s);
	struct demand d = { 0 };
	double seen = 0, unseen;

	for (size_t i = 0; i < u->n_ticks; i++) {
		const struct usage_tick *t = &u->ticks[i];
		double running = fmin(t->cpu, most), idle = fmax(0, 1 - t->cpu - t->queue);
		/* Waiting for a CPU goes where the rest of the time goes: for a program that mostly
		 * sleeps it is the latency of waking up, not a lack of CPUs. */
		double queue = running > 0 ? t->queue * running / (running + idle) : 0;

		queue = fmin(queue, fmax(0, most - running));

		seen += t->cpu * t->dt_s;
		d.runnable_s += (running + queue) * t->dt_s;
		d.queue_s += queue * t->dt_s;
		d.busy_s += fmin(1, running + queue) * t->dt_s;
		d.idle_looks += t->n_running == 0;
		d.disk_looks += t->n_running == 0 && t->n_disk > 0;
	}
	/* CPU time of processes and threads too short to be seen: taken as one after the other, as
	 * far as the clock leaves room for it, else side by side. */
	unseen = fmax(0, cpu - seen);
	d.busy_s = fmin(u->wall_s, d.busy_s + unseen);
	d.runnable_s += unseen;
	return d;
}

static double gil_seconds(const struct usage *u)
{
	double most = 0;

	for (size_t i = 0; i < u->n_processes; i++)
		most = fmax(most, u->processes[i].gil_s);
	return most;
}

/* Stalls on memory are part of system time and of sleep: taken from there. */
static void split_memory(const struct usage *u, struct bound *b)
{
	double stall = u->pressure_memory, from_waiting;

	if (!units_is_known(stall) || stall < 0.01 || !(u->major_faults > 0))
		return;
	stall = fmin(stall,
		b->share[BOUND_SYSTEM] + b->share[BOUND_WAITING] + or_zero(b->share[BOUND_IO]));
	b->share[BOUND_MEMORY] = stall;
	from_waiting = fmin(stall, b->share[BOUND_WAITING]);
	b->share[BOUND_WAITING] -= from_waiting;
	stall -= from_waiting;
	if (units_is_known(b->share[BOUND_IO])) {
		double from_io = fmin(stall, b->share[BOUND_IO]);

		b->share[BOUND_IO] -= from_io;
		stall -= from_io;
	}
	b->share[BOUND_SYSTEM] -= stall;
}

static enum bound_kind choose(const struct bound *b)
{
	enum bound_kind first = BOUND_CPU;
	double second = 0;

	for (int k = 0; k < BOUND_MIXED; k++)
		if (units_is_known(b->share[k]) && b->share[k] > b->share[first])
			first = (enum bound_kind)k;
	for (int k = 0; k < BOUND_MIXED; k++)
		if (units_is_known(b->share[k]) && (enum bound_kind)k != first)
			second = fmax(second, b->share[k]);
	return b->share[first] >= BOUND_SHARE && b->share[first] >= BOUND_LEAD * second
		? first
		: BOUND_MIXED;
}

struct bound bound_build(const struct usage *u)
{
	struct bound b = { .verdict = BOUND_MIXED, .parallelism_wanted = 1 };
	struct demand d = measure(u);
	double wall = fmax(u->wall_s, 1e-9), idle, user_share, gil;

	for (int k = 0; k < BOUND_MAX_; k++)
		b.share[k] = UNITS_UNKNOWN;
	b.is_known = !u->is_foreign && u->wall_s > 0 && units_is_known(u->user_s + u->system_s);
	b.verdict = BOUND_MIXED;
	if (!b.is_known) {
		b.parallelism_wanted = b.queue_s = b.faults_per_s = UNITS_UNKNOWN;
		return b;
	}
	if (d.busy_s > 0)
		b.parallelism_wanted = fmax(1, d.runnable_s / d.busy_s);
	b.queue_s = d.queue_s;
	user_share = fmin(1, or_zero(u->user_s) / (wall * b.parallelism_wanted));
	b.share[BOUND_SYSTEM] =
		fmin(1 - user_share, or_zero(u->system_s) / (wall * b.parallelism_wanted));
	b.share[BOUND_CPU] = fmin(
		1 - b.share[BOUND_SYSTEM], user_share + d.queue_s / (wall * b.parallelism_wanted));
	gil = fmin(b.share[BOUND_CPU], gil_seconds(u) / wall);
	b.share[BOUND_GIL] = gil;
	b.share[BOUND_CPU] -= gil;
	idle = fmax(0, 1 - b.share[BOUND_CPU] - b.share[BOUND_SYSTEM] - gil);
	b.has_states = d.idle_looks >= 3 || idle < 0.05;
	if (b.has_states)
		b.share[BOUND_IO] = d.idle_looks > 0 ? idle * d.disk_looks / d.idle_looks : 0;
	b.share[BOUND_WAITING] = fmax(0, idle - (b.has_states ? b.share[BOUND_IO] : 0));
	split_memory(u, &b);
	b.verdict = choose(&b);
	b.is_estimate = b.verdict == BOUND_GIL || b.verdict == BOUND_MEMORY;
	b.faults_per_s = (u->minor_faults + u->major_faults) / wall;
	return b;
}
