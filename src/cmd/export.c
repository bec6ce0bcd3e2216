/* SPDX-License-Identifier: MIT
 * leadline export: writes a recording in another tool's format. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "formats/format.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

struct options {
	const char *format, *output;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 'f', "format", OPT_STRING, "NAME", false,
		"the format, else as the name of -o ends; a wrong one lists all", FIELD(format),
		SIZE_MAX, NULL },
	{ 'o', "output", OPT_STRING, "FILE", false, "where to write (else stdout)", FIELD(output),
		SIZE_MAX, NULL },
};

static int export_to(
	const struct format *f, const char *path, const struct options *o, struct err *e)
{
	struct reader *r = NULL;
	struct tables *t = NULL;
	int status = format_open(&r, path, e);

	if (status == 0 && tables_load(&t, r, e) < 0)
		status = err_note(e, "%s", path);
	if (status == 0 && o->output)
		status = format_save(f, t, o->output, e);
	else if (status == 0)
		status = format_write_fd(f, t, STDOUT_FILENO, e);
	if (status < 0 && !o->output && e->sys == EPIPE)
		status = 0; /* who reads it has enough */
	tables_free(t);
	reader_close(r);
	return status;
}

static const struct format *choose(const struct options *o, struct err *e)
{
	const struct format *f = o->format ? format_find(o->format)
		: o->output                ? format_for_path(o->output)
					   : NULL;
	struct buf names = BUF_INIT;

	formats_list(&names);
	if (!f && !o->format)
		err_set(e, ERR_USAGE, "which format? --format wants one of: %s", buf_str(&names));
	else if (!f || !f->write)
		err_set(e, ERR_USAGE, "there is no format '%s' to write; there are: %s", o->format,
			buf_str(&names));
	buf_done(&names);
	return f;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct err e = ERR_INIT;
	const struct format *f = NULL;
	int first = 0;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (argc - first != 1)
		err_set(&e, ERR_USAGE,
			"which recording? For example: leadline export run.lead --format "
			"collapsed");
	else
		f = choose(&o, &e);
	if (e.code || export_to(f, argv[first], &o, &e) < 0)
		return command_fail(self, &e);
	return 0;
}

const struct command command_export = {
	.group = "look",
	.name = "export",
	.arguments = "FILE [--format NAME] [-o OUT]",
	.summary = "Write a recording in another tool's format",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline export run.lead --format collapsed -o run.folded\n",
	.run = run,
};
