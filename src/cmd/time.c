/* SPDX-License-Identifier: MIT
 * leadline time: runs a command with the host collector beside it and tells what it used and what
 * it is bound by. The numbers come from the recording (in memory unless -o names a file). */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/recorder.h"
#include "cmd/result.h"
#include "collect/collector.h"
#include "collect/host.h"
#include "collect/program.h"
#include "store/writer.h"
#include "view/usage.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	bool tree, posix, no_connector;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 'o', "output", OPT_STRING, "FILE", false,
		"keep the recording, with the time line, in FILE; %p, %h, %r: pid, host, rank",
		FIELD(shared.output), SIZE_MAX, NULL },
	{ 'v', "tree", OPT_FLAG, NULL, false,
		"also show each process, children under their parents", FIELD(tree), SIZE_MAX,
		NULL },
	{ 'p', "portability", OPT_FLAG, NULL, false,
		"print only real, user and sys, as POSIX time -p does", FIELD(posix), SIZE_MAX,
		NULL },
	RECORDER_JSON(RECORDER_JSON_HELP),
	RECORDER_REPORT,
	RECORDER_COLOR,
	RECORDER_NO_LEGEND,
	{ 0, "no-connector", OPT_FLAG, NULL, false,
		"find children by looking at /proc only, as for users who are not root",
		FIELD(no_connector), SIZE_MAX, NULL },
};

static int show(const struct options *o, const char *path, int fd, struct err *e)
{
	static const struct result_choice all = { .of.idle = true };
	struct result_page page = { .output = recorder_output(&o->shared),
		.host = true,
		.processes = o->tree,
		.legend = !o->shared.no_legend };
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct result r;
	int status = result_open_fd(&r, fd, &all, e);

	if (status == 0 && o->posix) {
		usage_print_posix(r.recording->usage, &text);
	} else if (status == 0) {
		if (!o->shared.report)
			buf_addc(&text, '\n');
		result_print(&r, &page, &text);
		if (*path)
			buf_printf(&text,
				"Recording: %s  (show it again with: leadline report %s)\n", path,
				path);
	}
	if (status == 0) {
		result_json(&r, &json);
		status = recorder_emit(&o->shared, &text, &json, e);
	}
	result_done(&r);
	buf_done(&text);
	buf_done(&json);
	return status;
}

static const struct collector *const host_only[] = { &collector_host };

static int run_and_show(
	const struct command *self, const struct options *o, char **argv, struct err *e)
{
	struct program_options p = { .argv = argv,
		.collectors = host_only,
		.n_collectors = 1,
		.no_connector = o->no_connector,
		.interrupt_is_its_own = true,
		.stdout_to_stderr = recorder_json_on_stdout(&o->shared) };
	struct program_result result;
	struct recorder r = { 0 };
	struct err closing = ERR_INIT;
	int fd = -1;

	if ((o->shared.output ? recorder_open_named(&r, o->shared.output, getpid(), NULL, e)
			      : writer_open(&r.writer, NULL, NULL, e)) < 0)
		return command_fail(self, e);
	if (p.stdout_to_stderr)
		output_line(STDERR_FILENO,
			"leadline: --json: the program's standard output goes to standard error");
	if (program_run(&p, r.writer, &result, e) < 0) {
		recorder_discard(&r);
		return command_fail(self, e);
	}
	recorder_close(&r, &fd, &closing);
	if (show(o, r.path, fd, e) < 0)
		command_fail(self, e); /* said; the status is the program's all the same */
	return program_exit_status(result.status);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct err e = ERR_INIT;
	int first;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    true, &first, &e) < 0)
		return command_fail(self, &e);
	if (first >= argc) {
		err_set(&e, ERR_USAGE,
			"which command? For example: leadline time python3 script.py");
		return command_fail(self, &e);
	}
	return run_and_show(self, &o, argv + first, &e);
}

const struct command command_time = {
	.group = "why",
	.name = "time",
	.arguments = "[options] CMD [ARGUMENT…]",
	.summary = "Run a command and tell what it used and what it is bound by, with all its "
		   "children",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.runs_program = true,
	.examples =
		"  leadline time python3 script.py\n"
		"  leadline time --tree make -j4\n"
		"  leadline time -o run.lead python3 train.py   then: leadline report run.lead\n"
		"  leadline time --json=run.json python3 script.py\n",
	.run = run,
};
