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
#include "analyze/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/choosing.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/folder.h"
#include "cmd/report_ops.h"
#include "cmd/report_ranks.h"
#include "cmd/result.h"
#include "cmd/stored.h"
#include "json/host.h"
#include "json/values.h"
#include "view/usage.h"
#include "formats/format.h"
#include "formats/results.h"
#include "base/banned.h"

enum { ROWS = 20, TREE_ROWS = 60, TORCH_ROWS = 100 };

struct options {
	struct choosing choosing;
	bool json, processes, functions, lines, threads, tasks, regions, args, host, tree,
		no_legend;
	bool pprof_text, ci, raw, line_profiler, has_limit;
	const char *bytecode;
	bool stack, overview, steps, ops, kernels, modules, memory, compile, streams, by_shape,
		top_level, as_torch, distributed;
	const char *torch_version, *limit_text;
	const char *callers, *callees, *sort;
	uint64_t limit, n_stack;
	int color;
};

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
	{ 0, "memory", OPT_FLAG, NULL, false,
		"show how much memory was in use when, and which operators of PyTorch allocated it",
		FIELD(memory), SIZE_MAX, NULL },
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
	CHOOSING_ROWS,
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
		.regions = o->regions || (is_plain(o) && r->selection && r->recording->regions->n),
		.arguments = o->args ||
			(is_plain(o) && r->profile && selection_arguments(r->selection)->n),
		.tree = o->tree,
		.stack = o->stack,
		.idle = o->choosing.idle,
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
	SHOWN_RESULTS = 1 << 7, /* of benchmarks */
	SHOWN_MEMORY = 1 << 8,  /* of a run, whether or not it has operators */
	SHOWN_ANY = -1,
};

static enum shown applies_to(const char *option)
{
	static const struct {
		const char *option;
		int to;
	} rows[] = { { "json", SHOWN_ANY }, { "color", SHOWN_ANY }, { "no-legend", SHOWN_ANY },
		{ "limit", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_TRACE | SHOWN_RANKS | SHOWN_MEMORY },
		{ "sort", SHOWN_PROFILE | SHOWN_OPS }, { "lines", SHOWN_PROFILE | SHOWN_PPROF },
		{ "thread", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_LINE_PROFILER },
		{ "process", SHOWN_PROFILE | SHOWN_PPROF | SHOWN_LINE_PROFILER },
		{ "state", SHOWN_PROFILE | SHOWN_PPROF }, { "idle", SHOWN_PROFILE | SHOWN_PPROF },
		{ "from", SHOWN_PROFILE | SHOWN_PPROF }, { "to", SHOWN_PROFILE | SHOWN_PPROF },
		{ "only-mine", SHOWN_PROFILE | SHOWN_PPROF }, { "pprof-text", SHOWN_PPROF },
		{ "line-profiler", SHOWN_LINE_PROFILER }, { "overview", SHOWN_TRACE },
		{ "steps", SHOWN_TRACE }, { "ops", SHOWN_TRACE }, { "kernels", SHOWN_TRACE },
		{ "modules", SHOWN_TRACE }, { "memory", SHOWN_TRACE | SHOWN_MEMORY },
		{ "compile", SHOWN_TRACE }, { "streams", SHOWN_TRACE },
		{ "processes", SHOWN_PROFILE | SHOWN_MEMORY },
		{ "group-by-shape", SHOWN_OPS | SHOWN_KERNELS }, { "group-by-stack", SHOWN_OPS },
		{ "top-level", SHOWN_OPS }, { "torch", SHOWN_OPS },
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
	if (o->stack && !o->bytecode)
		return err_set(e, ERR_USAGE, "--stack needs --bytecode F");
	return refuse_others(o, SHOWN_PROFILE, "the run of a program", e);
}

/* A list of the pages asked for: "--ops and --steps". */
static void name_pages(const struct options *o, struct buf *to)
{
	int left = asks_for_trace(o);

	for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++)
		if ((applies_to(options_table[i].name) | SHOWN_MEMORY) ==
				(SHOWN_TRACE | SHOWN_MEMORY) &&
			opts_is_given(&options_table[i], o)) {
			buf_printf(to, "--%s", options_table[i].name);
			buf_adds(to, --left > 1 ? ", " : left ? " and " : "");
		}
}

