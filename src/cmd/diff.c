/* SPDX-License-Identifier: MIT
 * leadline diff: what changed from one recording to another. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/diff_source.h"
#include "analyze/diff/time_blocks.h"
#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/choosing.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/diff_ops.h"
#include "cmd/result.h"
#include "json/diff.h"
#include "json/values.h"
#include "view/diff.h"
#include "view/samples/profile.h"
#include "base/banned.h"

enum { ROWS = 20 };

struct options {
	struct choosing choosing;
	bool functions, lines, paths, all, json, no_legend, has_limit, ops, has_normalize;
	const char *unit, *fail_on, *noise;
	uint64_t limit;
	int normalize, sort, color;
	double noise_share, fail_share;
};

/* diff_normalize */
static const char *const normalizations[] = { "absolute", "run", "unit", NULL };
static const char *const orders[] = { "self", "total", NULL };

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .name = "normalize",
		.kind = OPT_CHOICE,
		.value = "HOW",
		.help = "compare recorded times, shares of each run, or time per unit of work",
		.offset = FIELD(normalize),
		.given_offset = FIELD(has_normalize),
		.choices = normalizations },
	{ .name = "unit",
		.kind = OPT_STRING,
		.value = "WHAT",
		.help = "the unit of work: a region's name, a traced function, or a count: 500 or "
			"500:1000",
		.offset = FIELD(unit) },
	{ .name = "fail-on",
		.kind = OPT_STRING,
		.value = "+PCT",
		.help = "exit with status 1 when the total grew by more than this, 3 when it may "
			"have",
		.offset = FIELD(fail_on) },
	{ .name = "noise",
		.kind = OPT_STRING,
		.value = "PCT",
		.help = "how far two runs of one program differ on this machine (default: 3%)",
		.offset = FIELD(noise) },
	{ .name = "functions",
		.kind = OPT_FLAG,
		.help = "show functions",
		.offset = FIELD(functions) },
	{ .name = "lines", .kind = OPT_FLAG, .help = "show lines", .offset = FIELD(lines) },
	{ .name = "paths",
		.kind = OPT_FLAG,
		.help = "show call paths: who called whom",
		.offset = FIELD(paths) },
	{ .name = "ops",
		.kind = OPT_FLAG,
		.help = "show PyTorch operators instead of stacks (traces of torch.profiler always "
			"show them)",
		.offset = FIELD(ops) },
	{ .name = "all",
		.kind = OPT_FLAG,
		.help = "also show rows within the noise",
		.offset = FIELD(all) },
	{ .letter = 's',
		.name = "sort",
		.kind = OPT_CHOICE,
		.value = "KEY",
		.help = "sort rows by the change in self or total time",
		.offset = FIELD(sort),
		.choices = orders },
	{ .letter = 'n',
		.name = "limit",
		.kind = OPT_U64,
		.value = "N",
		.help = "rows per table (default: 20; 0: all)",
		.offset = FIELD(limit),
		.given_offset = FIELD(has_limit) },
	CHOOSING_ONLY_MINE,
	CHOOSING_STATE,
	CHOOSING_IDLE,
	CHOOSING_IMPORTS,
	CHOOSING_PHASE,
	CHOOSING_MEMORY,
	{ .heading = "Output",
		.name = "json",
		.kind = OPT_FLAG,
		.help = "print JSON",
		.offset = FIELD(json) },
	{ .name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = FIELD(color),
		.choices = color_choices },
	{ .name = "no-legend",
		.kind = OPT_FLAG,
		.help = "omit the legend",
		.offset = FIELD(no_legend) },
};

/* ---- the two sides --------------------------------------------------------------------------- */

struct side {
	struct result r;
	struct buf made;
};

static int open_side(struct side *s, const char *path, const struct options *o, struct err *e)
{
	struct result_choice c = { .source = true };

	if (choosing_parse(&o->choosing, &c.of, e) < 0)
		return -(int)e->code;
	c.of.by_time = true;
	return result_open(&s->r, path, &c, e);
}

