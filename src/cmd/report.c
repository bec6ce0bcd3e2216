/* SPDX-License-Identifier: MIT
 * leadline report: shows a recording as tables. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/calls/arguments.h"
#include "analyze/samples/regions.h"
#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/choosing.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/folder.h"
#include "cmd/report_memory.h"
#include "cmd/report_ops.h"
#include "cmd/report_ranks.h"
#include "cmd/result.h"
#include "cmd/results_report.h"
#include "formats/format.h"
#include "formats/results.h"
#include "base/banned.h"

enum { ROWS = 20, TREE_ROWS = 60, TORCH_ROWS = 100 };

struct options {
	struct choosing choosing;
	bool json, processes, functions, lines, threads, tasks, regions, args, host, tree,
		no_legend;
	bool pprof_text, ci, raw, line_profiler, has_limit;
	const char *bytecode, *tasks_how, *memory_how;
	bool stack, overview, steps, ops, kernels, modules, memory, compile, streams, by_shape,
		top_level, places, as_torch, distributed;
	const char *torch_version, *limit_text;
	const char *callers, *callees, *sort;
	uint64_t limit, n_stack;
	int color;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .name = "functions",
		.kind = OPT_FLAG,
		.help = "show functions",
		.offset = FIELD(functions) },
	{ .name = "lines",
		.kind = OPT_FLAG,
		.help = "show hot lines in their source",
		.offset = FIELD(lines) },
	{ .name = "pprof-text",
		.kind = OPT_FLAG,
		.help = "print what pprof -text prints; with --lines: what pprof -text -lines "
			"prints",
		.offset = FIELD(pprof_text) },
	{ .name = "tree",
		.kind = OPT_FLAG,
		.help = "show who calls whom, from the top down",
		.offset = FIELD(tree) },
	{ .name = "callers",
		.kind = OPT_STRING,
		.value = "F",
		.help = "show who calls F, a name or a pattern; with --ops: an operator",
		.offset = FIELD(callers) },
	{ .name = "callees",
		.kind = OPT_STRING,
		.value = "F",
		.help = "show what F calls",
		.offset = FIELD(callees) },
	{ .name = "bytecode",
		.kind = OPT_STRING,
		.value = "F",
		.help = "show the bytecode of F as dis does, with the time of each instruction",
		.offset = FIELD(bytecode) },
	{ .name = "stack",
		.kind = OPT_FLAG,
		.help = "with --bytecode: show the value stack",
		.offset = FIELD(stack) },
	{ .name = "threads", .kind = OPT_FLAG, .help = "show threads", .offset = FIELD(threads) },
	{ .name = "tasks",
		.kind = OPT_STRING,
		.value = "each",
		.optional_value = true,
		.help = "show asyncio tasks by coroutine function; =each: one by one",
		.offset = FIELD(tasks_how),
		.given_offset = FIELD(tasks) },
	{ .name = "regions",
		.kind = OPT_FLAG,
		.help = "show regions that the program named",
		.offset = FIELD(regions) },
	{ .name = "args",
		.kind = OPT_FLAG,
		.help = "show which functions were called again with the same arguments",
		.offset = FIELD(args) },
	{ .name = "processes",
		.kind = OPT_FLAG,
		.help = "as --host, and show each process under its parent",
		.offset = FIELD(processes) },
	{ .name = "host",
		.kind = OPT_FLAG,
		.help = "show CPU, memory, IO and the timeline, as leadline time does",
		.offset = FIELD(host) },
	{ .name = "memory",
		.kind = OPT_STRING,
		.value = "VIEW",
		.optional_value = true,
		.help = "show memory use over time, and which code or PyTorch operators allocated "
			"it; =peak, =growth, =leaks, =churn: one view of recorded allocations",
		.offset = FIELD(memory_how),
		.given_offset = FIELD(memory) },
	{ .heading = "PyTorch traces",
		.name = "overview",
		.kind = OPT_FLAG,
		.help = "show where the time of the steps went, and what to change",
		.offset = FIELD(overview) },
	{ .name = "steps", .kind = OPT_FLAG, .help = "show each step", .offset = FIELD(steps) },
	{ .name = "ops", .kind = OPT_FLAG, .help = "show operators", .offset = FIELD(ops) },
	{ .name = "kernels",
		.kind = OPT_FLAG,
		.help = "show what ran on the device",
		.offset = FIELD(kernels) },
	{ .name = "modules",
		.kind = OPT_FLAG,
		.help = "show the model's modules as a tree",
		.offset = FIELD(modules) },
	{ .name = "compile",
		.kind = OPT_FLAG,
		.help = "show what torch.compile compiled, how long that took, and how often the "
			"code was used",
		.offset = FIELD(compile) },
	{ .name = "streams",
		.kind = OPT_FLAG,
		.help = "show what the device's streams waited for",
		.offset = FIELD(streams) },
	{ .name = "distributed",
		.kind = OPT_FLAG,
		.help = "show which ranks wait, and for whom; takes one trace per rank, their "
			"folder, or a recording of all ranks",
		.offset = FIELD(distributed) },
	{ .name = "group-by-shape",
		.kind = OPT_FLAG,
		.help = "with --ops: one row per operator and input shapes; with --kernels: per "
			"kernel and launch configuration",
		.offset = FIELD(by_shape) },
	{ .name = "group-by-stack",
		.kind = OPT_U64,
		.value = "N",
		.help = "with --ops: one row per operator and the N Python functions around it",
		.offset = FIELD(n_stack) },
	{ .name = "places",
		.kind = OPT_FLAG,
		.help = "with --ops: below each operator, list the lines and modules that call it, "
			"with times",
		.offset = FIELD(places) },
	{ .name = "top-level",
		.kind = OPT_FLAG,
		.help = "with --ops: only operators that no other operator called",
		.offset = FIELD(top_level) },
	{ .name = "torch",
		.kind = OPT_STRING,
		.value = "VERSION",
		.optional_value = true,
		.help = "with --ops: print what key_averages().table() prints in that version of "
			"torch",
		.offset = FIELD(torch_version),
		.given_offset = FIELD(as_torch) },
	CHOOSING_ROWS,
	{ .heading = "Output",
		.letter = 's',
		.name = "sort",
		.kind = OPT_STRING,
		.value = "KEY",
		.help = "sort rows by self, total, name or a pstats key; with --ops: by a "
			"torch.profiler key",
		.offset = FIELD(sort) },
	{ .letter = 'n',
		.name = "limit",
		.kind = OPT_STRING,
		.value = "N",
		.help = "rows per table (default: 20; 0 or -1: all)",
		.offset = FIELD(limit_text) },
	{ .name = "raw",
		.kind = OPT_FLAG,
		.help = "show traced times as stamped, including the cost of tracing",
		.offset = FIELD(raw) },
	{ .name = "line-profiler",
		.kind = OPT_FLAG,
		.help = "show counted lines as line_profiler prints them, and nothing else",
		.offset = FIELD(line_profiler) },
	{ .name = "ci",
		.kind = OPT_FLAG,
		.help = "show 95 % confidence intervals of self and total",
		.offset = FIELD(ci) },
	{ .name = "json", .kind = OPT_FLAG, .help = "print JSON", .offset = FIELD(json) },
	{ .name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = FIELD(color),
		.choices = color_choices },
	{ .name = "no-legend",
		.kind = OPT_FLAG,
		.help = "omit the legend",
		.offset = FIELD(no_legend) },
	PEERS_OF_RECORDINGS,
};

/* ---- what is asked --------------------------------------------------------------------------- */

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
		.each_task = o->tasks_how != NULL,
		.regions = o->regions || (is_plain(o) && r->selection && r->recording->regions->n),
		.arguments = o->args ||
			(is_plain(o) && r->profile && selection_arguments(r->selection)->n),
		.tree = o->tree,
		.stack = o->stack,
		.idle = o->choosing.idle,
		.imports = o->choosing.imports,
		.ci = o->ci,
		.raw = o->raw,
		.line_profiler = o->line_profiler,
		.host = o->host || o->processes,
		.legend = !o->no_legend,
		.limit = o->has_limit ? o->limit : ROWS,
		.tree_limit = o->has_limit ? o->limit : TREE_ROWS,
		.what = what };
}

