/* SPDX-License-Identifier: MIT
 * See usage.h. The verdict comes first, in words; then the numbers; then the pictures. */
#include "view/host/usage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/host/bound.h"
#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/host/process_tree.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { LABEL = 11, NARROW = 80 };

/* ---- words ----------------------------------------------------------------------------------- */

/* What the program does for that share of the time. */
static const struct {
	const char *word, *does, *more;
} verdicts[BOUND_MAX_] = {
	[BOUND_CPU] = { "CPU-bound", "it computes", "" },
	[BOUND_MEMORY] = { "memory-bound", "it waits for memory to be freed or read back", "" },
	[BOUND_SYSTEM] = { "system-bound", "the kernel works for it", "" },
	[BOUND_IO] = { "IO-bound", "it waits for storage", "" },
	[BOUND_WAITING] = { "waiting", "it sleeps", " (timer, lock, network or another process)" },
	[BOUND_GIL] = { "GIL-limited", "its Python threads take turns on one core", "" },
	[BOUND_GPU] = { "GPU-bound", "it waits for the GPU", "" },
};

/* Time without a CPU that is worth a word. */
static const double BUSY_HOST = 0.05;

static int percent(double share)
{
	return (int)lround(share * 100);
}

void usage_add_verdict(const struct bound *b, struct buf *out)
{
	if (!b->is_known) {
		buf_adds(out, "What it is bound by is unknown: the recording ends too early");
		return;
	}
	if (b->verdict == BOUND_TOO_SHORT) {
		buf_adds(out, "too short to tell what it is bound by");
		return;
	}
	if (b->verdict == BOUND_MIXED) {
		buf_printf(out, "mixed: no single thing takes most of the time (%s %d %%",
			bound_names[b->largest], percent(b->decided));
		if (b->second != BOUND_MIXED)
			buf_printf(out, ", %s %d %%", bound_names[b->second], percent(b->next));
		buf_addc(out, ')');
	} else {
		buf_printf(out, "%s: %s %d %% of the time%s", verdicts[b->verdict].word,
			verdicts[b->verdict].does, percent(b->decided), verdicts[b->verdict].more);
	}
	if (b->share[BOUND_RUNNABLE] >= BUSY_HOST)
		buf_printf(out, ", not counting the %d %% in which it waited for a busy CPU",
			percent(b->share[BOUND_RUNNABLE]));
}

