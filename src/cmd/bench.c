/* SPDX-License-Identifier: MIT
 * leadline bench: times statements, functions and commands, with the habits of timeit and hyperfine. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cmd/bench_history.h"
#include "cmd/bench_session.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/counting.h"
#include "json/comparison.h"
#include "json/values.h"
#include "view/bench.h"
#include "view/growth.h"
#include "view/scaling.h"
#include "view/counting.h"
#include "base/banned.h"

#define FIELD(f) offsetof(struct bench_options, f)

static const char *const units[] = { "auto", "nsec", "usec", "msec", "sec", NULL };

static const struct opt options_table[] = {
	{ 'n', "number", OPT_U64, "N", false,
		"loops of each batch; with -n or -r one process is measured exactly as timeit does",
		FIELD(loops), FIELD(has_loops), NULL },
	{ 'r', "repeat", OPT_U64, "N", false,
		"batches, as timeit (else 5 there); of a command: runs, as hyperfine",
		FIELD(repeat), FIELD(has_repeat), NULL },
	{ 'u', "unit", OPT_CHOICE, "UNIT", false, "unit of timeit's line", FIELD(unit), SIZE_MAX,
		units },
	{ 'v', "verbose", OPT_FLAG, NULL, false, "also print raw times and what this machine is",
		FIELD(verbose), SIZE_MAX, NULL },
	{ 'c', "command", OPT_LIST, "CMD", false, "time a shell command; may be repeated",
		FIELD(commands), SIZE_MAX, NULL },
	{ 'w', "warmup", OPT_U64, "N", false, "runs of a command before those that count",
		FIELD(warmup), SIZE_MAX, NULL },
	{ 0, "cold", OPT_FLAG, NULL, false,
		"drop the files that a command opens from memory before each run (as root)",
		FIELD(cold), SIZE_MAX, NULL },
	{ 0, "warm", OPT_FLAG, NULL, false,
		"run a command once before the runs that count, so that its files are in memory",
		FIELD(warm), SIZE_MAX, NULL },
	{ 0, "runs", OPT_U64, "N", false, "runs of a command, exactly", FIELD(runs), SIZE_MAX,
		NULL },
	{ 'm', "min-runs", OPT_U64, "N", false, "runs of a command at least (else 10)",
		FIELD(least_runs), FIELD(has_least), NULL },
	{ 'M', "max-runs", OPT_U64, "N", false, "runs of a command at most", FIELD(most_runs),
		SIZE_MAX, NULL },
	{ 0, "processes", OPT_U64, "N", false, "fresh interpreters per statement (else 10)",
		FIELD(processes), SIZE_MAX, NULL },
	{ 0, "time", OPT_DURATION, "SECONDS", false, "to spend on each, about (else 3)",
		FIELD(time_ns), SIZE_MAX, NULL },
	{ 'L', "parameter-list", OPT_PAIRS, "NAME VALUES", false,
		"{NAME} stands for each of the VALUES (a,b,c) in turn; may be repeated: all "
		"combinations",
		FIELD(lists), SIZE_MAX, NULL },
	{ 'P', "parameter-scan", OPT_TRIPLES, "NAME LOW HIGH", false,
		"the same for the numbers from LOW to HIGH", FIELD(ranges), SIZE_MAX, NULL },
	{ 'D', "parameter-step-size", OPT_STRING, "STEP", false, "of -P (else 1)", FIELD(step),
		SIZE_MAX, NULL },
	{ 0, "scan", OPT_STRING, "NAME=FROM..TO", false,
		"measure at growing sizes NAME (1k..1M, or 10,100,1000) and tell how the time "
		"grows",
		FIELD(scan), SIZE_MAX, NULL },
	{ 0, "scale", OPT_STRING, "threads=1,2,4", false,
		"measure in so many threads at once and tell what keeps them from scaling",
		FIELD(scale), SIZE_MAX, NULL },
	{ 0, "count", OPT_STRING, "instructions", true,
		"count calls, lines and bytecodes of Python instead of timing it; =instructions: "
		"those of the CPU, too",
		FIELD(count), FIELD(has_count), NULL },
	SUBJECT_OPTIONS,
	{ 'o', "output", OPT_STRING, "FILE", false,
		"keep all values, with the state of the machine, as a recording", FIELD(output),
		SIZE_MAX, NULL },
	{ 0, "history", OPT_STRING, "DIR", false,
		"add the results to those in DIR, and tell at which commits times changed",
		FIELD(history), SIZE_MAX, NULL },
	{ 0, "json", OPT_STRING, "FILE", true,
		"write pyperf's JSON, with all values, to FILE or instead of the report",
		FIELD(json), FIELD(has_json), NULL },
	{ 0, "export", OPT_LIST, "NAME[=FILE]", false,
		"write csv, hyperfine, markdown, pyperf or pytest-benchmark; may be repeated",
		FIELD(exports), SIZE_MAX, NULL },
	{ 0, "export-json", OPT_STRING, "FILE", false, "as hyperfine: --export hyperfine=FILE",
		FIELD(export_json), SIZE_MAX, NULL },
	{ 0, "export-csv", OPT_STRING, "FILE", false, "as hyperfine: --export csv=FILE",
		FIELD(export_csv), SIZE_MAX, NULL },
	{ 0, "export-markdown", OPT_STRING, "FILE", false, "as hyperfine: --export markdown=FILE",
		FIELD(export_markdown), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
};

enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

static void add_environment(const struct bench_session *s, struct buf *out)
{
	const struct environment *e = &s->before;

	buf_printf(out, "\nMeasured on %s, %d CPUs, %s", *e->cpu ? e->cpu : "an unknown CPU",
		e->cpus.online, e->kernel);
	if (s->statement.python[0])
		buf_printf(out, ", %s", s->statement.python);
	buf_printf(out, "; clock %s, governor %s, load %.2f, addresses %s",
		*e->clock ? e->clock : "unknown", *e->governor ? e->governor : "unknown", e->load,
		e->has_aslr ? "random" : "fixed");
	if (*e->commit)
		buf_printf(out, ", commit %s", e->commit);
	buf_addc(out, '\n');
}

/* Rows of sizes: how the time grows, in place of a block for each size. */
static void print_growth(struct bench_session *s, const struct output *output, struct buf *out)
{
	vec_each (&s->groups, g) {
		const struct growth_point *p = bench_session_points(s, g);
		struct growth growth = growth_of(p, g->n);
		struct growth_view v = { .what = g->name,
			.size = s->axis.name,
			.points = p,
			.n = g->n,
			.growth = &growth,
			.stopped = g->stopped,
			.colour = output->colour,
			.width = output->width };

		if (out->n)
			buf_addc(out, '\n');
		growth_print(&v, out);
	}
}

