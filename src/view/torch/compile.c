/* SPDX-License-Identifier: MIT
 * See compile.h. */
#include "view/torch/compile.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/torch/compile.h"
#include "analyze/torch/compile_log.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { BAR = 30 };

static const char *const words[OP_N_STAGES] = { "tracing Python", "guards", "AOTAutograd",
	"inductor", "compiler, loading", "from a cache", "other" };

/* ---- terminal -------------------------------------------------------------------------------- */

static void print_sums(const struct op_compile *x, const struct ops_view *v, struct buf *out)
{
	char time[UNITS_TEXT], share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	buf_printf(&text, "%zu compilations took %s, %s of the trace", x->n - (size_t)x->n_tuning,
		units_format(time, UNIT_SECONDS, x->seconds),
		units_format(share, UNIT_SHARE, x->span_s > 0 ? x->seconds / x->span_s : 0));
	if (x->n_tuning)
		buf_printf(&text,
			", with %" PRIu64 " times kernels were measured to choose the fastest",
			x->n_tuning);
	if (x->n_scripts)
		buf_printf(&text, "; %" PRIu64 " by torch.jit, for %s", x->n_scripts,
			units_format(time, UNIT_SECONDS, x->scripts_s));
	if (x->n_backward)
		buf_printf(&text, "; %" PRIu64 " for autograd", x->n_backward);
	if (x->n_again)
		buf_printf(&text,
			"; %" PRIu64 " of frames that had been compiled before (recompiles)",
			x->n_again);
	if (x->n_cached)
		buf_printf(&text, "; %" PRIu64 " took code from the cache of an earlier process",
			x->n_cached);
	buf_adds(&text, ".");
	if (x->n > x->n_scripts || x->n_calls)
		buf_printf(&text, " Code of torch.compile was called %" PRIu64 " times%s",
			x->n_calls, x->n_breaks ? "" : ".");
	if (x->n_breaks)
		buf_printf(&text, ", %" PRIu64 " of them to continue after a graph break.",
			x->n_breaks);
	if (x->triton_s > 0)
		buf_printf(&text, " Kernels that inductor wrote ran for %s on the device.",
			units_format(time, UNIT_SECONDS, x->triton_s));
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
}

