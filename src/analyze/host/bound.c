/* SPDX-License-Identifier: MIT
 * See bound.h. */
#include "analyze/host/bound.h"

#include <math.h>
#include <stddef.h>

#include "analyze/host/usage.h"
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
	[BOUND_RUNNABLE] = "runnable",
	[BOUND_MIXED] = "mixed",
	[BOUND_TOO_SHORT] = "too_short",
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

/* Before its end a thread was seen ready to run that got no CPU any more, so that nobody tells how long it waited. */
static double untold_s(const struct usage *u)
{
	double from_s = u->wall_s;

	for (size_t i = u->n_ticks; i-- > 0;) {
		const struct usage_tick *t = &u->ticks[i];

		if (!t->n_running)
			break;
		from_s = t->t_s;
		if (t->cpu + t->queue > 0.05)
			break;
		from_s -= t->dt_s;
	}
	return fmax(0, u->wall_s - from_s);
}

static struct demand measure(const struct usage *u, double cpu)
{
	double most = units_is_known(u->cpus_allowed) && u->cpus_allowed > 0 ? u->cpus_allowed : 1;
	struct demand d = { 0 };
	double seen = 0, unseen, queued, waits;

	for (size_t i = 0; i < u->n_ticks; i++) {
		const struct usage_tick *t = &u->ticks[i];
		double room = fmin(most, fmax(1, t->n_threads));
		double running = fmin(t->cpu, room), queue = fmin(t->queue, room - running);

		seen += t->cpu * t->dt_s;
		d.runnable_s += (running + queue) * t->dt_s;
		d.queue_s += queue * t->dt_s;
		d.busy_s += fmin(1, running + queue) * t->dt_s;
		d.idle_looks += t->n_running == 0;
		d.disk_looks += t->n_running == 0 && t->n_disk > 0;
	}
	/* CPU time of processes and threads too short to be seen, and after the last look: taken as one
	 * after the other, as far as the clock leaves room for it, else side by side; and as having waited for CPUs as
	 * what was seen did. */
	unseen = fmax(0, cpu - seen);
	waits = d.queue_s > 0 ? d.queue_s / (seen + d.queue_s) : 0;
	queued = seen > 0 ? unseen * d.queue_s / seen : 0;
	queued = fmax(queued, fmax(0, untold_s(u) - unseen) * waits);
	d.busy_s = fmin(u->wall_s, d.busy_s + unseen);
	queued = fmin(queued, u->wall_s - d.busy_s);
	d.busy_s += queued;
	d.queue_s += queued;
	d.runnable_s += unseen + queued;
	return d;
}

static double gil_seconds(const struct usage *u)
{
	double sum = 0;

	for (size_t i = 0; i < u->n_processes; i++)
		sum += u->processes[i].gil_cpu_s;
	return sum;
}

