/* SPDX-License-Identifier: MIT
 * leadline export: writes a recording in another tool's format. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/choosing.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/import.h"
#include "cmd/kept.h"
#include "formats/format.h"
#include "formats/results.h"
#include "store/reader.h"
#include "base/banned.h"

struct options {
	struct choosing choosing;
	const char *format, *output;
	const char *node_thres, *edge_thres, *skew;
	struct format_options look;
	int colormap;
};

static const char *const colormaps[] = { "color", "pink", "gray", "bw", "print", NULL };

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 'f', "format", OPT_STRING, "NAME", false,
		"the format, else as the name of -o ends; a wrong one lists all", FIELD(format),
		SIZE_MAX, NULL },
	{ 'o', "output", OPT_STRING, "FILE", false, "where to write (else stdout)", FIELD(output),
		SIZE_MAX, NULL },
	CHOOSING_ROWS,
	{ 'n', "node-thres", OPT_STRING, "PCT", false,
		"call graph: leave out functions below so much of the time (else 0.5)",
		FIELD(node_thres), SIZE_MAX, NULL },
	{ 'e', "edge-thres", OPT_STRING, "PCT", false,
		"call graph: leave out calls below so much of the time (else 0.1)",
		FIELD(edge_thres), SIZE_MAX, NULL },
	{ 'c', "colormap", OPT_CHOICE, "NAME", false, "call graph: gprof2dot's colours",
		FIELD(colormap), SIZE_MAX, colormaps },
	{ 0, "color-nodes-by-selftime", OPT_FLAG, NULL, false,
		"call graph: colour functions by their own time", FIELD(look.by_selftime), SIZE_MAX,
		NULL },
	{ 0, "skew", OPT_STRING, "X", false,
		"call graph: below 1 more colours for small shares, above 1 fewer", FIELD(skew),
		SIZE_MAX, NULL },
	{ 'z', "root", OPT_STRING, "F", false, "call graph: only what F calls; a name or pattern",
		FIELD(look.graph.root), SIZE_MAX, NULL },
	{ 'l', "leaf", OPT_STRING, "F", false, "call graph: only what calls F",
		FIELD(look.graph.leaf), SIZE_MAX, NULL },
};

/* What formats of operators are made of stays as the file had it, which only import keeps. */
static int open_for(const struct format *f, const char *path, struct recording **ret, struct err *e)
{
	struct reader *r = NULL;

	if (!f->takes_ops)
		return format_load(ret, path, e);
	if (import_open(&r, path, e) < 0)
		return -(int)e->code;
	*ret = recording_of_reader(r, path);
	return 0;
}

/* What a recording cannot say was asked for on the command line. What is not there may be lost: how it would be recorded is no
 * answer then. */
static int explain(struct recording *r, const struct format *f, const struct options *o,
	const char *path, struct err *e)
{
	if (e->code == ERR_UNSUPPORTED) {
		e->code = ERR_USAGE;
		err_note(e, "%s", path);
	}
	if (e->code == ERR_USAGE && !choosing_is_any(&o->choosing) && r && recording_is_partial(r))
		return err_set(e, ERR_BAD_FILE, "%s: nothing of what %s holds could be read", path,
			f->name);
	return -(int)e->code;
}

static void tell_left_out(const struct selection *s, const char *path)
{
	struct buf text = BUF_INIT;

	if (s->stacks)
		stacks_describe_idle(s->stacks, &text);
	if (text.n)
		output_line(STDERR_FILENO, "leadline: %s: left out: %s; --idle counts them", path,
			buf_str(&text));
	buf_done(&text);
}

static int export_to(const struct format *f, const char *path, const struct options *o,
	const struct choice *c, struct err *e)
{
	struct format_options look = o->look;
	struct recording *r = NULL;
	struct selection *s = NULL;
	int status = open_for(f, path, &r, e);

	if (status == 0) {
		look.filter = o->choosing.filter;
		look.damage = recording_damage(r);
		command_tell_missing(path, look.damage);
		status = format_select(f, r, c, &o->choosing.filter, &s, e);
	}
	if (status == 0 && o->output)
		status = format_save(f, s, &look, o->output, e);
	else if (status == 0)
		status = format_write_fd(f, s, &look, STDOUT_FILENO, e);
	if (status == 0)
		tell_left_out(s, path);
	else
		status = explain(r, f, o, path, e);
	if (status < 0 && !o->output && e->sys == EPIPE)
		status = 0; /* who reads it has enough */
	recording_free(r);
	return status;
}

