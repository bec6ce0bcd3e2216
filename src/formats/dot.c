/* SPDX-License-Identifier: MIT
 *
 * The call graph in Graphviz' language, as gprof2dot draws it: the same thresholds, colours, labels (total share,
 * then self share in brackets; on a call its share), pen widths. Names are "module:line:name". */
#include "formats/dot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/recording.h"
#include "analyze/samples/callgraph.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "formats/theme.h"
#include "base/banned.h"

enum { NAME_MOST = 4000 }; /* dot reads no longer words than 16 K */

void dot_name(struct buf *out, const struct stack_function *f)
{
	const char *slash = strrchr(f->file, '/'), *base = slash ? slash + 1 : f->file;
	size_t n = strlen(base);

	n -= n > 3 && strcmp(base + n - 3, ".py") == 0 ? 3 : 0;
	if (n)
		buf_printf(out, "%.*s:", (int)n, base);
	if (n && f->first_line)
		buf_printf(out, "%u:", f->first_line);
	buf_adds(out, f->name);
}

/* Inside quotes. */
static void add_quoted(struct buf *out, const char *s)
{
	struct buf printable = BUF_INIT;
	size_t n = strlen(s);

	text_add_printable(&printable, s, n < NAME_MOST ? n : NAME_MOST);
	for (size_t i = 0; i < printable.n; i++) {
		if (printable.data[i] == '"' || printable.data[i] == '\\')
			buf_addc(out, '\\');
		buf_addc(out, printable.data[i]);
	}
	buf_done(&printable);
}

struct page {
	const struct callgraph *g;
	const struct stacks *s;
	const struct format_options *o;
	const struct theme *theme;
	struct buf *out;
};

static double share(const struct page *p, double seconds)
{
	return p->g->value > 0 ? seconds / p->g->value : 0;
}

static void add_node(struct page *p, size_t i, double most_self)
{
	const struct callgraph_node *x = &p->g->nodes[i];
	const struct stack_function *f = frames_function(p->s->frames, x->function);
	double weight = share(p, x->total);
	char colour[THEME_COLOUR];
	struct buf name = BUF_INIT;

	if (p->o->by_selftime)
		weight = most_self > 0 ? x->self / most_self : 0;
	theme_colour(p->theme, weight, p->o->skew, colour);
	dot_name(&name, f);
	buf_printf(p->out, "\t%zu [color=\"%s\", fontcolor=\"%s\", fontsize=\"%.2f\", label=\"", i,
		colour, p->theme->is_filled ? "#ffffff" : colour, theme_font(p->theme, weight));
	add_quoted(p->out, buf_str(&name));
	buf_printf(
		p->out, "\\n%.2f%%\\n(%.2f%%)", share(p, x->total) * 100, share(p, x->self) * 100);
	if (x->calls)
		buf_printf(p->out, "\\n%" PRIu64 "×", x->calls);
	buf_addc(p->out, '"');
	if (*f->file) {
		buf_adds(p->out, ", tooltip=\"");
		add_quoted(p->out, f->file);
		buf_addc(p->out, '"');
	}
	buf_adds(p->out, "];\n");
	buf_done(&name);
}

static void add_edge(struct page *p, const struct callgraph_edge *x)
{
	double weight = share(p, x->value), pen = theme_pen(p->theme, weight);
	char colour[THEME_COLOUR];

	theme_colour(p->theme, weight, p->o->skew, colour);
	buf_printf(p->out,
		"\t%zu -> %zu [arrowsize=\"%.2f\", color=\"%s\", fontcolor=\"%s\", fontsize=\"%.2f\", label=\"%.2f%%",
		x->caller, x->callee, 0.5 * sqrt(pen), colour, colour, theme_font(p->theme, weight),
		weight * 100);
	if (x->calls)
		buf_printf(p->out, "\\n%" PRIu64 "×", x->calls);
	buf_printf(p->out, "\", labeldistance=\"%.2f\", penwidth=\"%.2f\"];\n", pen, pen);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	const struct format_options *o = out->options;
	struct arena a = ARENA_INIT;
	struct buf what = BUF_INIT;
	struct page p = {
		.s = s->stacks, .o = o, .theme = theme_find(o->colormap), .out = &out->text
	};
	double most_self = 0;

	(void)e;
	p.g = callgraph_build(&a, p.s, s->exact, &o->graph);
	for (size_t i = 0; i < p.g->n_nodes; i++)
		most_self = fmax(most_self, p.g->nodes[i].self);
	if (*sink_damage(out))
		buf_printf(p.out, "// %s\n", sink_damage(out));
	selection_describe(s, &what);
	if (what.n)
		buf_printf(p.out, "// %s\n", buf_str(&what));
	buf_done(&what);
	buf_printf(p.out,
		"digraph {\n\ttooltip=\" \"\n"
		"\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];\n"
		"\tnode [fontcolor=%s, fontname=Arial, height=0, shape=box, style=%s, width=0];\n"
		"\tedge [fontname=Arial];\n",
		p.theme->font_colour, p.theme->style);
	for (size_t i = 0; i < p.g->n_nodes; i++, sink_flush(out))
		add_node(&p, i, most_self);
	for (size_t i = 0; i < p.g->n_edges; i++, sink_flush(out))
		add_edge(&p, &p.g->edges[i]);
	buf_adds(p.out, "}\n");
	arena_done(&a);
	return 0;
}

const struct format format_dot = {
	.name = "dot",
	.suffixes = { ".dot", ".gv" },
	.summary = "the call graph for Graphviz, as gprof2dot draws it",
	.takes_totals = true,
	.is_graph = true,
	.write = write,
};
