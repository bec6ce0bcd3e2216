/* SPDX-License-Identifier: MIT
 *
 * The table of functions for spreadsheets (CSV as RFC 4180 has it) and for notes (Markdown): name, file, line, self
 * and total in seconds (or in the file's unit) and as shares, calls where they were counted. */

#include <inttypes.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/code/pattern.h"
#include "analyze/recording.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "base/banned.h"

struct rows {
	struct arena a;
	const struct stacks *s;
	const struct profile *profile;
	uint64_t *calls; /* by function; NULL: not counted */
};

static int build(struct rows *r, struct selection *s, const char *filter, struct err *e)
{
	static const struct profile none;
	const struct exact *x = s->exact;
	struct pattern *pattern = NULL;

	if (filter && pattern_new(&pattern, filter, e) < 0)
		return err_note(e, "--filter");
	r->s = s->stacks;
	r->profile = s->profile ? s->profile : &none;
	if (pattern)
		r->profile = pattern_rows(&r->a, r->profile, pattern);
	pattern_free(pattern);
	if (!x)
		return 0;
	r->calls = arena_new_n(&r->a, uint64_t, frames_n_functions(r->s->frames));
	for (size_t i = 0; i < x->n_functions; i++)
		r->calls[x->functions[i].function] = x->functions[i].cost.calls;
	return 0;
}

static double share(const struct rows *r, double value)
{
	return r->profile->value > 0 ? value / r->profile->value : 0;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Line ends and tabs may stand in quotes; what else does something to a terminal, and bytes that are no UTF-8, become escapes. A
 * spreadsheet takes what begins with one of these for a formula, quotes or not: an apostrophe before it says that it is text. */
static void add_quoted(struct buf *out, const char *s)
{
	size_t n = strlen(s), step;
	uint32_t c;

	buf_addc(out, '"');
	if (*s && strchr("=+-@\t\r", *s))
		buf_addc(out, '\'');
	for (; n; s += step, n -= step) {
		step = text_decode(s, n, &c);
		if (c == '"')
			buf_adds(out, "\"\"");
		else if (c == '\n' || c == '\r' || c == '\t')
			buf_addc(out, (char)c);
		else if (text_is_control(c) || (c == 0xfffd && step == 1))
			text_add_escaped(out, s, step, "");
		else
			buf_add(out, s, step);
	}
	buf_addc(out, '"');
}

static int write_csv(struct selection *s, struct sink *out, struct err *e)
{
	struct rows r = { .a = ARENA_INIT };
	const char *unit;

	if (build(&r, s, out->options->filter, e) < 0)
		return -(int)e->code;
	unit = r.s->unit == UNIT_SECONDS ? "s" : r.s->unit == UNIT_BYTES ? "bytes" : "count";
	buf_printf(&out->text,
		"function,file,line,self_%s,total_%s,self_share,total_share,calls\r\n", unit, unit);
	for (size_t i = 0; i < r.profile->n_functions; i++) {
		const struct profile_function *f = &r.profile->functions[i];

		add_quoted(&out->text, f->name);
		buf_addc(&out->text, ',');
		add_quoted(&out->text, f->file);
		buf_printf(&out->text, ",%u,%.9g,%.9g,%.6g,%.6g,", f->first_line,
			f->cost.self_value, f->cost.total_value, share(&r, f->cost.self_value),
			share(&r, f->cost.total_value));
		if (r.calls)
			buf_printf(&out->text, "%" PRIu64, r.calls[f->function]);
		buf_adds(&out->text, "\r\n");
		sink_flush(out);
	}
	arena_done(&r.a);
	return 0;
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* As code, in which only the bar of a table and the backtick have a meaning. */
static void add_code(struct buf *out, const char *s)
{
	struct buf text = BUF_INIT;

	text_add_printable(&text, s, strlen(s));
	buf_addc(out, '`');
	for (size_t i = 0; i < text.n; i++) {
		if (text.data[i] == '|')
			buf_addc(out, '\\');
		buf_addc(out, text.data[i] == '`' ? '\'' : text.data[i]);
	}
	buf_addc(out, '`');
	buf_done(&text);
}

static int write_markdown(struct selection *s, struct sink *out, struct err *e)
{
	enum { ROWS = 40 };
	struct rows r = { .a = ARENA_INIT };
	char own[UNITS_TEXT], total[UNITS_TEXT], own_share[UNITS_TEXT], total_share[UNITS_TEXT];
	size_t n;

	if (build(&r, s, out->options->filter, e) < 0)
		return -(int)e->code;
	n = r.profile->n_functions < ROWS ? r.profile->n_functions : ROWS;
	buf_printf(&out->text, "| self | | total | |%s function | where |\n",
		r.calls ? " calls |" : "");
	buf_printf(&out->text, "|---:|---:|---:|---:|%s---|---|\n", r.calls ? "---:|" : "");
	for (size_t i = 0; i < n; i++) {
		const struct profile_function *f = &r.profile->functions[i];

		buf_printf(&out->text, "| %s | %s | %s | %s | ",
			units_format(own, r.s->unit, f->cost.self_value),
			units_format(own_share, UNIT_SHARE, share(&r, f->cost.self_value)),
			units_format(total, r.s->unit, f->cost.total_value),
			units_format(total_share, UNIT_SHARE, share(&r, f->cost.total_value)));
		if (r.calls)
			buf_printf(&out->text, "%" PRIu64 " | ", r.calls[f->function]);
		add_code(&out->text, f->name);
		buf_adds(&out->text, " | ");
		if (*f->file) {
			struct buf place = BUF_INIT;

			buf_adds(&place, frames_module_path(f->file));
			if (f->first_line)
				buf_printf(&place, ":%u", f->first_line);
			add_code(&out->text, buf_str(&place));
			buf_done(&place);
		}
		buf_adds(&out->text, " |\n");
	}
	if (n < r.profile->n_functions)
		buf_printf(&out->text, "\n… and %zu more functions\n", r.profile->n_functions - n);
	arena_done(&r.a);
	return 0;
}

const struct format format_csv = {
	.name = "csv",
	.suffixes = { ".csv" },
	.summary = "the table of functions for spreadsheets",
	.takes_totals = true,
	.choice = FORMAT_OF_ROWS,
	.write = write_csv,
};

const struct format format_markdown = {
	.name = "markdown",
	.alias = "md",
	.suffixes = { ".md" },
	.summary = "the first 40 functions as a table for notes",
	.takes_totals = true,
	.choice = FORMAT_OF_ROWS,
	.write = write_markdown,
};