static void print_stages(const struct op_compile *x, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = { { "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "", TABLE_RIGHT, TEXT_CUT_END, 0 }, { "", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 } };
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (unsigned i = 0; i < OP_N_STAGES; i++) {
		struct buf bar = BUF_INIT;

		if (!(x->stages_s[i] > 0))
			continue;
		style_bar(&bar, x->stages_s[i] / x->seconds, BAR);
		table_cell(table, "%s", words[i]);
		table_cell_unit(table, UNIT_SECONDS, x->stages_s[i]);
		table_cell_unit(table, UNIT_SHARE, x->stages_s[i] / x->seconds);
		table_cell(table, "%s", buf_str(&bar));
		buf_done(&bar);
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

/* What goes on after a graph break is called torch_dynamo_resume_in_f_at_8. */
static void add_frame(struct table *table, const struct op_frame *f)
{
	static const char resume[] = "torch_dynamo_resume_in_";
	const char *name = f->told ? f->told->function : "", *line = NULL;

	if (strncmp(name, resume, strlen(resume)) == 0)
		for (const char *at = name += strlen(resume); (at = strstr(at, "_at_")); at++)
			line = at;
	if (line)
		table_cell(table, "%s %.*s from %s", f->id, (int)(line - name), name, line + 4);
	else
		table_cell(table, "%s %s", f->id, name);
}

static void print_frames(const struct op_compile *x, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "frame", TABLE_LEFT, TEXT_CUT_END, 5 },
		{ "compiled", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "times", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "calls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "first", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "later", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "in calls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "break in", TABLE_LEFT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < x->n_frames && i < v->limit; i++) {
		const struct op_frame *f = &x->frames[i];

		add_frame(table, f);
		table_cell_unit(table, UNIT_SECONDS, f->compile_s);
		table_cell_unit(table, UNIT_COUNT, (double)f->n_compiled);
		table_cell_unit(table, UNIT_COUNT, (double)f->n_calls);
		table_cell_unit(table, UNIT_SECONDS, f->first_s);
		table_cell_unit(table, UNIT_SECONDS, f->later_s);
		table_cell_unit(table, UNIT_COUNT, f->equal_calls);
		table_cell(table, "%s", f->within);
	}
	buf_addc(out, '\n');
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	style_wrap(out,
		"first, later: time of a call, without compiling; in calls: how many later calls take as long "
		"as compiling did (if compiling made the code twice as fast, it has paid off after that many); "
		"break in: it continues after a graph break in that frame",
		0, v->width);
}

/* What torch says may have lines of its own. */
static void add_reason(struct buf *text, const char *reason)
{
	while (*reason) {
		size_t n = strcspn(reason, " \n");

		text_add_printable(text, reason, n);
		reason += n + strspn(reason + n, " \n");
		if (n && *reason)
			buf_addc(text, ' ');
	}
}

static void print_list(const struct op_compile *x, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "at", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "took", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "compilation", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < x->n && i < v->limit; i++) {
		const struct op_compilation *c = &x->v[i];

		table_cell_unit(table, UNIT_SECONDS, c->at_s);
		table_cell_unit(table, UNIT_SECONDS, c->seconds);
		table_cell(table, "%s", c->id);
		table_cell(table, "%s%s%s",
			c->is_tuning             ? "kernels measured"
				: c->is_backward ? "backward"
				: c->is_again    ? "again"
						 : "",
			c->is_cached && (c->is_backward || c->is_again) ? ", " : "",
			c->is_cached ? "from the cache" : "");
	}
	buf_addc(out, '\n');
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (x->n > v->limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			x->n - v->limit);
	for (size_t i = 0, n = 0; i < x->n && n < v->limit; i++) {
		struct buf text = BUF_INIT;

		if (!*x->v[i].reason)
			continue;
		buf_printf(&text, "%s%s because ", n++ ? "" : "\n", x->v[i].id);
		add_reason(&text, x->v[i].reason);
		style_wrap(out, buf_str(&text), 0, v->width);
		buf_done(&text);
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Why graphs broke, where the program was asked. */
static void print_told(const struct op_compile_log *told, const struct ops_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < told->n_breaks && i < v->limit; i++) {
		const struct op_compile_log_break *b = &told->breaks[i];

		buf_clear(&text);
		buf_printf(&text, "graph break at %s: %s, line %" PRIu64 ": ", base_name(b->file),
			b->function, b->line);
		add_reason(&text, b->reason);
		buf_addc(out, '\n');
		style_wrap(out, buf_str(&text), 0, v->width);
	}
	for (size_t i = 0; i < told->n_explained && i < v->limit; i++) {
		buf_clear(&text);
		buf_adds(&text, "torch says: ");
		add_reason(&text, told->explained[i].reason);
		style_wrap(out, buf_str(&text), 2, v->width);
	}
	buf_done(&text);
}

static void print_break(const struct op_break *b, bool is_first, struct buf *out)
{
	if (is_first)
		buf_addc(out, '\n');
	text_add_line(out, "graph break at %s: continued after it %" PRIu64 " times", b->where,
		b->n_times);
}

void op_compile_print(const struct op_compile *x, const struct ops_view *v, struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "Compilation\n");
	if (!x->n && !x->n_calls) {
		buf_adds(out,
			ops_absent(v,
				"nothing was compiled in this trace, and no code of torch.compile ran\n"));
		return;
	}
	print_sums(x, v, out);
	if (x->stages_s[OP_STAGE_OTHER] < x->seconds * 0.999)
		print_stages(x, v, out);
	else if (x->n > x->n_scripts)
		buf_adds(out, "to see the stages: leadline run --torch=full\n");
	if (x->n_frames)
		print_frames(x, v, out);
	for (size_t i = 0; i < x->n_places && i < v->limit; i++)
		print_break(&x->breaks[i], i == 0, out);
	print_told(x->told, v, out);
	if (x->n)
		print_list(x, v, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
