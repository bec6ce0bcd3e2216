/* SPDX-License-Identifier: MIT
 * leadline report: shows a recording as tables. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/result.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

struct options {
	bool json, processes, functions, lines, threads, host, no_legend;
	uint64_t limit;
	int color, state;
};

static const char *const states[] = { "wall", "cpu", "gil", "wait", NULL }; /* enum stacks_state */

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 0, "functions", OPT_FLAG, NULL, false, "show functions", FIELD(functions), SIZE_MAX,
		NULL },
	{ 0, "lines", OPT_FLAG, NULL, false, "show lines", FIELD(lines), SIZE_MAX, NULL },
	{ 0, "threads", OPT_FLAG, NULL, false, "show threads", FIELD(threads), SIZE_MAX, NULL },
	{ 0, "host", OPT_FLAG, NULL, false, "show CPU, memory, IO and the time line, as time does",
		FIELD(host), SIZE_MAX, NULL },
	{ 0, "processes", OPT_FLAG, NULL, false, "as --host, with each process under its parent",
		FIELD(processes), SIZE_MAX, NULL },
	{ 0, "state", OPT_CHOICE, "STATE", false,
		"count samples of all time, on a CPU, holding the GIL, or not on a CPU",
		FIELD(state), SIZE_MAX, states },
	{ 'n', "limit", OPT_U64, "N", false, "rows of each table (else 20; 0: all)", FIELD(limit),
		SIZE_MAX, NULL },
	{ 0, "json", OPT_FLAG, NULL, false, "print JSON", FIELD(json), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
	{ 0, "no-legend", OPT_FLAG, NULL, false, "leave out the line that explains",
		FIELD(no_legend), SIZE_MAX, NULL },
};

/* What is missing from the file, in words, before any number that rests on it. */
static void tell_damage(const struct reader *r, const struct tables *t, const char *path)
{
	const struct damage *d = &r->damage;
	char lost[UNITS_TEXT];

	if (!d->has_index)
		fprintf(stderr,
			"leadline: %s: the recorder did not finish; everything written before is "
			"here\n",
			path);
	if (d->lost_bytes)
		fprintf(stderr, "leadline: %s: %s from byte %" PRIu64 " on could not be read\n",
			path, units_format(lost, UNIT_BYTES, (double)d->lost_bytes),
			d->first_lost_byte);
	if (d->n_bad_chunks)
		fprintf(stderr, "leadline: %s: %" PRIu64 " damaged %s left out\n", path,
			d->n_bad_chunks, d->n_bad_chunks == 1 ? "chunk was" : "chunks were");
	if (tables_bad_references(t))
		fprintf(stderr,
			"leadline: %s: %" PRIu64 " references lead nowhere and show as unknown\n",
			path, tables_bad_references(t));
}

static int report(const struct command *self, const char *path, const struct options *o)
{
	struct result_page page = { .output = output_for(STDOUT_FILENO, o->color),
		.processes = o->processes,
		.functions = o->functions,
		.lines = o->lines,
		.threads = o->threads,
		.host = o->host || o->processes,
		.legend = !o->no_legend,
		.limit = o->limit };
	struct stacks_options profile = { .state = (enum stacks_state)o->state };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	struct result r;
	int status = result_open(&r, path, &profile, &e);

	if (!page.functions && !page.lines && !page.threads)
		page.functions = page.lines = true;
	if (r.tables)
		tell_damage(r.reader, r.tables, path);
	if (status == 0 && o->json)
		result_json(&r, &text);
	else if (status == 0)
		result_print(&r, &page, &text);
	status = status < 0 ? command_fail(self, &e) : output_write(STDOUT_FILENO, &text);
	result_done(&r);
	buf_done(&text);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .limit = 20 };
	struct err e = ERR_INIT;
	int first;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (argc - first != 1) {
		err_set(&e, ERR_USAGE,
			argc == first ? "which recording? For example: leadline report run.lead"
				      : "one recording at a time");
		return command_fail(self, &e);
	}
	return report(self, argv[first], &o);
}

const struct command command_report = {
	.group = "why",
	.name = "report",
	.arguments = "[options] FILE",
	.summary = "Show a recording as tables",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline report run.lead\n"
		    "  leadline run.lead                  the same\n"
		    "  leadline report --json run.lead\n",
	.run = run,
};
