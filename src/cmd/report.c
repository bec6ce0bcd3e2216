/* SPDX-License-Identifier: MIT
 * leadline report: shows a recording as tables. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/arguments.h"
#include "analyze/regions.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/folder.h"
#include "cmd/report_ops.h"
#include "cmd/report_ranks.h"
#include "cmd/result.h"
#include "cmd/stored.h"
#include "formats/results.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

enum { ROWS = 20, TREE_ROWS = 60, TORCH_ROWS = 100 };

struct options {
	bool json, processes, functions, lines, threads, tasks, regions, args, host, tree,
		no_legend;
	bool only_mine, pprof_text, idle, ci, raw, line_profiler, has_limit, has_to;
	const char *bytecode;
	bool stack, overview, steps, ops, kernels, modules, memory, compile, streams, by_shape,
		top_level, as_torch, distributed;
	const char *torch_version, *limit_text;
	const char *callers, *callees, *filter, *thread, *sort;
	uint64_t limit, n_stack, from_ns, to_ns;
	int color, state;
};

static const char *const states[] = { "wall", "cpu", "gil", "wait", NULL }; /* enum stacks_state */

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 0, "functions", OPT_FLAG, NULL, false, "show functions", FIELD(functions), SIZE_MAX,
		NULL },
	{ 0, "lines", OPT_FLAG, NULL, false, "show hot lines in their source", FIELD(lines),
		SIZE_MAX, NULL },
	{ 0, "pprof-text", OPT_FLAG, NULL, false,
		"print what pprof -text does, with --lines what pprof -text -lines does",
		FIELD(pprof_text), SIZE_MAX, NULL },
	{ 0, "tree", OPT_FLAG, NULL, false, "show who calls whom, from the top down", FIELD(tree),
		SIZE_MAX, NULL },
	{ 0, "callers", OPT_STRING, "F", false, "show who calls F: a name or a pattern",
		FIELD(callers), SIZE_MAX, NULL },
	{ 0, "callees", OPT_STRING, "F", false, "show what F calls", FIELD(callees), SIZE_MAX,
		NULL },
	{ 0, "bytecode", OPT_STRING, "F", false,
		"show the instructions of F, as dis does, with their time", FIELD(bytecode),
		SIZE_MAX, NULL },
	{ 0, "stack", OPT_FLAG, NULL, false, "with --bytecode: what is on the value stack",
		FIELD(stack), SIZE_MAX, NULL },
	{ 0, "threads", OPT_FLAG, NULL, false, "show threads", FIELD(threads), SIZE_MAX, NULL },
	{ 0, "tasks", OPT_FLAG, NULL, false, "show asyncio's tasks", FIELD(tasks), SIZE_MAX, NULL },
	{ 0, "regions", OPT_FLAG, NULL, false, "show the spans the program has named",
		FIELD(regions), SIZE_MAX, NULL },
	{ 0, "args", OPT_FLAG, NULL, false,
		"show which functions were called with the same arguments again", FIELD(args),
		SIZE_MAX, NULL },
	{ 0, "processes", OPT_FLAG, NULL, false, "as --host, with each process under its parent",
		FIELD(processes), SIZE_MAX, NULL },
	{ 0, "host", OPT_FLAG, NULL, false, "show CPU, memory, IO and the time line, as time does",
		FIELD(host), SIZE_MAX, NULL },
	{ 0, "overview", OPT_FLAG, NULL, false,
		"of a trace of torch.profiler: show where the time of its steps went, and what to "
		"change",
		FIELD(overview), SIZE_MAX, NULL },
	{ 0, "steps", OPT_FLAG, NULL, false, "likewise: show its steps one by one", FIELD(steps),
		SIZE_MAX, NULL },
	{ 0, "ops", OPT_FLAG, NULL, false, "likewise: show its operators", FIELD(ops), SIZE_MAX,
		NULL },
	{ 0, "kernels", OPT_FLAG, NULL, false, "likewise: show what ran on the device",
		FIELD(kernels), SIZE_MAX, NULL },
	{ 0, "modules", OPT_FLAG, NULL, false,
		"likewise: show the modules of the model, as they call each other", FIELD(modules),
		SIZE_MAX, NULL },
	{ 0, "memory", OPT_FLAG, NULL, false,
		"likewise: show how much memory was in use when, and what allocated it",
		FIELD(memory), SIZE_MAX, NULL },
	{ 0, "compile", OPT_FLAG, NULL, false,
		"likewise: show what torch.compile compiled, how long, and how often it was used",
		FIELD(compile), SIZE_MAX, NULL },
	{ 0, "streams", OPT_FLAG, NULL, false,
		"likewise: show what the streams of the device waited for", FIELD(streams),
		SIZE_MAX, NULL },
	{ 0, "distributed", OPT_FLAG, NULL, false,
		"of a trace of each rank, or their folder: show what they wait for, and for whom",
		FIELD(distributed), SIZE_MAX, NULL },
	{ 0, "group-by-shape", OPT_FLAG, NULL, false,
		"with --ops: a row for each operator and shapes of its inputs; with --kernels: for "
		"each kernel and how it was launched",
		FIELD(by_shape), SIZE_MAX, NULL },
	{ 0, "group-by-stack", OPT_U64, "N", false,
		"with --ops: a row for each operator and N Python functions around it",
		FIELD(n_stack), SIZE_MAX, NULL },
	{ 0, "top-level", OPT_FLAG, NULL, false,
		"with --ops: only operators that no other one called", FIELD(top_level), SIZE_MAX,
		NULL },
	{ 0, "torch", OPT_STRING, "VERSION", true,
		"with --ops: print what key_averages().table() of that version of torch prints",
		FIELD(torch_version), FIELD(as_torch), NULL },
	{ 's', "sort", OPT_STRING, "KEY", false,
		"order rows by self, total or name, or by one of pstats' keys; with --ops by one "
		"of "
		"torch's",
		FIELD(sort), SIZE_MAX, NULL },
	{ 'n', "limit", OPT_STRING, "N", false, "rows of each table (else 20; 0 or -1: all)",
		FIELD(limit_text), SIZE_MAX, NULL },
	{ 0, "only-mine", OPT_FLAG, NULL, false,
		"leave out library code; its time counts as self of the code of yours that called "
		"it",
		FIELD(only_mine), SIZE_MAX, NULL },
	{ 0, "filter", OPT_STRING, "RE", false,
		"show rows whose \"qualname (file:line)\" matches; shares stay those of all",
		FIELD(filter), SIZE_MAX, NULL },
	{ 0, "thread", OPT_STRING, "LIST", false,
		"count only these threads: tids, numbers as #1, names; with commas", FIELD(thread),
		SIZE_MAX, NULL },
	{ 0, "state", OPT_CHOICE, "STATE", false,
		"count samples of all time, on a CPU, holding the GIL, or not on a CPU",
		FIELD(state), SIZE_MAX, states },
	{ 0, "idle", OPT_FLAG, NULL, false, "count threads that only wait for work, too",
		FIELD(idle), SIZE_MAX, NULL },
	{ 0, "from", OPT_DURATION, "T", false, "begin this long after the start: 1.5s, 200ms, 2m",
		FIELD(from_ns), SIZE_MAX, NULL },
	{ 0, "to", OPT_DURATION, "T", false, "end this long after the start", FIELD(to_ns),
		FIELD(has_to), NULL },
	{ 0, "raw", OPT_FLAG, NULL, false, "show traced times as stamped, with what tracing cost",
		FIELD(raw), SIZE_MAX, NULL },
	{ 0, "line-profiler", OPT_FLAG, NULL, false,
		"show counted lines as line_profiler prints them, and nothing else",
		FIELD(line_profiler), SIZE_MAX, NULL },
	{ 0, "ci", OPT_FLAG, NULL, false, "show 95 % intervals of self and total", FIELD(ci),
		SIZE_MAX, NULL },
	{ 0, "json", OPT_FLAG, NULL, false, "print JSON", FIELD(json), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
	{ 0, "no-legend", OPT_FLAG, NULL, false, "leave out the line that explains",
		FIELD(no_legend), SIZE_MAX, NULL },
};