static void print_exit(const struct usage *u, const struct usage_view *v, struct buf *out)
{
	if (u->is_running) {
		style_add(out, u->is_attached ? STYLE_DIM : STYLE_WARNING, v->colour,
			u->is_attached ? "still running"
				       : "(still running when the recording stops)");
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

/* What the CPU time is a share of: "1.95 s of user time in 2.00 s: 98 % of one core". Time spent waiting for a CPU is
 * no part of it. */
static void add_whole(const struct usage *u, const struct bound *b, double of_s, struct buf *out)
{
	bool is_one = b->parallelism_wanted < 1.005, has_queue = b->share[BOUND_RUNNABLE] >= 0.005;
	char of[UNITS_TEXT], wall[UNITS_TEXT], queue[UNITS_TEXT];

	buf_printf(out, " in %s", units_format(of, UNIT_SECONDS, of_s));
	units_format(wall, UNIT_SECONDS, u->wall_s);
	units_format(queue, UNIT_SECONDS, b->queue_s);
	if (!is_one && has_queue)
		buf_printf(out, " (%s × %.2f threads, less %s waiting for a busy CPU)", wall,
			b->parallelism_wanted, queue);
	else if (!is_one)
		buf_printf(out, " (%s × %.2f threads)", wall, b->parallelism_wanted);
}

static void add_formula(const struct usage *u, const struct bound *b, struct buf *out)
{
	bool is_user = b->verdict == BOUND_CPU || b->verdict == BOUND_GIL;
	bool is_system = b->verdict == BOUND_SYSTEM;
	bool is_one = b->parallelism_wanted < 1.005, has_queue = b->share[BOUND_RUNNABLE] >= 0.005;
	double used_s = (is_system ? 0 : u->user_s) + (is_user ? 0 : u->system_s);
	double of_s = u->wall_s * b->parallelism_wanted - (has_queue ? b->queue_s : 0);
	char value[UNITS_TEXT];

	buf_printf(out, "%s of %s time", units_format(value, UNIT_SECONDS, used_s),
		is_user             ? "user"
			: is_system ? "system"
				    : "CPU");
	add_whole(u, b, fmax(of_s, 0), out);
	buf_printf(out, ": %d %%%s", of_s > 0 ? percent(fmin(1, used_s / of_s)) : 100,
		is_one ? " of one core" : "");
	if (is_one && has_queue)
		buf_printf(out, "; it waited another %s for a busy CPU",
			units_format(value, UNIT_SECONDS, b->queue_s));
}

static void add_gil(const struct usage *u, const struct bound *b, struct buf *out)
{
	double own = 1 - b->share[BOUND_RUNNABLE];
	int share = own > 0 ? percent(b->share[BOUND_GIL] / own) : 0;

	if (b->verdict == BOUND_GIL && b->is_estimate)
		buf_printf(out,
			". That is a guess: its threads together use one core at most and sleep on "
			"a lock in between, with %.0f CPUs allowed; leadline run sees the GIL itself",
			u->cpus_allowed);
	else if (share > 0)
		buf_printf(out, "; for %d %%, other threads waited for the GIL", share);
}

void usage_add_rule(const struct usage *u, const struct bound *b, struct buf *out)
{
	char value[UNITS_TEXT];

	if (b->verdict == BOUND_TOO_SHORT && b->share[BOUND_RUNNABLE] > BOUND_STARVED) {
		buf_printf(out,
			"It waited for a busy CPU %d %% of the time; the remaining %s of CPU time are too little to judge.",
			percent(b->share[BOUND_RUNNABLE]),
			units_format(value, UNIT_SECONDS, u->user_s + u->system_s));
		return;
	}
	if (b->verdict == BOUND_TOO_SHORT) {
		buf_printf(out,
			"Its %s of CPU time are %.0f ticks of the kernel's clock: too few to tell user time from system time.",
			units_format(value, UNIT_SECONDS, u->user_s + u->system_s),
			fmax(1, b->n_ticks));
		return;
	}
	add_formula(u, b, out);
	switch (b->verdict) {
	case BOUND_CPU:
		add_gil(u, b, out);
		buf_adds(out,
			". Waiting for memory counts as computing here: there are no hardware counters");
		break;
	case BOUND_SYSTEM:
		buf_printf(out, "; %s page faults a second%s",
			units_format(value, UNIT_COUNT, b->faults_per_s),
			b->faults_per_s > 50000
				? ": memory is allocated and released again and again"
				: "");
		break;
	case BOUND_GIL:
		add_gil(u, b, out);
		break;
	case BOUND_IO:
		buf_adds(out, "; in between, threads were in uninterruptible sleep (D)");
		break;
	case BOUND_WAITING:
		buf_adds(out,
			b->has_states ? "; in between, no thread was running or reading"
				      : "; too short to tell waiting from IO");
		break;
	case BOUND_MEMORY:
		buf_adds(out, "; the host reports stalls on memory (an estimate)");
		break;
	case BOUND_GPU:
	case BOUND_RUNNABLE:
	case BOUND_MIXED:
	case BOUND_TOO_SHORT:
	case BOUND_MAX_:
		break;
	}
	buf_addc(out, '.');
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

void usage_print_head(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out)
{
	struct buf command = BUF_INIT, verdict = BUF_INIT;

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
	usage_add_verdict(b, &verdict);
	style_wrap(out, buf_str(&verdict), 0, v->width);
	style_end(out, STYLE_ACCENT, v->colour);
	buf_done(&verdict);
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
	char text[UNITS_TEXT];
	size_t outlived = 0;

	for (size_t i = 0; i < u->n_processes; i++)
		outlived += u->processes[i].is_running;
	label(out, "processes");
	buf_printf(out, "%s%zu   ", u->is_complete ? "" : "at least ", u->n_processes);
	number(out, "threads at most", UNIT_COUNT, u->peak_threads);
	if (outlived)
		buf_printf(out, "%zu still running   ", outlived);
	if (u->unwaited_cpu_s > 0)
		buf_printf(out, "≥ %s of CPU in children that nobody waited for",
			units_format(text, UNIT_SECONDS, u->unwaited_cpu_s));
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

/* Lines of figures with three blanks between them; where one is too long, it goes on below its first figure. */
static void add_folded(struct buf *out, const char *text, size_t width)
{
	while (*text) {
		size_t n = strcspn(text, "\n"), at = n < LABEL + 2 ? n : LABEL + 2, used = at;

		buf_add(out, text, at);
		while (at < n) {
			const char *gap = memmem(text + at, n - at, "   ", 3);
			size_t end = gap ? (size_t)(gap - text) : n;
			size_t columns = text_width_n(text + at, end - at);

			if (used > LABEL + 2 && used + 3 + columns > width) {
				buf_addc(out, '\n');
				buf_fill(out, ' ', LABEL + 2);
				used = LABEL + 2;
			} else if (used > LABEL + 2) {
				buf_adds(out, "   ");
				used += 3;
			}
			buf_add(out, text + at, end - at);
			used += columns;
			at = gap ? end + 3 : n;
		}
		buf_addc(out, '\n');
		text += n + (text[n] == '\n');
	}
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void print_shares(const struct bound *b, const struct usage_view *v, struct buf *out)
{
	static const enum bound_kind order[] = { BOUND_CPU, BOUND_GIL, BOUND_SYSTEM, BOUND_MEMORY,
		BOUND_RUNNABLE, BOUND_IO, BOUND_WAITING, BOUND_GPU };
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
		"Read /proc %.0f times; that used %s%s%s%s; processes found by %s%s.", u->n_looks,
		units_format(own, UNIT_SECONDS, u->own_cpu_s), is_known ? " of CPU (" : "",
		is_known ? share : "", is_known ? " of a core)" : "", u->method,
		u->is_complete ? ""
			       : ", short-lived ones may be missing (their CPU time is counted)");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, text, 0, v->width);
	if (v->legend)
		style_wrap(out,
			"threads: the mean number running or ready to run while any was, at most "
			"the CPUs allowed (help P). largest process: as in /usr/bin/time; all: RSS "
			"of all processes together. 'leadline help bound' explains the verdicts.",
			0, v->width);
	style_end(out, STYLE_DIM, v->colour);
}

void usage_print(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out)
{
	struct buf numbers = BUF_INIT;

	usage_print_head(u, b, v, out);
	buf_addc(out, '\n');
	print_numbers(u, &numbers);
	/* A little over is better than a line more, where all of it is seen anyway. */
	add_folded(out, buf_str(&numbers), v->width < NARROW ? v->width : TEXT_UNBOUNDED);
	buf_done(&numbers);
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
