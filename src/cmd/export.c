/* SPDX-License-Identifier: MIT
 * leadline export: writes a recording in another tool's format. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/paths.h"
#include "analyze/recording.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/choosing.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/import.h"
#include "cmd/results_export.h"
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
	bool force;
};

static const char *const colormaps[] = { "color", "pink", "gray", "bw", "print", NULL };

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'f',
		.name = "format",
		.kind = OPT_STRING,
		.value = "NAME",
		.help = "output format (default: by the suffix of -o); an unknown one lists them "
			"all",
		.offset = FIELD(format) },
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "write to FILE (default: stdout)",
		.offset = FIELD(output) },
	OUTPUT_FORCE(FIELD(force)),
	CHOOSING_ROWS,
	CHOOSING_MEMORY,
	{ .heading = "Call graphs",
		.letter = 'n',
		.name = "node-thres",
		.kind = OPT_STRING,
		.value = "PCT",
		.help = "hide functions below PCT of the time (default: 0.5)",
		.offset = FIELD(node_thres) },
	{ .letter = 'e',
		.name = "edge-thres",
		.kind = OPT_STRING,
		.value = "PCT",
		.help = "hide calls below PCT of the time (default: 0.1)",
		.offset = FIELD(edge_thres) },
	{ .letter = 'c',
		.name = "colormap",
		.kind = OPT_CHOICE,
		.value = "NAME",
		.help = "gprof2dot colour scheme",
		.offset = FIELD(colormap),
		.choices = colormaps },
	{ .name = "color-nodes-by-selftime",
		.kind = OPT_FLAG,
		.help = "colour functions by self time",
		.offset = FIELD(look.by_selftime) },
	{ .name = "skew",
		.kind = OPT_STRING,
		.value = "X",
		.help = "below 1: more colours for small shares; above 1: fewer",
		.offset = FIELD(skew) },
	{ .letter = 'z',
		.name = "root",
		.kind = OPT_STRING,
		.value = "F",
		.help = "only what F calls: a name or pattern",
		.offset = FIELD(look.graph.root) },
	{ .letter = 'l',
		.name = "leaf",
		.kind = OPT_STRING,
		.value = "F",
		.help = "only what calls F",
		.offset = FIELD(look.graph.leaf) },
	PEERS_OF_RECORDINGS,
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

/* Files for other tools have no place for intervals. */
static void tell_corrected(const struct selection *s, const char *path)
{
	char low[UNITS_TEXT], high[UNITS_TEXT];
	const struct exact *x = s->exact;

	if (x && x->is_timed && units_is_known(x->self_interval.low))
		output_line(STDERR_FILENO,
			"leadline: %s: times exclude the cost of tracing, %s–%s in all; leadline "
			"report shows how far each may be off",
			path, units_format(low, UNIT_SECONDS, x->self_interval.low),
			units_format(high, UNIT_SECONDS, x->self_interval.high));
}

static void tell_left_out(const struct selection *s, const char *path)
{
	struct buf text = BUF_INIT;

	if (s->stacks)
		stacks_describe_idle(s->stacks, &text);
	if (text.n)
		output_line(STDERR_FILENO, "leadline: %s: left out: %s; --idle counts them", path,
			buf_str(&text));
	if (s->stacks && s->stacks->paths->imports.value > 0)
		output_line(STDERR_FILENO,
			"leadline: %s: imports are in one row; --imports opens it", path);
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
	if (status == 0) {
		tell_left_out(s, path);
		tell_corrected(s, path);
	} else {
		status = explain(r, f, o, path, e);
	}
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
		err_set(e, ERR_USAGE, "unknown format '%s'; there are: %s", o->format,
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
	else if (output_may_write(o.output, o.force, &e) < 0)
		return command_fail(self, &e);
	else if (results_are_in(argv[first]) && takes_nothing(&o, "benchmark results", &e) == 0)
		return results_export(argv[first], o.format, o.output, &e) < 0
			? command_fail(self, &e)
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
	.summary = "Convert a recording to another tool's format",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline export run.lead --format collapsed -o run.folded\n"
		    "  leadline export run.lead --only-mine --state cpu -o run.svg\n"
		    "  leadline export run.lead --memory=peak -o peak.svg\n"
		    "  leadline export big.pt.trace.json -o big.lead     a tenth of its size\n",
	.run = run,
};
