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
#include "cmd/result.h"
#include "collect/collector.h"
#include "collect/host.h"
#include "collect/program.h"
#include "store/writer.h"
#include "view/usage.h"
#include "base/banned.h"

struct options {
	const char *output, *report, *json;
	bool has_json, tree, posix, no_legend, no_connector;
	int color;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 'o', "output", OPT_STRING, "FILE", false,
		"keep the recording, with the time line, in FILE (.lead)", FIELD(output), SIZE_MAX,
		NULL },
	{ 'v', "tree", OPT_FLAG, NULL, false,
		"also show each process, children under their parents", FIELD(tree), SIZE_MAX,
		NULL },
	{ 'p', "portability", OPT_FLAG, NULL, false,
		"print only real, user and sys, as POSIX time -p does", FIELD(posix), SIZE_MAX,
		NULL },
	{ 0, "json", OPT_STRING, "FILE", true,
		"write JSON to FILE, or last on stdout (the program's own stdout then goes to "
		"stderr)",
		FIELD(json), FIELD(has_json), NULL },
	{ 0, "report", OPT_STRING, "FILE", false, "write the report to FILE instead of stderr",
		FIELD(report), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
	{ 0, "no-legend", OPT_FLAG, NULL, false, "leave out the line that explains",
		FIELD(no_legend), SIZE_MAX, NULL },
	{ 0, "no-connector", OPT_FLAG, NULL, false,
		"find children by looking at /proc only, as for users who are not root",
		FIELD(no_connector), SIZE_MAX, NULL },
};

/* ---- results --------------------------------------------------------------------------------- */

static int write_json(const struct result *r, const struct options *o, struct err *e)
{
	struct buf text = BUF_INIT;
	int status = 0;

	result_json(r, &text);
	if (o->json)
		status = buf_save(&text, o->json, e);
	else
		output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int write_report(const struct result *r, const struct options *o, struct err *e)
{
	struct result_page page = { .output = output_for(STDERR_FILENO, o->color),
		.host = true,
		.processes = o->tree,
		.legend = !o->no_legend };
	struct buf text = BUF_INIT;
	int status = 0;

	if (o->report)
		page.output = (struct output){ .width = 80 };
	if (o->posix) {
		usage_print_posix(r->usage, &text);
	} else {
		if (!o->report)
			buf_addc(&text, '\n');
		result_print(r, &page, &text);
		if (o->output)
			buf_printf(&text,
				"Recording: %s  (show it again with: leadline report %s)\n",
				o->output, o->output);
	}
	if (o->report)
		status = buf_save(&text, o->report, e);
	else
		output_write(STDERR_FILENO, &text);
	buf_done(&text);
	return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show(const struct options *o, int fd, struct err *e)
{
	static const struct stacks_options all = { 0 };
	struct result r;
	int status = result_open_fd(&r, fd, &all, e);

	if (status == 0 && o->has_json)
		status = write_json(&r, o, e);
	/* JSON on stdout replaces the report on the terminal. */
	if (status == 0 && !(o->has_json && !o->json && !o->report))
		status = write_report(&r, o, e);
	result_done(&r);
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
		.stdout_to_stderr = o->has_json && !o->json };
	struct program_result result;
	struct writer *w;
	struct err closing = ERR_INIT;
	int fd = -1, status;

	if (writer_open(&w, o->output, NULL, e) < 0)
		return command_fail(self, e);
	if (p.stdout_to_stderr)
		fprintf(stderr,
			"leadline: --json: the program's standard output goes to standard error\n");
	status = program_run(&p, w, &result, e);
	if (writer_close_keep_fd(w, &fd, &closing) < 0 && status == 0)
		fprintf(stderr, "leadline: %s; the report tells what was recorded until then\n",
			closing.text);
	if (status < 0) {
		close(fd);
		if (o->output)
			unlink(o->output); /* nothing ran: no file stays behind */
		return command_fail(self, e);
	}
	if (show(o, fd, e) < 0)
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
