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
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/recorder.h"
#include "cmd/result.h"
#include "collect/collector.h"
#include "collect/host/host.h"
#include "collect/program.h"
#include "store/writer.h"
#include "view/host/gnu_time.h"
#include "view/host/usage.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	bool tree, posix, verbose, quiet, no_connector;
	const char *format;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "keep the recording, with its timeline, in FILE; %p, %h, %r: pid, host, rank",
		.offset = FIELD(shared.output) },
	RECORDER_FORCE,
	{ .letter = 't',
		.name = "tree",
		.kind = OPT_FLAG,
		.help = "also show each process, children under their parents",
		.offset = FIELD(tree) },
	{ .letter = 'f',
		.name = "format",
		.kind = OPT_STRING,
		.value = "FORMAT",
		.help = "print FORMAT instead, as GNU time does: %e %U %S %P %M and so on",
		.offset = FIELD(format) },
	{ .letter = 'v',
		.name = "verbose",
		.kind = OPT_FLAG,
		.help = "print GNU time's full list instead",
		.offset = FIELD(verbose) },
	{ .letter = 'p',
		.name = "portability",
		.kind = OPT_FLAG,
		.help = "print only real, user and sys, as POSIX time -p does",
		.offset = FIELD(posix) },
	RECORDER_JSON(RECORDER_JSON_HELP),
	RECORDER_REPORT,
	{ .letter = 'a',
		.name = "append",
		.kind = OPT_FLAG,
		.help = "with --report: append to FILE instead of replacing it",
		.offset = FIELD(shared.append) },
	{ .letter = 'q',
		.name = "quiet",
		.kind = OPT_FLAG,
		.help = "with -f or -v: do not say that the command failed or was killed",
		.offset = FIELD(quiet) },
	RECORDER_COLOR,
	RECORDER_NO_LEGEND,
	{ .name = "no-connector",
		.kind = OPT_FLAG,
		.help = "find children only by reading /proc, as without root",
		.offset = FIELD(no_connector) },
	PEER_PID,
};

static int show(const struct options *o, const char *path, int fd, struct err *e)
{
	static const struct result_choice all = { .of = { .idle = true, .imports = true } };
	struct result_page page = { .output = recorder_output(&o->shared),
		.host = true,
		.processes = o->tree,
		.legend = !o->shared.no_legend };
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct result r;
	int status = result_open_fd(&r, fd, &all, e);

	if (status == 0 && o->posix) {
		usage_print_posix(r.recording->usage, &text);
	} else if (status == 0 && (o->format || o->verbose)) {
		gnu_time_print(r.recording->usage, o->format ? o->format : gnu_time_verbose,
			!o->quiet, &text);
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
	const struct writer_options w = { .overwrite = o->shared.force };
	struct err closing = ERR_INIT;
	int fd = -1;

	if (recorder_check_files(&o->shared, e) < 0 ||
		(o->shared.output ? recorder_open_named(&r, o->shared.output, getpid(), &w, e)
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

/* What GNU time's options mean here, where they cannot all be had. */
static int check(const struct options *o, struct err *e)
{
	const char *output = o->shared.output;
	bool is_like_gnu = o->format || o->verbose || o->posix;

	if ((o->format != NULL) + o->verbose + o->posix + o->tree > 1)
		return err_set(
			e, ERR_USAGE, "-f, -v, -p and --tree cannot be combined: choose one");
	if (o->quiet && !o->format && !o->verbose)
		return err_set(e, ERR_USAGE, "-q needs -f or -v");
	if (output && (is_like_gnu || o->shared.append) && !text_ends_with(output, ".lead"))
		return err_set(e, ERR_USAGE,
			"-o names the recording here (FILE.lead); GNU time's -o %s is --report %s",
			output, output);
	if (o->shared.append && !o->shared.report)
		return err_set(e, ERR_USAGE, "-a needs --report FILE");
	return 0;
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
	if (check(&o, &e) < 0)
		return command_fail(self, &e);
	return run_and_show(self, &o, argv + first, &e);
}

const struct command command_time = {
	.group = "why",
	.name = "time",
	.arguments = "[options] CMD [ARGUMENT…]",
	.summary = "Run a command and show what it and its children used, and what bounds it",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.runs_program = true,
	.examples =
		"  leadline time python3 script.py\n"
		"  leadline time --tree make -j4\n"
		"  leadline time -o run.lead python3 train.py   then: leadline report run.lead\n"
		"  leadline time -f '%e s, %M KB' python3 script.py\n"
		"  leadline time --json=run.json python3 script.py\n",
	.run = run,
};