/* ---- what applies to what is shown ----------------------------------------------------------- */

enum shown {                    /* flags */
	SHOWN_PROFILE = 1 << 0, /* of a run: functions, lines, threads … */
	SHOWN_PPROF = 1 << 1,
	SHOWN_LINE_PROFILER = 1 << 2,
	SHOWN_OPS = 1 << 3, /* pages of operators … */
	SHOWN_KERNELS = 1 << 4,
	SHOWN_TRACE = 1 << 5, /* … and any of them */
	SHOWN_RANKS = 1 << 6,
	SHOWN_RESULTS = 1 << 7,     /* of benchmarks */
	SHOWN_MEMORY = 1 << 8,      /* of a run, whether or not it has operators … */
	SHOWN_ALLOCATIONS = 1 << 9, /* … and of one whose allocations were recorded */
	SHOWN_ANY = -1,
};

static enum shown applies_to(const char *option)
{
	static const struct {
		const char *option;
		int to;
	} rows[] = { { "json", SHOWN_ANY }, { "color", SHOWN_ANY }, { "no-legend", SHOWN_ANY },
		{ "limit",
			SHOWN_PROFILE | SHOWN_PPROF | SHOWN_TRACE | SHOWN_RANKS | SHOWN_MEMORY |
				SHOWN_ALLOCATIONS },
		{ "sort", SHOWN_PROFILE | SHOWN_OPS | SHOWN_ALLOCATIONS },
		{ "lines", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_ALLOCATIONS },
		{ "functions", SHOWN_PROFILE | SHOWN_ALLOCATIONS },
		{ "tree", SHOWN_PROFILE | SHOWN_ALLOCATIONS },
		{ "threads", SHOWN_PROFILE | SHOWN_ALLOCATIONS },
		{ "filter", SHOWN_PROFILE | SHOWN_ALLOCATIONS },
		{ "ci", SHOWN_PROFILE | SHOWN_ALLOCATIONS },
		{ "thread", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_LINE_PROFILER | SHOWN_ALLOCATIONS },
		{ "process",
			SHOWN_PROFILE | SHOWN_PPROF | SHOWN_LINE_PROFILER | SHOWN_ALLOCATIONS },
		{ "phase", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_TRACE },
		{ "state", SHOWN_PROFILE | SHOWN_PPROF }, { "idle", SHOWN_PROFILE | SHOWN_PPROF },
		{ "imports", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_ALLOCATIONS },
		{ "from", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_ALLOCATIONS },
		{ "to", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_ALLOCATIONS },
		{ "only-mine", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_ALLOCATIONS },
		{ "pprof-text", SHOWN_PPROF }, { "line-profiler", SHOWN_LINE_PROFILER },
		{ "overview", SHOWN_TRACE }, { "steps", SHOWN_TRACE }, { "ops", SHOWN_TRACE },
		{ "kernels", SHOWN_TRACE }, { "modules", SHOWN_TRACE },
		{ "memory", SHOWN_TRACE | SHOWN_MEMORY | SHOWN_ALLOCATIONS },
		{ "compile", SHOWN_TRACE }, { "streams", SHOWN_TRACE },
		{ "processes", SHOWN_PROFILE | SHOWN_MEMORY | SHOWN_ALLOCATIONS },
		{ "group-by-shape", SHOWN_OPS | SHOWN_KERNELS }, { "group-by-stack", SHOWN_OPS },
		{ "top-level", SHOWN_OPS }, { "torch", SHOWN_OPS }, { "places", SHOWN_OPS },
		{ "callers", SHOWN_PROFILE | SHOWN_OPS | SHOWN_ALLOCATIONS },
		{ "callees", SHOWN_PROFILE | SHOWN_OPS | SHOWN_ALLOCATIONS },
		{ "distributed", SHOWN_RANKS } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(option, rows[i].option) == 0)
			return rows[i].to;
	return SHOWN_PROFILE;
}

