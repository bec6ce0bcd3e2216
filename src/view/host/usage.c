/* SPDX-License-Identifier: MIT
 * See usage.h. The verdict comes first, in words; then the numbers; then the pictures. */
#include "view/usage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/bound.h"
#include "analyze/usage.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/process_tree.h"
#include "view/style.h"
#include "base/banned.h"

enum { LABEL = 11 };

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const headline[BOUND_MAX_] = {
	[BOUND_CPU] = "CPU-bound: it computes nearly all the time",
	[BOUND_MEMORY] = "memory-bound: it waits for memory to be freed or read back",
	[BOUND_SYSTEM] = "system-bound: the kernel works for it most of the time",
	[BOUND_IO] = "IO-bound: it waits for storage most of the time",
	[BOUND_WAITING] =
		"waiting: it sleeps most of the time (timer, lock, network or another process)",
	[BOUND_GIL] = "GIL-limited: its Python threads take turns on one core",
	[BOUND_GPU] = "GPU-bound: it waits for the GPU most of the time",
	[BOUND_MIXED] = "mixed: no single thing takes most of the time",
};

static void print_exit(const struct usage *u, const struct usage_view *v, struct buf *out)
{
	if (u->is_running) {
		style_add(out, u->is_attached ? STYLE_DIM : STYLE_WARNING, v->colour,
			u->is_attached ? "still running" : "(not ended when the recording stops)");
	} else if (u->status == -1) {
		style_add(out, STYLE_DIM, v->colour, "ended");
	} else if (WIFSIGNALED(u->status)) {
		const char *name = sigabbrev_np(WTERMSIG(u->status));

		style_add(out, STYLE_WARNING, v->colour, "killed by signal %d (SIG%s)",
			WTERMSIG(u->status), name ? name : "?");
	} else {
		style_add(out, WEXITSTATUS(u->status) ? STYLE_WARNING : STYLE_DIM, v->colour,
			"exit status %d", WEXITSTATUS(u->status));
	}
}

void usage_add_rule(const struct usage *u, const struct bound *b, struct buf *out)
{
	char text[600], extra[300] = "", user[UNITS_TEXT], real[UNITS_TEXT], system[UNITS_TEXT],
			value[UNITS_TEXT];
	double p = b->parallelism_wanted;

	units_format(user, UNIT_SECONDS, u->user_s);
	units_format(real, UNIT_SECONDS, u->wall_s);
	units_format(system, UNIT_SECONDS, u->system_s);
	switch (b->verdict) {
	case BOUND_SYSTEM:
		snprintf(extra, sizeof extra, "; %s page faults a second%s",
			units_format(value, UNIT_COUNT, b->faults_per_s),
			b->faults_per_s > 50000
				? ": memory is mapped, touched and given back again and again"
				: "");
		break;
	case BOUND_GIL:
		snprintf(extra, sizeof extra,
			". Threads with 10 %% of a core or more together use 0.9 to 1.05 cores and "
			"sleep on a "
			"lock in between, with %.0f CPUs allowed (an estimate)",
			u->cpus_allowed);
		break;
	case BOUND_IO:
		snprintf(extra, sizeof extra,
			"; between that, threads were seen in uninterruptible sleep (D)");
		break;
	case BOUND_WAITING:
		snprintf(extra, sizeof extra,
			b->has_states ? "; between that, no thread was running or reading"
				      : "; too short to tell waiting from IO");
		break;
	case BOUND_MEMORY:
		snprintf(extra, sizeof extra, "; the host reports stalls on memory (an estimate)");
		break;
	case BOUND_CPU:
	case BOUND_GPU:
	case BOUND_MIXED:
	case BOUND_MAX_:
		break;
	}
	if (b->queue_s > 0.05 * u->wall_s && b->queue_s > 0.01)
		snprintf(extra + strlen(extra), sizeof extra - strlen(extra),
			"; %s more it was ready but other programs had the CPU",
			units_format(value, UNIT_SECONDS, b->queue_s));
	if (b->verdict == BOUND_SYSTEM)
		snprintf(text, sizeof text, "system %s / (real %s × P %.2f) = %.2f%s.", system,
			real, p, u->system_s / (u->wall_s * p), extra);
	else
		snprintf(text, sizeof text, "user %s / (real %s × P %.2f) = %.2f%s.", user, real, p,
			u->user_s / (u->wall_s * p), extra);
	buf_adds(out, text);
}