static int check_trace(const struct options *o, struct err *e)
{
	struct buf pages = BUF_INIT;
	int status;

	if (o->as_torch && o->n_stack)
		return err_set(
			e, ERR_USAGE, "--group-by-stack is of our own table; leave out --torch");
	if (o->as_torch && asks_for_trace(o) > 1)
		return err_set(
			e, ERR_USAGE, "--torch prints one table alone: leave out the other pages");
	if (!o->ops && (o->n_stack || o->top_level || o->as_torch))
		return err_set(
			e, ERR_USAGE, "--group-by-stack, --top-level and --torch need --ops");
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
			"--raw does not apply to samples: it is of traced calls (leadline run "
			"--trace)");
	if (o->ci && r->profile && r->profile->is_exact)
		return err_set(e, ERR_USAGE,
			"--ci does not apply to what was counted: only samples have intervals");
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int report_benchmarks(const char *path, const struct options *o, struct err *e)
{
	struct buf text = BUF_INIT;
	int status = refuse_others(o, SHOWN_RESULTS, "benchmark results", e);

	if (status == 0)
		status =
			stored_report(path, o->json, output_for(STDOUT_FILENO, o->color), &text, e);
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
	bool is_all = !asks_for_trace(o); /* the overview and the operators */

	return (struct report_ops){ .output = output_for(STDOUT_FILENO, o->color),
		.overview = o->overview || is_all,
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
		.as_torch = o->as_torch,
		.version = o->torch_version,
		.sort = o->sort,
		.limit = limit ? (size_t)limit : SIZE_MAX,
		.tree_limit = tree_limit ? (size_t)tree_limit : SIZE_MAX };
}

/* Of the run, where it was looked at while it ran, and of operators that allocated. Takes the recording. */
static int report_memory(struct recording *r, const struct options *o, struct err *e)
{
	struct report_ops ops = ops_of(o);
	struct usage_view v = {
		.width = ops.output.width, .colour = ops.output.colour, .tree = o->processes
	};
	struct torch *torch = recording_torch(r);
	bool has_run = r->usage && r->usage->n_ticks > 0;
	struct buf text = BUF_INIT;
	struct json_writer w;
	int status = 0;

	command_tell_missing(r->path, recording_damage_of_records(r));
	if (!torch && !has_run)
		status = err_set(e, ERR_NOT_PREPARED, "%s: %s", r->path,
			recording_why(r, "nothing in it tells of memory"));
	if (status == 0 && o->json) {
		json_page_begin(&w, &text);
		ops.into = &w;
		if (has_run)
			usage_json(r->usage, &r->bound, &w);
	} else if (status == 0 && has_run) {
		usage_print_memory(r->usage, &v, &text);
		buf_adds(&text, torch ? "\n" : "");
		status = output_write(STDOUT_FILENO, &text);
	}
	if (status == 0 && torch)
		status = report_ops(torch, r->path, &ops, e);
	if (status == 0 && o->json) {
		json_page_end(&w);
		status = output_write(STDOUT_FILENO, &text);
	}
	recording_free(r);
	buf_done(&text);
	return status;
}

/* Takes the recording. */
static int report_trace(struct recording *r, const struct options *o, struct err *e)
{
	struct report_ops ops = ops_of(o);
	struct torch *torch = recording_torch(r);
	int status;

	command_tell_missing(r->path, recording_damage_of_records(r));
	if (!torch)
		status = r->origin.is_foreign
			? err_set(e, ERR_BAD_FILE,
				  "%s: it holds no operators: it is of another tool than "
				  "torch.profiler (%s)",
				  r->path, r->origin.format)
			: err_set(e, ERR_NOT_PREPARED, "%s: %s", r->path,
				  recording_why(r,
					  "it holds no operators; leadline run "
					  "--torch records them"));
	else
		status = report_ops(torch, r->path, &ops, e);
	recording_free(r);
	return status;
}

static int report(const char *path, const struct options *o, struct err *e)
{
	struct recording *r;
	bool is_trace, is_memory = o->memory && asks_for_trace(o) == 1;

	if (is_memory ? refuse_others(o, SHOWN_MEMORY, "--memory", e) < 0
		      : asks_for_trace(o) && check_trace(o, e) < 0)
		return -(int)e->code;
	if (format_load(&r, path, e) < 0)
		return -(int)e->code;
	if (is_memory)
		return report_memory(r, o, e);
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
				      : "one recording at a time; --distributed takes a trace "
					"of each rank");
	else if (folder_is(argv[first]))
		err_set(&e, ERR_USAGE,
			"%s is a folder: --distributed compares the traces of ranks in it, "
			"leadline view shows all that it holds",
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
		"  leadline report results.json       of pyperf, pytest-benchmark or hyperfine\n"
		"  leadline report --distributed log  the traces of all ranks in this folder\n",
	.run = run,
};