/* ---- what is asked --------------------------------------------------------------------------- */

/* "on a CPU, only mine, 1 s to 2 s": what the numbers are of. */
static void describe(const struct options *o, struct buf *to)
{
	static const char *const words[] = { "", "on a CPU", "holding the GIL", "not on a CPU" };
	char from[UNITS_TEXT], until[UNITS_TEXT];
	const char *parts[5] = { words[o->state], o->only_mine ? "only mine" : "",
		o->idle && o->state == STACKS_WALL ? "with idle threads" : "" };
	struct buf thread = BUF_INIT, range = BUF_INIT;

	if (o->thread) {
		buf_adds(&thread, "thread ");
		text_add_printable(&thread, o->thread, strlen(o->thread));
	}
	if (o->from_ns || o->has_to) {
		units_format(from, UNIT_SECONDS, (double)o->from_ns / 1e9);
		units_format(until, UNIT_SECONDS, (double)o->to_ns / 1e9);
		buf_printf(
			&range, "%s to %s", o->from_ns ? from : "start", o->has_to ? until : "end");
	}
	parts[3] = buf_str(&thread);
	parts[4] = buf_str(&range);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (*parts[i])
			buf_printf(to, "%s%s", to->n ? ", " : "", parts[i]);
	buf_done(&thread);
	buf_done(&range);
}