static void print_scaling(struct bench_session *s, const struct output *output, struct buf *out)
{
	unsigned n_cpus = (unsigned)fmax(1, floor(s->before.cpus.allowed));

	vec_each (&s->groups, g) {
		const struct scaling_point *p = bench_session_rates(s, g);
		struct scaling scaling = scaling_of(p, g->n, n_cpus);
		struct scaling_view v = { .what = g->name,
			.points = p,
			.n = g->n,
			.scaling = &scaling,
			.n_cpus = n_cpus,
			.has_gil = s->statement.has_gil,
			.python = s->statement.python,
			.colour = output->colour,
			.width = output->width };

		if (out->n)
			buf_addc(out, '\n');
		scaling_print(&v, out);
	}
}

static void print_series(struct bench_session *s, const struct output *output, struct buf *out)
{
	const struct bench_options *o = s->o;
	struct series_summary *sums = arena_new_n(&s->arena, struct series_summary, s->series.n);
	struct bench_view v = { .series = s->series.v,
		.sums = sums,
		.n = s->series.n,
		.timeit = (o->has_loops || o->has_repeat) && !s->series.v[0].is_command,
		.raw = o->verbose,
		.precision = o->verbose ? 6 : 3,
		.unit = (enum bench_unit)o->unit,
		.gc = o->subject.gc,
		.colour = output->colour,
		.width = output->width };

	for (size_t i = 0; i < s->series.n; i++)
		sums[i] = series_summarise(&s->arena, &s->series.v[i]);
	bench_print(&v, out);
}

static void show(struct bench_session *s)
{
	struct output output = output_for(STDOUT_FILENO, s->o->color);
	struct buf out = BUF_INIT, warnings = BUF_INIT;

	if (s->is_scale)
		print_scaling(s, &output, &out);
	else if (s->axis.n)
		print_growth(s, &output, &out);
	if (!s->axis.n || s->o->verbose)
		print_series(s, &output, &out);
	if (s->o->verbose)
		add_environment(s, &out);
	environment_warn(&s->before, &s->after, s->elapsed_s, &warnings);
	output_write(STDOUT_FILENO, &out);
	if (warnings.n)
		output_line(STDERR_FILENO, "leadline: noise is to be expected:");
	output_write(STDERR_FILENO, &warnings);
	buf_done(&out);
	buf_done(&warnings);
}