static void print_rule(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	usage_add_rule(u, b, &text);
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}

const char *usage_verdict(const struct bound *b)
{
	return b->is_known
		? headline[b->verdict]
		: "What it is bound by is unknown: the recording ends before it was seen";
}

void usage_print_head(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out)
{
	struct buf command = BUF_INIT;

	text_add_printable(&command, u->command, strlen(u->command));
	style_begin(out, STYLE_BOLD, v->colour);
	text_add_cut(
		out, buf_str(&command), v->width > 40 ? v->width - 28 : v->width, TEXT_CUT_MIDDLE);
	style_end(out, STYLE_BOLD, v->colour);
	buf_done(&command);
	buf_adds(out, "  ");
	print_exit(u, v, out);
	buf_addc(out, '\n');
	style_begin(out, STYLE_ACCENT, v->colour);
	style_wrap(out, usage_verdict(b), 0, v->width);
	style_end(out, STYLE_ACCENT, v->colour);
	if (b->is_known)
		print_rule(u, b, v, out);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void label(struct buf *out, const char *name)
{
	buf_printf(out, "  %-*s", LABEL, name);
}

static void number(struct buf *out, const char *name, enum unit unit, double value)
{
	char text[UNITS_TEXT];

	buf_printf(out, "%s %s   ", name, units_format(text, unit, value));
}

static void end_line(struct buf *out)
{
	while (out->n && out->data[out->n - 1] == ' ')
		out->data[--out->n] = '\0';
	buf_addc(out, '\n');
}

static void print_io(const struct usage *u, struct buf *out)
{
	char bytes[UNITS_TEXT], calls[UNITS_TEXT];

	label(out, "storage");
	number(out, "read", UNIT_BYTES, u->read_bytes);
	number(out, "written", UNIT_BYTES, u->write_bytes);
	end_line(out);
	label(out, "IO calls");
	buf_printf(out, "read %s in %s   ", units_format(bytes, UNIT_BYTES, u->read_chars),
		units_format(calls, UNIT_COUNT, u->read_calls));
	buf_printf(out, "written %s in %s", units_format(bytes, UNIT_BYTES, u->write_chars),
		units_format(calls, UNIT_COUNT, u->write_calls));
	end_line(out);
}

static void print_processes(const struct usage *u, struct buf *out)
{
	size_t outlived = 0;

	for (size_t i = 0; i < u->n_processes; i++)
		outlived += u->processes[i].is_running;
	label(out, "processes");
	buf_printf(out, "%s%zu   ", u->is_complete ? "" : "at least ", u->n_processes);
	number(out, "threads at most", UNIT_COUNT, u->peak_threads);
	if (outlived)
		buf_printf(out, "%zu still running", outlived);
	end_line(out);
}

static void print_numbers(const struct usage *u, struct buf *out)
{
	double cpus = usage_cpus_used(u);
	char text[UNITS_TEXT];

	label(out, "time");
	number(out, "real", UNIT_SECONDS, u->wall_s);
	number(out, "user", UNIT_SECONDS, u->user_s);
	number(out, "system", UNIT_SECONDS, u->system_s);
	if (units_is_known(cpus))
		buf_printf(out, "CPUs used %.2f of %s", cpus,
			units_format(text, UNIT_COUNT, u->cpus_allowed));
	end_line(out);
	label(out, "memory");
	number(out, "largest process", UNIT_BYTES, u->max_rss_bytes);
	number(out, "all: peak", UNIT_BYTES, u->peak_tree_rss_bytes);
	number(out, "mean", UNIT_BYTES, u->mean_tree_rss_bytes);
	if (units_is_known(u->peak_pss_bytes))
		number(out, "PSS", UNIT_BYTES, u->peak_pss_bytes);
	end_line(out);
	label(out, "faults");
	number(out, "minor", UNIT_COUNT, u->minor_faults);
	number(out, "major", UNIT_COUNT, u->major_faults);
	end_line(out);
	label(out, "switches");
	number(out, "voluntary", UNIT_COUNT, u->voluntary_switches);
	number(out, "involuntary", UNIT_COUNT, u->involuntary_switches);
	end_line(out);
	print_io(u, out);
	label(out, "pressure");
	number(out, "cpu", UNIT_SHARE, u->pressure_cpu);
	number(out, "io", UNIT_SHARE, u->pressure_io);
	number(out, "memory", UNIT_SHARE, u->pressure_memory);
	buf_adds(out, "(whole host)");
	end_line(out);
	print_processes(u, out);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void print_shares(const struct bound *b, const struct usage_view *v, struct buf *out)
{
	static const enum bound_kind order[] = { BOUND_CPU, BOUND_GIL, BOUND_SYSTEM, BOUND_MEMORY,
		BOUND_IO, BOUND_WAITING, BOUND_GPU };
	size_t width = v->width > 70 ? 40 : v->width > 40 ? v->width - 30 : 10;

	buf_adds(out, "\nWhere the time went, of wall time\n");
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		double share = b->share[order[i]];
		char text[UNITS_TEXT];

		if (!units_is_known(share) || (share < 0.0005 && order[i] != BOUND_CPU))
			continue;
		label(out, bound_names[order[i]]);
		buf_printf(out, "%7s  ", units_format(text, UNIT_SHARE, share));
		style_begin(out, STYLE_ACCENT, v->colour);
		style_bar(out, share, width);
		style_end(out, STYLE_ACCENT, v->colour);
		buf_addc(out, '\n');
	}
}

struct series {
	const char *name;
	enum unit unit;
	double (*get)(const struct usage_tick *t);
};

static double get_cpu(const struct usage_tick *t)
{
	return t->cpu;
}

static double get_rss(const struct usage_tick *t)
{
	return t->rss_bytes;
}

static double get_read(const struct usage_tick *t)
{
	return t->read_bytes_per_s;
}

static double get_write(const struct usage_tick *t)
{
	return t->write_bytes_per_s;
}

static double get_threads(const struct usage_tick *t)
{
	return t->n_threads;
}

static const struct series all_series[] = {
	{ "CPUs", UNIT_RATIO, get_cpu },
	{ "RSS", UNIT_BYTES, get_rss },
	{ "read/s", UNIT_BYTES, get_read },
	{ "written/s", UNIT_BYTES, get_write },
	{ "threads", UNIT_COUNT, get_threads },
};

/* Values at equal steps of time; each step takes the tick that covers it. Returns the highest. */
static double resample(const struct usage *u, const struct series *s, double *to, size_t n)
{
	double most = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		double t = (double)(i + 1) * u->wall_s / (double)n;

		while (at + 1 < u->n_ticks && u->ticks[at].t_s < t)
			at++;
		to[i] = s->get(&u->ticks[at]);
	}
	for (size_t i = 0; i < u->n_ticks; i++)
		if (u->ticks[i].dt_s >= 0.004) /* shorter looks round CPU time badly */
			most = fmax(most, s->get(&u->ticks[i]));
	return most;
}