static struct result_choice choice_of(const struct options *o)
{
	/* Who asks for threads, or for what waits, gets all of it. */
	return (struct result_choice){ .stacks = { .state = (enum stacks_state)o->state,
					       .from_s = (double)o->from_ns / 1e9,
					       .to_s = (double)o->to_ns / 1e9,
					       .only_mine = o->only_mine,
					       .fold_idle = !o->idle && !o->thread &&
						       o->state == STACKS_WALL },
		.threads = o->thread,
		.filter = o->filter,
		.callers = o->callers,
		.callees = o->callees,
		.bytecode = o->bytecode,
		.sort = o->sort,
		.tree = o->tree,
		.tasks = o->tasks,
		.source = !o->json || o->bytecode,
		.line_profiler = o->line_profiler };
}

static bool is_plain(const struct options *o)
{
	return !o->functions && !o->lines && !o->threads && !o->tasks && !o->regions && !o->args &&
		!o->tree && !o->callers && !o->callees && !o->bytecode;
}

static struct result_page page_of(const struct options *o, const struct result *r, const char *what)
{
	return (struct result_page){ .output = output_for(STDOUT_FILENO, o->color),
		.processes = o->processes,
		.functions = o->functions || is_plain(o),
		.lines = o->lines || is_plain(o),
		.source = o->lines,
		.threads = o->threads,
		.regions = o->regions || (is_plain(o) && r->regions && r->regions->n),
		.arguments = o->args || (is_plain(o) && r->arguments && r->arguments->n),
		.tree = o->tree,
		.stack = o->stack,
		.idle = o->idle,
		.ci = o->ci,
		.raw = o->raw,
		.line_profiler = o->line_profiler,
		.host = o->host || o->processes,
		.legend = !o->no_legend,
		.limit = o->has_limit ? o->limit : ROWS,
		.tree_limit = o->has_limit ? o->limit : TREE_ROWS,
		.what = what };
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Of all the options only these say anything of benchmark results; of operators those of rows, too. */
static bool asks_for_profile(const struct options *o, bool or_rows)
{
	struct options rest;
	static const struct options none;

	memcpy(&rest, o, sizeof rest);
	rest.json = rest.no_legend = false;
	rest.color = 0;
	if (!or_rows) {
		rest.sort = rest.limit_text = NULL;
		rest.has_limit = false;
		rest.limit = 0;
	}
	return memcmp(&rest, &none, sizeof rest) != 0;
}

static int report_benchmarks(const struct command *self, const char *path, const struct options *o)
{
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	int status;

	if (asks_for_profile(o, true))
		status = err_set(&e, ERR_USAGE,
			"%s holds benchmark results: of these options only --json and --color "
			"apply",
			path);
	else
		status = stored_report(
			path, o->json, output_for(STDOUT_FILENO, o->color), &text, &e);
	status = status < 0 ? command_fail(self, &e) : output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int report(const struct command *self, const char *path, const struct options *o)
{
	struct result_choice choice = choice_of(o);
	struct buf text = BUF_INIT, what = BUF_INIT;
	struct err e = ERR_INIT;
	struct result_page page;
	struct result r;
	int status = result_open_choice(&r, path, &choice, &e);

	describe(o, &what);
	page = page_of(o, &r, buf_str(&what));
	if (status == 0 && o->json)
		result_json_page(&r, &page, &text);
	else if (status == 0 && o->pprof_text)
		result_print_pprof(&r, o->lines, o->has_limit ? o->limit : 0, states[o->state],
			buf_str(&what), &text);
	else if (status == 0)
		result_print(&r, &page, &text);
	status = status < 0 ? command_fail(self, &e) : output_write(STDOUT_FILENO, &text);
	result_done(&r);
	buf_done(&text);
	buf_done(&what);
	return status;
}

/* How many pages of a trace. */
static int asks_for_trace(const struct options *o)
{
	return o->overview + o->steps + o->ops + o->kernels + o->modules + o->memory + o->compile +
		o->streams;
}

static struct report_ops ops_of(const struct options *o)
{
	uint64_t limit = o->has_limit ? o->limit : o->as_torch ? TORCH_ROWS : ROWS;
	uint64_t tree_limit = o->has_limit ? o->limit : TREE_ROWS;

	return (struct report_ops){ .output = output_for(STDOUT_FILENO, o->color),
		.overview = o->overview,
		.steps = o->steps,
		.ops = o->ops,
		.kernels = o->kernels,
		.modules = o->modules,
		.memory = o->memory,
		.compile = o->compile,
		.streams = o->streams,
		.json = o->json,
		.by_shape = o->by_shape,
		.n_stack = o->n_stack < 1000 ? (unsigned)o->n_stack : 1000,
		.top_level = o->top_level,
		.as_torch = o->as_torch,
		.version = o->torch_version,
		.sort = o->sort,
		.limit = limit ? (size_t)limit : SIZE_MAX,
		.tree_limit = tree_limit ? (size_t)tree_limit : SIZE_MAX };
}

static int show_asked(const struct command *self, const char *path, const struct options *o)
{
	struct report_ops ops = ops_of(o);

	return asks_for_trace(o) ? report_ops(self, path, &ops) : report(self, path, o);
}

/* Nothing says what of the file: of operators the overview and their table. */
static int show_alone(const struct command *self, const char *path, const struct options *o)
{
	struct report_ops ops = ops_of(o);
	int status;

	ops.overview = ops.ops = true;
	if (report_ops_alone(path))
		return report_ops(self, path, &ops);
	return report_ops_trace(self, path, &ops, &status) ? status : report(self, path, o);
}

static int show_ranks(const struct command *self, char **paths, const struct options *o)
{
	return report_ranks(self, paths,
		&(struct report_ranks){ .output = output_for(STDOUT_FILENO, o->color),
			.json = o->json,
			.limit = !o->has_limit ? ROWS
				: o->limit     ? (size_t)o->limit
					       : SIZE_MAX });
}

/* 0: all of them, which torch says as -1. */
static void parse_limit(struct options *o, struct err *e)
{
	if (!o->limit_text)
		return;
	o->has_limit = true;
	if (strcmp(o->limit_text, "-1") != 0 && !text_parse_u64(o->limit_text, &o->limit))
		err_set(e, ERR_USAGE, "report: --limit wants a number, not '%s'", o->limit_text);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct err e = ERR_INIT;
	int first;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	parse_limit(&o, &e);
	if (e.code)
		return command_fail(self, &e);
	if (o.distributed && argc > first && asks_for_trace(&o) + !is_plain(&o) == 0)
		return show_ranks(self, argv + first, &o);
	if (o.distributed && argc > first)
		err_set(&e, ERR_USAGE,
			"--distributed compares ranks: of the other options only --limit, --json "
			"and --color apply");
	else if (argc - first != 1)
		err_set(&e, ERR_USAGE,
			argc == first ? "which recording? For example: leadline report run.lead"
				      : "one recording at a time; --distributed takes a trace "
					"of each rank");
	else if (o.has_to && o.to_ns <= o.from_ns)
		err_set(&e, ERR_USAGE, "--to must lie behind --from");
	else if (o.stack && !o.bytecode)
		err_set(&e, ERR_USAGE, "--stack needs --bytecode F");
	else if (!o.ops && (o.n_stack || o.top_level || o.as_torch))
		err_set(&e, ERR_USAGE, "--group-by-stack, --top-level and --torch need --ops");
	else if (o.by_shape && !o.ops && !o.kernels)
		err_set(&e, ERR_USAGE, "--group-by-shape needs --ops or --kernels");
	else if (o.as_torch && o.n_stack)
		err_set(&e, ERR_USAGE, "--group-by-stack is of our own table; leave out --torch");
	else if (o.as_torch && asks_for_trace(&o) > 1)
		err_set(&e, ERR_USAGE, "--torch prints one table alone: leave out the other pages");
	else if (folder_is(argv[first]))
		err_set(&e, ERR_USAGE,
			"%s is a folder: --distributed compares the traces of ranks in it, "
			"leadline view shows all that it holds",
			argv[first]);
	if (e.code)
		return command_fail(self, &e);
	if (results_are_in(argv[first]))
		return report_benchmarks(self, argv[first], &o);
	return asks_for_profile(&o, false) ? show_asked(self, argv[first], &o)
					   : show_alone(self, argv[first], &o);
}

const struct command command_report = {
	.group = "why",
	.name = "report",
	.arguments = "[options] FILE",
	.summary = "Show a recording as tables",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples =
		"  leadline report run.lead\n"
		"  leadline run.lead                  the same\n"
		"  leadline report run.lead --lines --only-mine\n"
		"  leadline report run.lead --tree\n"
		"  leadline report run.lead --callers forward --state cpu\n"
		"  leadline report results.json       of pyperf, pytest-benchmark or hyperfine\n"
		"  leadline report --distributed log  the traces of all ranks in this folder\n",
	.run = run,
};