static int parse_number(
	const char *option, const char *text, double most, double *ret, struct err *e)
{
	char *end;
	double value;

	if (!text)
		return 0;
	value = strtod(text, &end);
	if (end == text || *end || !(value >= 0 && value <= most))
		return err_set(e, ERR_USAGE, "%s wants a number from 0 to %g, not '%s'", option,
			most, text);
	*ret = value;
	return 0;
}

static int parse_look(struct options *o, struct err *e)
{
	double node_pct = o->look.graph.node_share * 100, edge_pct = o->look.graph.edge_share * 100;

	if (parse_number("--node-thres", o->node_thres, 100, &node_pct, e) < 0 ||
		parse_number("--edge-thres", o->edge_thres, 100, &edge_pct, e) < 0 ||
		parse_number("--skew", o->skew, 1000, &o->look.skew, e) < 0)
		return -(int)e->code;
	if (o->look.skew == 0)
		return err_set(e, ERR_USAGE, "--skew wants a number above 0");
	o->look.graph.node_share = node_pct / 100;
	o->look.graph.edge_share = edge_pct / 100;
	o->look.colormap = colormaps[o->colormap];
	return 0;
}

static bool asks_for_look(const struct options *o)
{
	return o->node_thres || o->edge_thres || o->skew || o->colormap || o->look.by_selftime ||
		o->look.graph.root || o->look.graph.leaf;
}

/* What is copied as it is takes no choice and has no look. */
static int takes_nothing(const struct options *o, const char *what, struct err *e)
{
	if (!choosing_is_any(&o->choosing) && !asks_for_look(o))
		return 0;
	return err_set(e, ERR_USAGE, "%s %s written whole: only --format and --output apply", what,
		what[strlen(what) - 1] == 's' ? "are" : "is");
}

static const struct format *choose(const struct options *o, const struct choice *c, struct err *e)
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
	else if (!f->is_graph && asks_for_look(o))
		err_set(e, ERR_USAGE,
			"%s draws no call graph: thresholds, colours, --root and --leaf do not "
			"apply to it",
			f->name);
	else
		format_accepts(f, c, o->choosing.filter, e);
	buf_done(&names);
	return f;
}

/* Which formats there are follows from what could be read of the file. */
static void tell_damage(const char *path)
{
	struct arena a = ARENA_INIT;
	struct err ignored = ERR_INIT;
	struct reader *r;

	if (reader_open(&r, path, &ignored) == 0) {
		command_tell_damage(&a, r, path);
		reader_close(r);
	}
	arena_done(&a);
}

/* Another tool's file becomes a recording. */
static bool is_recording(const struct options *o)
{
	return o->output &&
		(o->format ? strcmp(o->format, "lead") == 0 : text_ends_with(o->output, ".lead"));
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .look = format_defaults };
	struct choice c = { 0 };
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
	else if (results_are_in(argv[first]) && takes_nothing(&o, "benchmark results", &e) == 0)
		return kept_export(argv[first], o.format, o.output, &e) < 0 ? command_fail(self, &e)
									    : 0;
	else if (!e.code && is_recording(&o) && takes_nothing(&o, "a recording", &e) == 0)
		return import_save(argv[first], o.output, &e) < 0 ? command_fail(self, &e) : 0;
	else if (!e.code && parse_look(&o, &e) == 0 && choosing_parse(&o.choosing, &c, &e) == 0)
		f = choose(&o, &c, &e);
	if (e.code && argc - first == 1)
		tell_damage(argv[first]);
	if (e.code || export_to(f, argv[first], &o, &c, &e) < 0)
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
	.examples = "  leadline export run.lead --format collapsed -o run.folded\n"
		    "  leadline export run.lead --only-mine --state cpu -o run.svg\n"
		    "  leadline export big.pt.trace.json -o big.lead     a tenth of its size\n",
	.run = run,
};