static void print_growth(const struct usage *u, struct buf *out)
{
	char rate[UNITS_TEXT], span[UNITS_TEXT];
	double grown = u->rss_growth_per_s * u->rss_growth_span_s;

	if (!units_is_known(grown) || fabs(grown) < 1 << 20 ||
		fabs(grown) < 0.1 * u->mean_tree_rss_bytes)
		return;
	buf_printf(out, "  RSS %s in the last %s\n",
		units_format_rate(rate, UNIT_BYTES, u->rss_growth_per_s),
		units_format(span, UNIT_SECONDS, u->rss_growth_span_s));
}

static void print_series(
	const struct usage *u, bool only_memory, const struct usage_view *v, struct buf *out)
{
	size_t width = v->width > 60 ? 40 : 20, n = 2 * width;
	double *values = xcalloc(n, sizeof *values);

	buf_adds(out, "\nOver time\n");
	for (size_t i = 0; i < sizeof all_series / sizeof *all_series; i++) {
		double most = resample(u, &all_series[i], values, n);
		char text[UNITS_TEXT];

		if (most <= 0 || (only_memory && all_series[i].get != get_rss))
			continue;
		label(out, all_series[i].name);
		style_begin(out, STYLE_ACCENT, v->colour);
		style_sparkline(out, values, n, most, width);
		style_end(out, STYLE_ACCENT, v->colour);
		buf_printf(out, "  at most %s\n", units_format(text, all_series[i].unit, most));
	}
	print_growth(u, out);
	free(values);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_fidelity(const struct usage *u, const struct usage_view *v, struct buf *out)
{
	bool is_known = u->wall_s > 0 && units_is_known(u->own_cpu_s);
	char own[UNITS_TEXT], share[UNITS_TEXT], text[300];

	if (is_known)
		units_format(share, UNIT_SHARE, u->own_cpu_s / u->wall_s);
	snprintf(text, sizeof text,
		"Looked %.0f times at /proc; own cost %s%s%s%s; processes found by %s%s.",
		u->n_looks, units_format(own, UNIT_SECONDS, u->own_cpu_s),
		is_known ? " of CPU (" : "", is_known ? share : "", is_known ? " of a core)" : "",
		u->method,
		u->is_complete ? "" : ", short-lived ones can be missing (their CPU time is not)");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, text, 0, v->width);
	if (v->legend)
		style_wrap(out,
			"P: threads running or ready to run, while any was, at most the CPUs "
			"allowed. "
			"Largest process: as /usr/bin/time; all: sum of RSS at the looks. "
			"'leadline help bound' explains the verdicts.",
			0, v->width);
	style_end(out, STYLE_DIM, v->colour);
}