static bool is_gil_guessed(const struct usage *u)
{
	for (size_t i = 0; i < u->n_processes; i++)
		if (u->processes[i].gil_cpu_s > 0 && !u->processes[i].is_gil_seen)
			return true;
	return false;
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

/* ---- the verdict ----------------------------------------------------------------------------- */

static void choose(struct bound *b)
{
	double own = fmax(1 - or_zero(b->share[BOUND_RUNNABLE]), 1e-9);

	b->largest = b->second = BOUND_MIXED;
	b->decided = b->next = 0;
	for (int k = 0; k < BOUND_RUNNABLE; k++) {
		double share = or_zero(b->share[k]) / own;

		if (share > b->decided) {
			b->next = b->decided;
			b->second = b->largest;
			b->decided = share;
			b->largest = (enum bound_kind)k;
		} else if (share > b->next) {
			b->next = share;
			b->second = (enum bound_kind)k;
		}
	}
	b->verdict = b->decided >= BOUND_SHARE && b->decided >= BOUND_LEAD * b->next ? b->largest
										     : BOUND_MIXED;
}

/* Shares of a run that used so much CPU time. */
static struct bound split(const struct usage *u, double user_s, double system_s)
{
	struct bound b = { .is_known = true, .parallelism_wanted = 1 };
	struct demand d = measure(u, user_s + system_s);
	double of, idle, busy;

	for (int k = 0; k < BOUND_MAX_; k++)
		b.share[k] = UNITS_UNKNOWN;
	if (d.busy_s > 0)
		b.parallelism_wanted = fmax(1, d.runnable_s / d.busy_s);
	of = fmax(u->wall_s, 1e-9) * b.parallelism_wanted;
	b.queue_s = d.queue_s;
	b.share[BOUND_CPU] = fmin(1, user_s / of);
	b.share[BOUND_SYSTEM] = fmin(1 - b.share[BOUND_CPU], system_s / of);
	busy = b.share[BOUND_CPU] + b.share[BOUND_SYSTEM];
	b.share[BOUND_RUNNABLE] = fmin(1 - busy, d.queue_s / of);
	b.share[BOUND_GIL] = 0;
	if (user_s > 0) /* what the kernel does meanwhile is the kernel's */
		b.share[BOUND_GIL] = fmin(
			b.share[BOUND_CPU], gil_seconds(u) * user_s / (user_s + system_s) / of);
	b.share[BOUND_CPU] -= b.share[BOUND_GIL];
	idle = fmax(0, 1 - busy - b.share[BOUND_RUNNABLE]);
	b.has_states = d.idle_looks >= 3 || idle < 0.05;
	if (b.has_states)
		b.share[BOUND_IO] = d.idle_looks > 0 ? idle * d.disk_looks / d.idle_looks : 0;
	b.share[BOUND_WAITING] = fmax(0, idle - (b.has_states ? b.share[BOUND_IO] : 0));
	split_memory(u, &b);
	choose(&b);
	return b;
}

/* Of so many ticks a share was user's: the share of the time that may be, at least or at most (Wilson, 95 %). */
static double share_of_ticks(double share, double n, double z)
{
	double centre = share + z * z / (2 * n);
	double half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

	return (centre + half) / (1 + z * z / n);
}

/* Of which the share is not known to a fifth; that no single thing takes most of the time is soon known. */
enum { FEW_TICKS = 25, FEW_FOR_MIXED = 10 };

/* Whether the verdict would be another one if the clock had ticked at other moments. */
static bool is_too_short(const struct usage *u, const struct bound *b)
{
	double user = or_zero(u->user_s), cpu = user + or_zero(u->system_s);
	double share = cpu > 0 ? user / cpu : 1, n = fmax(b->n_ticks, 1);

	if (b->n_ticks >= (b->verdict == BOUND_MIXED ? FEW_FOR_MIXED : FEW_TICKS))
		return false;
	for (int i = 0; i < 4; i++) {
		double used = fmax(0, cpu + (i & 2 ? u->unsure_s : -u->unsure_s));
		double of_it = share_of_ticks(share, n, i & 1 ? 1.96 : -1.96);

		if (split(u, used * of_it, used * (1 - of_it)).verdict != b->verdict)
			return true;
	}
	return false;
}

struct bound bound_build(const struct usage *u)
{
	struct bound b;

	if (u->is_foreign || !(u->wall_s > 0) || !units_is_known(u->user_s + u->system_s)) {
		b = (struct bound){ .verdict = BOUND_MIXED, .largest = BOUND_MIXED };
		for (int k = 0; k < BOUND_MAX_; k++)
			b.share[k] = UNITS_UNKNOWN;
		b.parallelism_wanted = b.queue_s = b.faults_per_s = UNITS_UNKNOWN;
		b.decided = b.next = b.n_ticks = UNITS_UNKNOWN;
		return b;
	}
	b = split(u, or_zero(u->user_s), or_zero(u->system_s));
	b.n_ticks = (or_zero(u->user_s) + or_zero(u->system_s)) / u->tick_s;
	if (is_too_short(u, &b) || b.share[BOUND_RUNNABLE] > BOUND_STARVED)
		b.verdict = BOUND_TOO_SHORT;
	b.is_estimate = b.verdict == BOUND_MEMORY || (b.verdict == BOUND_GIL && is_gil_guessed(u));
	b.faults_per_s = (u->minor_faults + u->major_faults) / fmax(u->wall_s, 1e-9);
	return b;
}
