/* SPDX-License-Identifier: MIT
 * leadline lines: line_profiler's kernprof by its habits. What it does is `run --lines`; the options, the table on
 * stdout and the .lprof file are those its users know. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/fidelity.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/build_agent.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/recorder.h"
#include "cmd/result.h"
#include "cmd/start.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "formats/format.h"
#include "view/calls/exact.h"
#include "wire/agent_options.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	const char *python, *module, *targets, *unit;
	bool line_by_line, builtin, view, skip_zero;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'l',
		.name = "line-by-line",
		.kind = OPT_FLAG,
		.help = "count lines (always on)",
		.offset = FIELD(line_by_line) },
	{ .letter = 'b',
		.name = "builtin",
		.kind = OPT_FLAG,
		.help = "make profile a builtin (always on)",
		.offset = FIELD(builtin) },
	{ .letter = 'v',
		.name = "view",
		.kind = OPT_FLAG,
		.help = "print the table to stdout when the program exits",
		.offset = FIELD(view) },
	{ .letter = 'o',
		.name = "outfile",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "write to FILE (default: SCRIPT.lprof)",
		.offset = RECORDER_FIELD(output) },
	RECORDER_FORCE,
	{ .letter = 'p',
		.name = "prof-mod",
		.kind = OPT_STRING,
		.value = "WHAT",
		.help = "also count these, besides functions marked @profile: same patterns as run --lines, separated by commas",
		.offset = FIELD(targets) },
	{ .letter = 'u',
		.name = "unit",
		.kind = OPT_STRING,
		.value = "SECONDS",
		.help = "unit of the times in the table (default: 1e-6)",
		.offset = FIELD(unit) },
	{ .letter = 'z',
		.name = "skip-zero",
		.kind = OPT_FLAG,
		.help = "leave out functions that never ran (always on)",
		.offset = FIELD(skip_zero) },
	{ .letter = 'm',
		.name = "module",
		.kind = OPT_STRING,
		.value = "MODULE",
		.help = "run a module, as python -m does",
		.offset = FIELD(module) },
	{ .name = "python",
		.kind = OPT_STRING,
		.value = "EXE",
		.help = "interpreter for a script or module",
		.offset = FIELD(python) },
	PEER_PID,
};

enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

/* What kernprof has and this has not, with the way to go instead. */
static const struct {
	const char *letter, *name, *instead;
} refused[] = {
	{ "-i", "--output-interval",
		"counts are written every second, and 'leadline report' shows them while it runs" },
	{ "-s", "--setup", "run the set-up code from the program itself" },
	{ "-r", "--rich", "'leadline report FILE --lines' has colours on a terminal" },
	{ "-c", "--command", "put the code into a file" },
	{ "--prof-imports", "--prof-imports", "name the imported modules with -p" },
	{ "--no-preimports", "--no-preimports", "nothing is imported before the program does" },
};

static int check_refused(int argc, char **argv, struct err *e)
{
	for (int i = 1; i < argc && argv[i][0] == '-'; i++)
		for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
			size_t n = strlen(refused[k].name);

			if (strncmp(argv[i], refused[k].letter, 2) == 0 && argv[i][1] != '-')
				return err_set(e, ERR_USAGE, "%s is kernprof's only: %s",
					refused[k].letter, refused[k].instead);
			if (strncmp(argv[i], refused[k].name, n) == 0)
				return err_set(e, ERR_USAGE, "%s is kernprof's only: %s",
					refused[k].name, refused[k].instead);
		}
	return 0;
}