/* Nothing that was asked for is dropped. `what`: is shown, in words. */
static int refuse_others(const struct options *o, int shown, const char *what, struct err *e)
{
	for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++) {
		const struct opt *row = &options_table[i];

		if (opts_is_given(row, o) && !(applies_to(row->name) & shown))
			return err_set(e, ERR_USAGE, "--%s does not apply to %s", row->name, what);
	}
	return 0;
}

/* How many pages of a trace. */
static int asks_for_trace(const struct options *o)
{
	return o->overview + o->steps + o->ops + o->kernels + o->modules + o->memory + o->compile +
		o->streams;
}

/* Anything that only the run of a program has. */
static bool asks_for_profile(const struct options *o)
{
	for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++)
		if (opts_is_given(&options_table[i], o) &&
			!(applies_to(options_table[i].name) & (SHOWN_TRACE | SHOWN_OPS)))
			return true;
	return false;
}

static int check_profile(const struct options *o, struct err *e)
{
	if (o->pprof_text)
		return refuse_others(o, SHOWN_PPROF, "--pprof-text", e);
	if (o->line_profiler)
		return refuse_others(o, SHOWN_LINE_PROFILER, "--line-profiler", e);
	if (o->tasks_how && strcmp(o->tasks_how, "each") != 0)
		return err_set(e, ERR_USAGE, "--tasks is --tasks or --tasks=each, not --tasks=%s",
			o->tasks_how);
	if (o->stack && !o->bytecode)
		return err_set(e, ERR_USAGE, "--stack needs --bytecode F");
	return refuse_others(o, SHOWN_PROFILE, "the run of a program", e);
}

