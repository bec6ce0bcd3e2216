/* SPDX-License-Identifier: MIT
 * leadline memory: runs a program, samples its allocations, and shows which code they come from. Its time is sampled, too: when
 * Python code ran last tells what was alive at the end of the program, before the interpreter releases everything. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/recorder.h"
#include "cmd/report_memory.h"
#include "cmd/report_ops.h"
#include "cmd/result.h"
#include "cmd/start.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "formats/format.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	const char *python, *module, *period;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	RECORDER_OUTPUT,
	RECORDER_FORCE,
	RECORDER_DURATION,
	{ .name = "period",
		.kind = OPT_STRING,
		.value = "BYTES",
		.help = "sample one allocation per BYTES on average (default: 128k); fewer bytes: "
			"narrower intervals, more overhead",
		.offset = FIELD(period) },
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
	RECORDER_LIMIT,
	RECORDER_NO_SOURCE,
	RECORDER_COLOR,
	RECORDER_NO_LEGEND,
};

enum { RATE_HZ = 1000 }; /* as run does */
enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

/* To stderr, as the reports of all commands that run a program: stdout is the program's. */
static int show(struct recorder *r, const struct options *o, struct err *e)
{
	struct report_ops ops = { .limit = SIZE_MAX, .tree_limit = SIZE_MAX };
	struct report_memory m = { .ops = &ops, .is_overview = true };
	struct recording *recording;
	int status = recorder_close(r, NULL, e);

	if (status == 0)
		status = format_load(&recording, r->path, e);
	if (status < 0)
		return status;
	m.choice.source = true;
	m.page = (struct result_page){ .output = recorder_output(&o->shared),
		.functions = true,
		.lines = true,
		.legend = !o->shared.no_legend,
		.limit = o->shared.limit };
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(e, ERR_SYSTEM, "dup2");
	status = report_memory(recording, &m, e);
	output_line(STDERR_FILENO,
		"Recording: %s   more: leadline report %s --memory --lines --limit 40", r->path,
		r->path);
	return status;
}

static int run_and_show(const struct command *self, const struct options *o, char *const *argv,
	const char *stem, uint64_t period_bytes)
{
	const struct collector *chosen[COLLECTORS_MOST];
	struct program_options p = { .argv = argv,
		.collectors = chosen,
		.n_collectors = collectors_pick(COLLECT_MEMORY | COLLECT_SAMPLES, chosen),
		.rate_hz = RATE_HZ,
		.agent_options = { .memory_period_bytes = period_bytes },
		.no_source = o->shared.no_source,
		.duration_ns = o->shared.duration_ns };
	struct program_result result;
	struct err e = ERR_INIT;
	struct recorder r;

	if (recorder_open(&r, &o->shared, stem, getpid(), &e) < 0)
		return command_fail(self, &e);
	if (program_run(&p, r.writer, &result, &e) < 0) {
		recorder_discard(&r);
		return command_fail(self, &e);
	}
	if (show(&r, o, &e) < 0)
		command_fail(self, &e);
	return program_exit_status(result.status);
}

static int memory(const struct command *self, int argc, char **argv)
{
	struct options o = { .shared.limit = 10 };
	struct err e = ERR_INIT;
	struct start start = { 0 };
	uint64_t period_bytes = 0;
	char stem[4096];
	int first = argc, status;

	if (opts_parse(options_table, N_OPTIONS, &o,
		    start_our_words(options_table, N_OPTIONS, argc, argv), argv, true, &first,
		    &e) < 0)
		return command_fail(self, &e);
	start.python = o.python;
	start.module = o.module;
	if (first >= argc && !o.module)
		err_set(&e, ERR_USAGE, "which program? For example: leadline memory script.py");
	else if (recorder_period("--period", o.period, &period_bytes, &e) == 0)
		start_make(&start, argv + first, &e);
	if (e.code) {
		start_done(&start);
		return command_fail(self, &e);
	}
	start_stem(&start, first < argc ? argv[first] : "", stem, sizeof stem);
	status = run_and_show(self, &o, start.words.v, stem, period_bytes);
	start_done(&start);
	return status;
}

const struct command command_memory = {
	.group = "where",
	.name = "memory",
	.arguments = "[options] SCRIPT.py [ARGUMENT…] | -m MODULE … | -- CMD …",
	.summary = "Run a program and show which code allocates its memory",
	.options = options_table,
	.n_options = N_OPTIONS,
	.runs_program = true,
	.examples = "  leadline memory script.py\n"
		    "  leadline memory --period 16k -o small.lead script.py 1000\n"
		    "  leadline report small.lead --memory=leaks\n",
	.run = memory,
};