static int keep_history(struct bench_session *s, struct err *e)
{
	struct output output = output_for(STDOUT_FILENO, s->o->color);
	struct buf out = BUF_INIT;
	int status = bench_history_add(s, e);

	if (status == 0 && !bench_session_prints_export(s->o)) {
		status = bench_history_print(s, &output, &out, e);
		output_write(STDOUT_FILENO, &out);
	}
	buf_done(&out);
	return status;
}

static int check(const struct bench_options *o, struct err *e)
{
	if (o->history && bench_history_open(o->history, e) < 0)
		return -(int)e->code;
	if ((o->has_loops && !o->loops) || (o->has_repeat && !o->repeat))
		return err_set(e, ERR_USAGE, "-n and -r want at least 1");
	if (o->cold && o->warm)
		return err_set(e, ERR_USAGE, "--cold and --warm cannot be taken together");
	if ((o->cold || o->warm) && o->has_count)
		return err_set(e, ERR_USAGE, "%s is for times, not for --count",
			o->cold ? "--cold" : "--warm");
	if (counting_check(o->count, e) < 0)
		return -(int)e->code;
	return bench_session_check_exports(o, e);
}

/* Everything that was named, counted instead of timed. */
static int count_all(struct bench_session *s, struct err *e)
{
	struct output output = output_for(STDOUT_FILENO, s->o->color);
	bool is_json = s->o->has_json;
	struct buf out = BUF_INIT;
	struct json_writer w;
	int status = 0;

	vec_each (&s->items, one) {
		struct counting c;
		struct counting_view v = { &c, NULL, output.colour, output.width };

		status = counting_of(&s->arena, &one->subject, s->o->count != NULL, &c, e);
		if (status < 0)
			break;
		if (!is_json && out.n)
			buf_addc(&out, '\n');
		if (is_json) {
			json_page_begin(&w, &out);
			counting_json(&c, NULL, &w);
			json_page_end(&w);
		} else {
			counting_print(&v, &out);
		}
	}
	if (status == 0 && s->o->json)
		status = outfile_save(&out, s->o->json, e);
	else
		output_write(STDOUT_FILENO, &out);
	buf_done(&out);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct bench_options o = { 0 };
	struct bench_session s = { .o = &o, .arena = ARENA_INIT };
	struct err e = ERR_INIT, later = ERR_INIT;
	int first, status;

	if (opts_parse(options_table, N_OPTIONS, &o, argc, argv, true, &first, &e) < 0 ||
		check(&o, &e) < 0 || subject_check(&o.subject, &e) < 0)
		return command_fail(self, &e);
	status = bench_session_open(
		&s, argv + first, first > 0 && strcmp(argv[first - 1], "--") == 0, &e);
	if (status == 0)
		status = o.has_count ? count_all(&s, &e) : bench_session_measure(&s, &e);
	if (s.series.n) { /* results so far are kept, whatever came after */
		if (!bench_session_prints_export(&o))
			show(&s);
		if (bench_session_export(&s, &later) < 0 ||
			(o.history && status == 0 && keep_history(&s, &later) < 0))
			status = command_fail(self, &later);
	}
	if (status < 0)
		status = command_fail(self, &e);
	bench_session_close(&s);
	return status;
}

const struct command command_bench = {
	.group = "prove",
	.name = "bench",
	.arguments = "[options] STATEMENT… | MODULE:FUNCTION | -- CMD [ARGUMENT…]",
	.summary = "Time statements, functions and commands, with what their times may mean",
	.options = options_table,
	.n_options = N_OPTIONS,
	.examples = "  leadline bench 'sum(range(100))'\n"
		    "  leadline bench -s 'x = list(range(1000))' 'x[::-1]' 'list(reversed(x))'\n"
		    "  leadline bench -n 1000 -r 5 'pass'               as timeit, to the letter\n"
		    "  leadline bench -- python3 script.py\n"
		    "  leadline bench -c 'grep -r x .' -c 'rg x'        as hyperfine\n"
		    "  leadline bench --cold -- python3 -c 'import numpy'\n"
		    "  leadline bench -L level 1,6,9 -c 'gzip -{level} -k -c data'\n"
		    "  leadline bench --scan n=1k..1M -s 'x = list(range(n))' 'sorted(x)'\n"
		    "  leadline bench --json=before.json mypackage:main\n",
	.run = run,
};