/* A list of the pages asked for: "--ops and --steps". */
static void name_pages(const struct options *o, struct buf *to)
{
	int left = asks_for_trace(o);

	for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++)
		if ((applies_to(options_table[i].name) & ~(SHOWN_MEMORY | SHOWN_ALLOCATIONS)) ==
				SHOWN_TRACE &&
			opts_is_given(&options_table[i], o)) {
			buf_printf(to, "--%s", options_table[i].name);
			buf_adds(to, --left > 1 ? ", " : left ? " and " : "");
		}
}

static int check_trace(const struct options *o, struct err *e)
{
	struct buf pages = BUF_INIT;
	int status;

	if (o->memory_how)
		return err_set(e, ERR_USAGE,
			"--memory=%s shows recorded allocations: leave out the views of operators",
			o->memory_how);
	if (o->as_torch && (o->n_stack || o->places))
		return err_set(e, ERR_USAGE,
			"--%s does not apply to torch's table: leave out --torch",
			o->n_stack ? "group-by-stack" : "places");
	if (o->as_torch && asks_for_trace(o) > 1)
		return err_set(
			e, ERR_USAGE, "--torch prints a single table: leave out the other views");
	if (!o->ops && (o->n_stack || o->top_level || o->as_torch || o->places))
		return err_set(e, ERR_USAGE,
			"--group-by-stack, --top-level, --places and --torch need --ops");
	if (o->places && o->n_stack)
		return err_set(e, ERR_USAGE,
			"--places and --group-by-stack are two ways to split rows: leave out one");
	if ((o->callers || o->callees) && asks_for_trace(o) && !o->ops)
		return err_set(e, ERR_USAGE, "--callers and --callees of operators need --ops");
	if ((o->callers || o->callees) && (o->as_torch || o->places || o->n_stack))
		return err_set(e, ERR_USAGE,
			"--callers and --callees replace the table of operators: leave out "
			"--places, --group-by-stack and --torch");
	if (o->by_shape && !o->ops && !o->kernels)
		return err_set(e, ERR_USAGE, "--group-by-shape needs --ops or --kernels");
	name_pages(o, &pages);
	status = refuse_others(o,
		SHOWN_TRACE | (o->ops || !pages.n ? SHOWN_OPS : 0) |
			(o->kernels ? SHOWN_KERNELS : 0),
		pages.n ? buf_str(&pages) : "a trace of PyTorch", e);
	buf_done(&pages);
	return status;
}