void usage_print(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out)
{
	usage_print_head(u, b, v, out);
	buf_addc(out, '\n');
	print_numbers(u, out);
	if (b->is_known)
		print_shares(b, v, out);
	if (u->n_ticks >= 8)
		print_series(u, false, v, out);
	if (v->tree)
		process_tree_print(u, v, out);
	print_fidelity(u, v, out);
}

void usage_print_memory(const struct usage *u, const struct usage_view *v, struct buf *out)
{
	struct buf command = BUF_INIT;

	text_add_printable(&command, u->command, strlen(u->command));
	buf_printf(out, "%s\n", buf_str(&command));
	buf_done(&command);
	label(out, "memory");
	if (units_is_known(u->max_rss_bytes) && !u->is_foreign)
		number(out, "largest process", UNIT_BYTES, u->max_rss_bytes);
	number(out, "peak", UNIT_BYTES, u->peak_tree_rss_bytes);
	number(out, "mean", UNIT_BYTES, u->mean_tree_rss_bytes);
	buf_printf(out, "in %.0f %s", (double)u->n_ticks, u->n_ticks == 1 ? "look" : "looks");
	end_line(out);
	label(out, "time");
	number(out, "from the first to the last", UNIT_SECONDS, u->wall_s);
	end_line(out);
	if (u->n_ticks >= 2)
		print_series(u, true, v, out);
	if (v->tree)
		process_tree_print(u, v, out);
}

void usage_print_posix(const struct usage *u, struct buf *out)
{
	buf_printf(out, "real %.2f\nuser %.2f\nsys %.2f\n", u->wall_s, u->user_s, u->system_s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