static int parse_unit(const char *text, double *ret, struct err *e)
{
	char *end = NULL;
	double unit = text ? strtod(text, &end) : 1e-6;

	if (text && (end == text || *end || !(unit > 0 && unit < 1e9)))
		return err_set(
			e, ERR_USAGE, "-u expects seconds such as 1e-6 or 0.001, not '%s'", text);
	*ret = unit;
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void tell(const struct recorder *r, const struct result *result, bool has_lines)
{
	struct buf notes = BUF_INIT;

	if (has_lines && r->format)
		output_line(STDERR_FILENO,
			"leadline: wrote %s; show it with: leadline report %s --lines",
			r->other_path, r->path);
	else if (has_lines)
		output_line(STDERR_FILENO, "leadline: show it with: leadline report %s --lines",
			r->path);
	else if (!r->lacks_agent)
		output_line(STDERR_FILENO,
			"leadline: no lines were counted: decorate functions with @profile, or name them with -p");
	buf_adds(&notes, result->recording->fidelity.trace_notes);
	output_write(STDERR_FILENO, &notes);
	buf_done(&notes);
}

static int finish(struct recorder *r, const struct options *o, double unit_s, struct err *e)
{
	const struct result_choice choice = { .of = { .idle = true, .imports = true },
		.source = true };
	struct buf table = BUF_INIT;
	struct result result;
	int status = recorder_close(r, NULL, e);

	if (status < 0)
		return status;
	status = result_open(&result, r->path, &choice, e);
	if (status == 0 && result.selection->exact_lines && r->format)
		status = recorder_export(r, result.recording, e);
	r->lacks_agent = status == 0 && fidelity_lacks_agent(&result.recording->fidelity);
	if (status == 0)
		tell(r, &result, result.selection->exact_lines != NULL);
	if (status == 0 && o->view && result.selection->exact_lines) {
		exact_print_line_profiler(
			result.selection->exact_lines, result.texts, unit_s, &table);
		output_write(STDOUT_FILENO, &table);
	}
	buf_done(&table);
	result_done(&result);
	return status;
}

static int run_program(const struct command *self, const struct options *o, char *const *argv,
	const char *stem, double unit_s)
{
	const struct collector *chosen[COLLECTORS_MOST];
	struct program_options p = { .argv = argv,
		.collectors = chosen,
		.n_collectors = collectors_pick(COLLECT_LINES, chosen),
		.agent_options = { .wants_line_times = true },
		.lines = o->targets };
	struct program_result result;
	struct err e = ERR_INIT;
	struct recorder r;
	int status;

	if (recorder_open(&r, &o->shared, stem, getpid(), &e) < 0)
		return command_fail(self, &e);
	if (program_run(&p, r.writer, &result, &e) < 0) {
		recorder_discard(&r);
		return command_fail(self, &e);
	}
	if (finish(&r, o, unit_s, &e) < 0)
		command_fail(self, &e);
	status = program_exit_status(result.status);
	return status == 0 && r.lacks_agent ? 1 : status;
}

static int lines(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct err e = ERR_INIT;
	struct start start = { 0 };
	char stem[4096], output[4200];
	double unit_s = 0;
	int first = argc, status;

	if (check_refused(argc, argv, &e) < 0 ||
		opts_parse(options_table, N_OPTIONS, &o,
			start_our_words(options_table, N_OPTIONS, argc, argv), argv, true, &first,
			&e) < 0)
		return command_fail(self, &e);
	start.python = o.python;
	start.module = o.module;
	if (first >= argc && !o.module)
		err_set(&e, ERR_USAGE, "which program? For example: leadline lines -v script.py");
	else if (parse_unit(o.unit, &unit_s, &e) == 0 && start_make(&start, argv + first, &e) == 0)
		build_agent_for(start.words.v[0], &e);
	if (e.code) {
		start_done(&start);
		return command_fail(self, &e);
	}
	start_stem(&start, first < argc ? argv[first] : "", stem, sizeof stem);
	if (!o.shared.output && format_find("lprof")) {
		snprintf(output, sizeof output, "%s%s.lprof", stem, o.module ? "" : ".py");
		o.shared.output = output;
		o.shared.force = true; /* a name of ours: the last one counts, as with kernprof */
	}
	status = run_program(self, &o, start.words.v, stem, unit_s);
	start_done(&start);
	return status;
}

const struct command command_lines = {
	.group = "where",
	.name = "lines",
	.arguments = "[options] SCRIPT.py [ARGUMENT…] | -m MODULE …",
	.summary = "Count and time the lines of chosen functions (kernprof-compatible)",
	.options = options_table,
	.n_options = N_OPTIONS,
	.runs_program = true,
	.examples =
		"  leadline lines -l -v script.py               functions marked with @profile\n"
		"  leadline lines -v -p Model.step train.py\n"
		"  leadline lines -p shop.orders -o orders.lprof -m shop\n",
	.run = lines,
};