static bool is_partial(const struct side *s)
{
	return recording_is_partial(s->r.recording);
}

static struct diff_source source_of(struct side *s)
{
	return diff_source_of(s->r.selection, s->r.name);
}

/* What a machine does to times it does not do to bytes. */
static double noise_of(const struct side *s, const struct options *o)
{
	return s->r.selection->stacks->unit == UNIT_BYTES ? 0 : o->noise_share;
}

static void side_done(struct side *s)
{
	result_done(&s->r);
	buf_done(&s->made);
}

static struct diff_name name_of(struct side *s)
{
	struct diff_source source = source_of(s);

	diff_source_made(&source, &s->made);
	return (struct diff_name){ .file = s->r.name,
		.command = s->r.recording->usage->command,
		.made = buf_str(&s->made),
		.damage = s->r.damage,
		.wall_s = s->r.recording->origin.is_foreign ? UNITS_UNKNOWN
							    : s->r.recording->usage->wall_s };
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* The growth that the interval lies above, below, or around the limit. */
static int gate(const struct diff *d, const struct options *o, struct err *e)
{
	double limit = d->total.a * o->fail_share, low = d->total.change - d->total.plus_minus,
	       high = d->total.change + d->total.plus_minus,
	       percent = d->total.a > 0 ? 100 / d->total.a : 0;

	if (high <= limit)
		return 0;
	if (low > limit)
		return err_set(e, ERR_GATE,
			"the total grew by %.1f %% (%.1f to %.1f): more than %s",
			d->total.change * percent, low * percent, high * percent, o->fail_on);
	return err_set(e, ERR_UNDECIDED,
		"the total changed by %+.1f %% (%+.1f to %+.1f): these two runs cannot tell "
		"whether that is more than %s",
		d->total.change * percent, low * percent, high * percent, o->fail_on);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void print(const struct diff *d, struct side *a, struct side *b, const struct options *o,
	struct buf *out)
{
	static const char *const words[] = { "", "shares of the run", "per unit of work" };
	struct output output = output_for(STDOUT_FILENO, o->color);
	bool is_plain = !o->functions && !o->lines && !o->paths;
	char folder[4096];
	struct profile_view page = { .width = output.width,
		.colour = output.colour,
		.legend = !o->no_legend,
		.limit = o->has_limit ? o->limit : ROWS,
		.what = "",
		.folder = getcwd(folder, sizeof folder) ? folder : NULL };
	struct diff_view v = { .page = &page,
		.a = name_of(a),
		.b = name_of(b),
		.normalized = words[o->normalize],
		.noise = noise_of(a, o),
		.functions = o->functions || is_plain,
		.lines = o->lines || (is_plain && d->lines.n),
		.paths = o->paths,
		.all = o->all };
	struct json_writer w;

	if (!o->json) {
		diff_print(d, &v, out);
		return;
	}
	json_page_begin(&w, out);
	json_kv_string(&w, "normalize", normalizations[o->normalize]);
	diff_json(d, (struct diff_name[]){ v.a, v.b }, v.noise, v.paths, &w);
	json_page_end(&w);
}

static const struct diff *build(
	struct arena *arena, struct side *a, struct side *b, const struct options *o, struct err *e)
{
	struct diff_source sources[] = { source_of(a), source_of(b) };
	struct diff_options options = { .normalize = (enum diff_normalize)o->normalize,
		.noise = noise_of(a, o),
		.by_total = o->sort == 1 };
	struct diff_side sides[2];

	if (diff_sides(arena, sources, &options, o->unit, sides, e) < 0)
		return NULL;
	return diff_build(arena, &sides[0], &sides[1], &options);
}

static int compare(const struct command *self, char **files, struct options *o)
{
	struct side a = { 0 }, b = { 0 };
	struct arena arena = ARENA_INIT;
	struct buf text = BUF_INIT;
	const struct diff *d = NULL;
	struct err e = ERR_INIT;
	int status = 0;

	if (open_side(&a, files[0], o, &e) == 0 && open_side(&b, files[1], o, &e) == 0)
		d = build(&arena, &a, &b, o, &e);
	if (d) {
		print(d, &a, &b, o, &text);
		status = output_write(STDOUT_FILENO, &text);
		if (status == 0 && o->fail_on && (is_partial(&a) || is_partial(&b)))
			err_set(&e, ERR_UNDECIDED,
				"part of a recording is lost, so it is unknown whether the total "
				"grew by more than %s",
				o->fail_on);
		else if (status == 0 && o->fail_on)
			gate(d, o, &e);
	}
	if (e.code)
		status = command_fail(self, &e);
	side_done(&a);
	side_done(&b);
	arena_done(&arena);
	buf_done(&text);
	return status;
}

/* "5%" or "5", with the sign if one must be there, as a share. */
static int parse_percent(
	const char *option, const char *text, bool has_sign, double *ret, struct err *e)
{
	char *end;
	double value;

	if (!text)
		return 0;
	value = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%") != 0) || (has_sign && *text != '+') ||
		!(value >= 0 && value <= 1e6))
		return err_set(e, ERR_USAGE, "%s wants a percentage such as %s, not '%s'", option,
			has_sign ? "+5%" : "2%", text);
	*ret = value / 100;
	return 0;
}

/* Operators are asked for, or are all there is: true, and they were shown. */
static bool compare_ops(
	const struct command *self, char **files, const struct options *o, int *ret_status)
{
	struct diff_ops options = { .output = output_for(STDOUT_FILENO, o->color),
		.scale = !o->has_normalize || o->normalize == DIFF_UNIT ? OPS_DIFF_STEP
			: o->normalize == DIFF_RUN                      ? OPS_DIFF_RUN
									: OPS_DIFF_ABSOLUTE,
		.json = o->json,
		.limit = !o->has_limit ? ROWS
			: o->limit     ? (size_t)o->limit
				       : SIZE_MAX };
	bool is_of_stacks = o->functions || o->lines || o->paths || o->unit || o->fail_on ||
		o->choosing.only_mine || o->choosing.state || o->choosing.idle ||
		o->choosing.imports || o->choosing.phase || o->choosing.memory;
	struct err e = ERR_INIT;

	if (o->ops && is_of_stacks) {
		err_set(&e, ERR_USAGE,
			"--ops compares operators: only --normalize, --limit, --json and --color "
			"apply");
		*ret_status = command_fail(self, &e);
		return true;
	}
	return !is_of_stacks && diff_ops(self, files, &options, o->ops, ret_status);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .noise_share = DIFF_NOISE };
	struct err e = ERR_INIT;
	int first, status;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (argc - first != 2)
		err_set(&e, ERR_USAGE,
			"which two recordings? For example: leadline diff before.lead after.lead");
	else if (parse_percent("--noise", o.noise, false, &o.noise_share, &e) == 0 &&
		parse_percent("--fail-on", o.fail_on, true, &o.fail_share, &e) == 0 && o.fail_on &&
		o.normalize == DIFF_RUN)
		err_set(&e, ERR_USAGE,
			"--fail-on checks the total, which is always 100 %% with --normalize run");
	else if (!e.code && o.unit && o.normalize != DIFF_UNIT)
		err_set(&e, ERR_USAGE, "--unit needs --normalize unit");
	if (e.code)
		return command_fail(self, &e);
	if (compare_ops(self, argv + first, &o, &status))
		return status;
	return compare(self, argv + first, &o);
}

const struct command command_diff = {
	.group = "prove",
	.name = "diff",
	.arguments = "[options] A B",
	.summary = "Show what changed from one recording to another",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline diff before.lead after.lead\n"
		    "  leadline diff before.lead after.lead --normalize run --paths\n"
		    "  leadline diff main.lead branch.lead --fail-on +5%\n",
	.run = run,
};
