/* SPDX-License-Identifier: MIT
 * leadline report: shows a recording as tables. Today a recording holds host series; views of
 * samples, calls and lines join with their collectors. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "analyze/bound.h"
#include "analyze/usage.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "store/reader.h"
#include "store/tables.h"
#include "view/usage.h"
#include "base/banned.h"

struct options {
	bool json, tree, no_legend;
	int color;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 0, "processes", OPT_FLAG, NULL, false,
		"also show each process, children under their parents", FIELD(tree), SIZE_MAX,
		NULL },
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

static void print_usage(const struct usage *u, const struct options *o, struct buf *text)
{
	struct bound bound = bound_build(u);
	struct output out = output_for(STDOUT_FILENO, o->color);
	struct usage_view v = {
		.width = out.width, .colour = out.colour, .tree = o->tree, .legend = !o->no_legend
	};
	struct json_writer w;

	if (!o->json) {
		usage_print(u, &bound, &v, text);
		return;
	}
	json_init(&w, text, true);
	json_object_begin(&w);
	usage_json(u, &bound, &w);
	json_object_end(&w);
	buf_addc(text, '\n');
}

static int report(const struct command *self, const char *path, const struct options *o)
{
	struct arena a = ARENA_INIT;
	struct reader *r = NULL;
	struct tables *t = NULL;
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	const struct usage *u = NULL;
	int status = reader_open(&r, path, &e);

	if (status == 0 && tables_load(&t, r, &e) < 0)
		status = err_note(&e, "%s", path);
	if (status == 0) {
		u = usage_build(&a, t);
		tell_damage(r, t, path);
		if (!u)
			status = err_set(&e, ERR_BAD_FILE, "%s: holds no run of a program", path);
	}
	if (status == 0)
		print_usage(u, o, &text);
	status = status < 0 ? command_fail(self, &e) : output_write(STDOUT_FILENO, &text);
	tables_free(t);
	reader_close(r);
	arena_done(&a);
	buf_done(&text);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
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