/* Of what this recording holds: counted calls, or samples. */
static int check_figures(const struct options *o, const struct result *r, struct err *e)
{
	if (o->raw && r->profile && !r->selection->exact)
		return err_set(e, ERR_USAGE,
			"--raw does not apply to samples, only to traced calls (leadline run "
			"--trace)");
	if (o->ci && r->profile && r->profile->is_exact)
		return err_set(e, ERR_USAGE,
			"--ci does not apply to counted calls: only samples have confidence "
			"intervals");
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int report_benchmarks(const char *path, const struct options *o, struct err *e)
{
	struct buf text = BUF_INIT;
	int status = refuse_others(o, SHOWN_RESULTS, "benchmark results", e);

	if (status == 0)
		status = results_report(
			path, o->json, output_for(STDOUT_FILENO, o->color), &text, e);
	if (status == 0)
		status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

/* Takes the recording. */
static int report_profile(struct recording *recording, const struct options *o, struct err *e)
{
	struct result_choice choice = { .filter = o->choosing.filter,
		.callers = o->callers,
		.callees = o->callees,
		.bytecode = o->bytecode,
		.sort = o->sort,
		.tree = o->tree,
		.tasks = o->tasks,
		.source = !o->json || o->bytecode,
		.line_profiler = o->line_profiler };
	struct buf text = BUF_INIT;
	struct result_page page;
	struct result r = { .recording = recording };
	int status = choosing_parse(&o->choosing, &choice.of, e);

	if (status == 0)
		status = result_of(&r, recording, &choice, e);
	if (status == 0)
		status = check_figures(o, &r, e);
	if (status == 0) {
		page = page_of(o, &r, r.selection->what);
		if (o->json)
			result_json_page(&r, &page, &text);
		else if (o->pprof_text)
			result_print_pprof(&r, o->lines, o->has_limit ? o->limit : 0,
				choice_states[choice.of.state], &text);
		else
			result_print(&r, &page, &text);
		status = output_write(STDOUT_FILENO, &text);
	}
	result_done(&r);
	buf_done(&text);
	return status;
}

static struct report_ops ops_of(const struct options *o)
{
	uint64_t limit = o->has_limit ? o->limit : o->as_torch ? TORCH_ROWS : ROWS;
	uint64_t tree_limit = o->has_limit ? o->limit : TREE_ROWS;
	bool is_of_some = o->callers || o->callees;
	bool is_all = !asks_for_trace(o); /* the overview and the operators */

	return (struct report_ops){ .output = output_for(STDOUT_FILENO, o->color),
		.overview = o->overview || (is_all && !is_of_some),
		.steps = o->steps,
		.ops = o->ops || is_all,
		.kernels = o->kernels,
		.modules = o->modules,
		.memory = o->memory,
		.compile = o->compile,
		.streams = o->streams,
		.json = o->json,
		.by_shape = o->by_shape,
		.n_stack = o->n_stack < 1000 ? (unsigned)o->n_stack : 1000,
		.top_level = o->top_level,
		.places = o->places,
		.callers = o->callers,
		.callees = o->callees,
		.as_torch = o->as_torch,
		.version = o->torch_version,
		.sort = o->sort,
		.phase = o->choosing.phase,
		.limit = limit ? (size_t)limit : SIZE_MAX,
		.tree_limit = tree_limit ? (size_t)tree_limit : SIZE_MAX };
}

/* Takes the recording. */
static int show_memory(struct recording *r, const struct options *o, struct err *e)
{
	struct report_ops ops = ops_of(o);
	struct report_memory m = { .ops = &ops,
		.processes = o->processes,
		.choice = { .filter = o->choosing.filter,
			.callers = o->callers,
			.callees = o->callees,
			.sort = o->sort,
			.tree = o->tree,
			.source = !o->json } };
	bool has_any;

	if (choosing_memory(o->memory_how, &m.view, e) < 0 ||
		choosing_parse(&o->choosing, &m.choice.of, e) < 0) {
		recording_free(r);
		return -(int)e->code;
	}
	has_any = recording_memory(r) || m.view;
	if (refuse_others(o, has_any ? SHOWN_ALLOCATIONS : SHOWN_MEMORY, "--memory", e) < 0) {
		recording_free(r);
		return -(int)e->code;
	}
	m.is_overview = !m.view && is_plain(o);
	m.page = page_of(o, &(struct result){ 0 }, NULL);
	return report_memory(r, &m, e);
}

/* Takes the recording. */
static int report_trace(struct recording *r, const struct options *o, struct err *e)
{
	struct report_ops ops = ops_of(o);
	struct torch *torch = recording_torch(r);
	int status;

	command_tell_missing(r->path, recording_damage_of_records(r));
	if (!torch)
		status = r->origin.is_foreign ? err_set(e, ERR_BAD_FILE,
							"%s: it holds no operators: it comes from "
							"another tool than torch.profiler (%s)",
							r->path, r->origin.format)
					      : err_set(e, ERR_NOT_PREPARED, "%s: %s", r->path,
							recording_why(r,
								"it holds no operators; leadline "
								"run --torch records them"));
	else
		status = report_ops(torch, r->path, &ops, e);
	recording_free(r);
	return status;
}

static int report(const char *path, const struct options *o, struct err *e)
{
	struct recording *r;
	bool is_trace, is_memory = o->memory && asks_for_trace(o) == 1;

	if (is_memory ? refuse_others(o, SHOWN_MEMORY | SHOWN_ALLOCATIONS, "--memory", e) < 0
		      : asks_for_trace(o) && check_trace(o, e) < 0)
		return -(int)e->code;
	if (format_load(&r, path, e) < 0)
		return -(int)e->code;
	if (is_memory)
		return show_memory(r, o, e);
	is_trace = asks_for_trace(o) ||
		(!asks_for_profile(o) && !recording_has_stacks(r) && recording_torch(r));
	if ((is_trace ? check_trace : check_profile)(o, e) < 0) {
		recording_free(r);
		return -(int)e->code;
	}
	return is_trace ? report_trace(r, o, e) : report_profile(r, o, e);
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
	int first, status;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	parse_limit(&o, &e);
	if (e.code)
		return command_fail(self, &e);
	if (o.distributed && argc > first)
		return refuse_others(&o, SHOWN_RANKS, "--distributed", &e) < 0
			? command_fail(self, &e)
			: show_ranks(self, argv + first, &o);
	if (argc - first != 1)
		err_set(&e, ERR_USAGE,
			argc == first ? "which recording? For example: leadline report run.lead"
				      : "one recording at a time; --distributed takes a trace of "
					"each rank");
	else if (folder_is(argv[first]))
		err_set(&e, ERR_USAGE,
			"%s is a folder: --distributed compares the ranks whose traces it holds, "
			"leadline view shows everything in it",
			argv[first]);
	if (e.code)
		return command_fail(self, &e);
	status = results_are_in(argv[first]) ? report_benchmarks(argv[first], &o, &e)
					     : report(argv[first], &o, &e);
	return e.code ? command_fail(self, &e) : status;
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
		"  leadline report results.json       from pyperf, pytest-benchmark or hyperfine\n"
		"  leadline report --distributed log  the traces of all ranks in this folder\n",
	.run = run,
};
