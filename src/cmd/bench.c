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
#include "cmd/bench_counts.h"
#include "json/comparison.h"
#include "json/values.h"
#include "view/bench/bench.h"
#include "view/bench/growth.h"
#include "view/bench/scaling.h"
#include "view/bench/counts.h"
#include "base/banned.h"

#define FIELD(f) offsetof(struct bench_options, f)

static const char *const units[] = { "auto", "nsec", "usec", "msec", "sec", NULL };

static const struct opt options_table[] = {
	{ .letter = 'n',
		.name = "number",
		.kind = OPT_U64,
		.value = "N",
		.help = "loops per batch; -n or -r measures one process, exactly as timeit does",
		.offset = FIELD(loops),
		.given_offset = FIELD(has_loops) },
	{ .letter = 'r',
		.name = "repeat",
		.kind = OPT_U64,
		.value = "N",
		.help = "batches, as in timeit (default: 5); for a command: runs, as in hyperfine",
		.offset = FIELD(repeat),
		.given_offset = FIELD(has_repeat) },
	{ .letter = 'u',
		.name = "unit",
		.kind = OPT_CHOICE,
		.value = "UNIT",
		.help = "time unit of timeit's line",
		.offset = FIELD(unit),
		.choices = units },
	{ .letter = 'v',
		.name = "verbose",
		.kind = OPT_FLAG,
		.help = "also print raw times and a description of this machine",
		.offset = FIELD(verbose) },
	{ .letter = 'c',
		.name = "command",
		.kind = OPT_LIST,
		.value = "CMD",
		.help = "time a shell command; may be repeated",
		.offset = FIELD(commands) },
	{ .letter = 'w',
		.name = "warmup",
		.kind = OPT_U64,
		.value = "N",
		.help = "run a command N times before measuring it",
		.offset = FIELD(warmup) },
	{ .name = "cold",
		.kind = OPT_FLAG,
		.help = "evict the files a command opens from the page cache before each run (needs root)",
		.offset = FIELD(cold) },
	{ .name = "warm",
		.kind = OPT_FLAG,
		.help = "run a command once before measuring it, so that its files are cached",
		.offset = FIELD(warm) },
	{ .name = "runs",
		.kind = OPT_U64,
		.value = "N",
		.help = "run a command exactly N times",
		.offset = FIELD(runs) },
	{ .letter = 'm',
		.name = "min-runs",
		.kind = OPT_U64,
		.value = "N",
		.help = "run a command at least N times (default: 10)",
		.offset = FIELD(least_runs),
		.given_offset = FIELD(has_least) },
	{ .letter = 'M',
		.name = "max-runs",
		.kind = OPT_U64,
		.value = "N",
		.help = "run a command at most N times",
		.offset = FIELD(most_runs) },
	{ .name = "processes",
		.kind = OPT_U64,
		.value = "N",
		.help = "fresh interpreters per statement (default: 10)",
		.offset = FIELD(processes) },
	{ .name = "time",
		.kind = OPT_DURATION,
		.value = "SECONDS",
		.help = "time to spend on each benchmark, roughly (default: 3)",
		.offset = FIELD(time_ns) },
	{ .letter = 'L',
		.name = "parameter-list",
		.kind = OPT_PAIRS,
		.value = "NAME VALUES",
		.help = "replace {NAME} by each of VALUES (a,b,c) in turn; may be repeated: all combinations",
		.offset = FIELD(lists) },
	{ .letter = 'P',
		.name = "parameter-scan",
		.kind = OPT_TRIPLES,
		.value = "NAME LOW HIGH",
		.help = "as -L, for the numbers from LOW to HIGH",
		.offset = FIELD(ranges) },
	{ .letter = 'D',
		.name = "parameter-step-size",
		.kind = OPT_STRING,
		.value = "STEP",
		.help = "step of -P (default: 1)",
		.offset = FIELD(step) },
	{ .name = "scan",
		.kind = OPT_STRING,
		.value = "NAME=FROM..TO",
		.help = "measure at growing sizes NAME (1k..1M, or 10,100,1000) and show how the time grows",
		.offset = FIELD(scan) },
	{ .name = "scale",
		.kind = OPT_STRING,
		.value = "threads=1,2,4",
		.help = "measure in 1, 2, 4 threads at once and show what limits scaling",
		.offset = FIELD(scale) },
	{ .name = "count",
		.kind = OPT_STRING,
		.value = "instructions",
		.optional_value = true,
		.help = "count Python calls, lines and bytecodes instead of timing; =instructions: also CPU instructions",
		.offset = FIELD(count),
		.given_offset = FIELD(has_count) },
	SUBJECT_OPTIONS,
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "save all values and the state of the machine as a recording",
		.offset = FIELD(output) },
	OUTPUT_FORCE(FIELD(force)),
	{ .name = "history",
		.kind = OPT_STRING,
		.value = "DIR",
		.help = "add the results to those in DIR and show at which commits times changed",
		.offset = FIELD(history) },
	{ .name = "json",
		.kind = OPT_STRING,
		.value = "FILE",
		.optional_value = true,
		.help = "write all values as pyperf JSON, to FILE or in place of the report",
		.offset = FIELD(json),
		.given_offset = FIELD(has_json) },
	{ .name = "export",
		.kind = OPT_LIST,
		.value = "NAME[=FILE]",
		.help = "also write csv, hyperfine, markdown, pyperf or pytest-benchmark; may be repeated",
		.offset = FIELD(exports) },
	{ .name = "export-json",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "hyperfine's name for --export hyperfine=FILE",
		.offset = FIELD(export_json) },
	{ .name = "export-csv",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "hyperfine's name for --export csv=FILE",
		.offset = FIELD(export_csv) },
	{ .name = "export-markdown",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "hyperfine's name for --export markdown=FILE",
		.offset = FIELD(export_markdown) },
	{ .name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = FIELD(color),
		.choices = color_choices },
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
		output_line(STDERR_FILENO, "leadline: expect noise:");
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
		return err_set(e, ERR_USAGE, "-n and -r must be at least 1");
	if (o->cold && o->warm)
		return err_set(e, ERR_USAGE, "--cold and --warm cannot be combined");
	if ((o->cold || o->warm) && o->has_count)
		return err_set(e, ERR_USAGE,
			"%s does not apply to --count, which measures no times",
			o->cold ? "--cold" : "--warm");
	if (bench_counts_check(o->count, e) < 0)
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
		struct bench_counts c;
		struct bench_counts_view v = { &c, NULL, NULL, output.colour, output.width };

		status = bench_counts_measure(&s->arena, &one->subject, s->o->count != NULL, &c, e);
		if (status < 0)
			break;
		if (!is_json && out.n)
			buf_addc(&out, '\n');
		if (is_json) {
			json_page_begin(&w, &out);
			bench_counts_json(&c, NULL, NULL, &w);
			json_page_end(&w);
		} else {
			bench_counts_print(&v, &out);
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
	.summary = "Benchmark statements, functions and commands, with error bars",
	.options = options_table,
	.n_options = N_OPTIONS,
	.examples = "  leadline bench 'sum(range(100))'\n"
		    "  leadline bench -s 'x = list(range(1000))' 'x[::-1]' 'list(reversed(x))'\n"
		    "  leadline bench -n 1000 -r 5 'pass'               exactly as timeit does\n"
		    "  leadline bench -- python3 script.py\n"
		    "  leadline bench -c 'grep -r x .' -c 'rg x'        as hyperfine does\n"
		    "  leadline bench --cold -- python3 -c 'import numpy'\n"
		    "  leadline bench -L level 1,6,9 -c 'gzip -{level} -k -c data'\n"
		    "  leadline bench --scan n=1k..1M -s 'x = list(range(n))' 'sorted(x)'\n"
		    "  leadline bench --json=before.json mypackage:main\n",
	.run = run,
};
