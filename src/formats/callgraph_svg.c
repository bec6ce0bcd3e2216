/* SPDX-License-Identifier: MIT
 *
 * The call graph as one picture, without Graphviz: what gprof2dot draws (dot.c), laid out by
 * analyze/samples/graph_layout. Each box has the function's name, its share with what it calls, in brackets its own, and
 * calls where they were counted; arrows are as wide as their share. More than BOXES_MOST boxes nobody could read:
 * the threshold then rises, and the head of the picture tells it. Tooltips tell names and files in full. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/recording.h"
#include "analyze/samples/callgraph.h"
#include "analyze/samples/graph_layout.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/dot.h"
#include "formats/format.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/svg.h"
#include "formats/theme.h"
#include "base/banned.h"

enum {
	MARGIN = 16,
	HEAD = 52,
	LINE = 14,
	PADDING = 8,
	NAME_MOST = 42,
	HEAD_CHARACTERS = 140,
	BOXES_MOST = 400
};

static const double CHARACTER = 6.7; /* pixels */

struct page {
	struct arena a;
	const struct callgraph *g;
	const struct stacks *s;
	const struct format_options *o;
	struct callgraph_options graph; /* with the threshold that was used */
	const struct theme *theme;
	struct buf *out;
	struct graph_box *boxes;
	struct graph_arrow *arrows;
	double most_self;
};

static double share(const struct page *p, double seconds)
{
	return p->g->value > 0 ? seconds / p->g->value : 0;
}

/* "module:line", "" without a file. */
static void add_place(struct buf *out, const struct stack_function *f)
{
	struct buf whole = BUF_INIT;

	dot_name(&whole, f);
	if (*f->file && whole.n > strlen(f->name))
		buf_add(out, whole.data, whole.n - strlen(f->name) - 1);
	buf_done(&whole);
}

static void lay_out(struct page *p, struct graph_point *ret_size)
{
	static const struct graph_gaps gaps = { 18, 46 };
	struct buf name = BUF_INIT;

	p->boxes = arena_new_n(&p->a, struct graph_box, p->g->n_nodes);
	p->arrows = arena_new_n(&p->a, struct graph_arrow, p->g->n_edges);
	for (size_t i = 0; i < p->g->n_nodes; i++) {
		const struct stack_function *f =
			frames_function(p->s->frames, p->g->nodes[i].function);
		size_t width = text_width(f->name);

		buf_clear(&name);
		add_place(&name, f);
		width = text_width(buf_str(&name)) > width ? text_width(buf_str(&name)) : width;
		width = width > NAME_MOST ? NAME_MOST : width < 10 ? 10 : width;
		p->boxes[i].width = (double)width * CHARACTER + 2 * PADDING;
		p->boxes[i].height = (p->g->nodes[i].calls ? 5 : 4) * LINE + PADDING;
	}
	for (size_t i = 0; i < p->g->n_edges; i++) {
		p->arrows[i].from = p->g->edges[i].caller;
		p->arrows[i].to = p->g->edges[i].callee;
	}
	*ret_size = graph_layout(&p->a, p->boxes, p->g->n_nodes, p->arrows, p->g->n_edges, gaps);
	buf_done(&name);
}

static double left(double x)
{
	return x + MARGIN;
}

static double top(double y)
{
	return y + HEAD + MARGIN;
}

/* ---- boxes and arrows ------------------------------------------------------------------------ */

static void add_title(struct page *p, size_t node)
{
	const struct stack_function *f = frames_function(p->s->frames, p->g->nodes[node].function);

	svg_text(p->out, f->name, SIZE_MAX);
	if (*f->file) {
		buf_adds(p->out, " (");
		svg_text(p->out, f->file, SIZE_MAX);
		if (f->first_line)
			buf_printf(p->out, ":%u", f->first_line);
		buf_addc(p->out, ')');
	}
}

/* Cut at its begin: the end of a name says most. */
static void add_line(struct page *p, double x, double y, const char *style, const char *text)
{
	struct buf cut = BUF_INIT;

	text_add_cut(&cut, text, NAME_MOST, TEXT_CUT_START);
	buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" style=\"%s\" text-anchor=\"middle\">", x, y,
		style);
	svg_text(p->out, buf_str(&cut), SIZE_MAX);
	buf_adds(p->out, "</text>");
	buf_done(&cut);
}

static void add_box(struct page *p, size_t i)
{
	const struct callgraph_node *node = &p->g->nodes[i];
	const struct graph_box *b = &p->boxes[i];
	double weight = p->o->by_selftime ? (p->most_self > 0 ? node->self / p->most_self : 0)
					  : share(p, node->total);
	double x = left(b->x + b->width / 2), y = top(b->y) + LINE;
	char colour[THEME_COLOUR], text[80], total[UNITS_TEXT], own[UNITS_TEXT];
	const char *ink = p->theme->is_filled ? "fill:#fff" : "fill:#000";
	const struct stack_function *f = frames_function(p->s->frames, node->function);
	struct buf place = BUF_INIT;

	theme_colour(p->theme, weight, p->o->skew, colour);
	add_place(&place, f);
	buf_adds(p->out, "<g><title>");
	add_title(p, i);
	buf_printf(p->out, "&#10;total %s, self %s</title>",
		units_format(total, p->s->unit, node->total),
		units_format(own, p->s->unit, node->self));
	buf_printf(p->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" fill=\"%s\" stroke=\"%s\"/>",
		left(b->x), top(b->y), b->width, b->height, p->theme->is_filled ? colour : "#fff",
		colour);
	add_line(p, x, y, ink, f->name);
	add_line(p, x, y + LINE, ink, buf_str(&place));
	snprintf(text, sizeof text, "%.2f %%", share(p, node->total) * 100);
	add_line(p, x, y + 2 * LINE, ink, text);
	snprintf(text, sizeof text, "(%.2f %%)", share(p, node->self) * 100);
	add_line(p, x, y + 3 * LINE, ink, text);
	if (node->calls) {
		snprintf(text, sizeof text, "%" PRIu64 "×", node->calls);
		add_line(p, x, y + 4 * LINE, ink, text);
	}
	buf_adds(p->out, "</g>\n");
	buf_done(&place);
}

/* Arrows that go up lie beside those that go down between the same boxes. */
static double upwards(const struct graph_arrow *x)
{
	return x->points[0].y > x->points[x->n_points - 1].y ? 14 : 0;
}

/* A curve that leaves and enters vertically; straight through the layers in between. */
static void add_path(struct page *p, size_t i)
{
	const struct graph_arrow *x = &p->arrows[i];
	double aside;

	if (!x->n_points) { /* to itself: a loop at the right side */
		const struct graph_box *b = &p->boxes[x->from];
		double right = left(b->x + b->width), y = top(b->y + b->height / 2);

		buf_printf(p->out, "M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", right, y - 8,
			right + 18, y - 14, right + 18, y + 14, right, y + 8);
		return;
	}
	aside = upwards(x);
	buf_printf(p->out, "M%.1f,%.1f", left(x->points[0].x) + aside, top(x->points[0].y));
	for (size_t k = 1; k < x->n_points; k++) {
		struct graph_point from = x->points[k - 1], to = x->points[k];
		double middle = (from.y + to.y) / 2;

		buf_printf(p->out, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", left(from.x) + aside,
			top(middle), left(to.x) + aside, top(middle), left(to.x) + aside,
			top(to.y));
	}
}

static void add_arrow(struct page *p, size_t i)
{
	const struct callgraph_edge *e = &p->g->edges[i];
	const struct graph_arrow *x = &p->arrows[i];
	double weight = share(p, e->value);
	char colour[THEME_COLOUR], text[80];
	struct graph_point a, b;

	theme_colour(p->theme, weight, p->o->skew, colour);
	snprintf(text, sizeof text, "%.2f %%", weight * 100);
	buf_adds(p->out, "<g><title>");
	add_title(p, e->caller);
	buf_adds(p->out, " calls ");
	add_title(p, e->callee);
	buf_printf(p->out, "&#10;%s", text);
	if (e->calls)
		buf_printf(p->out, ", %" PRIu64 "×", e->calls);
	buf_printf(p->out,
		"</title><path fill=\"none\" stroke=\"%s\" color=\"%s\" stroke-width=\"%.2f\" marker-end=\"url(#a)\" d=\"",
		colour, colour, theme_pen(p->theme, weight));
	add_path(p, i);
	buf_adds(p->out, "\"/>");
	if (x->n_points > 1) {
		a = x->points[0];
		b = x->points[1];
		add_line(p, left((a.x + b.x) / 2) + (upwards(x) > 0 ? 26 : 4),
			top((a.y + b.y) / 2) + (upwards(x) > 0 ? 12 : 0),
			"fill:#333;paint-order:stroke;stroke:#fff;stroke-width:3px", text);
	}
	buf_adds(p->out, "</g>\n");
}

static void add_head(struct page *p, const struct selection *s, struct graph_point size)
{
	const char *command = label_command(s), *title = *command ? command : "call graph";
	double width = fmax(size.x + 2 * MARGIN + 20, 640);
	char total[UNITS_TEXT];

	svg_begin(p->out, width, size.y + HEAD + 2 * MARGIN, title);
	if (p->o->damage && *p->o->damage)
		buf_printf(p->out, "<desc>%s</desc>\n", p->o->damage);
	buf_printf(p->out, "<text class=\"t\" x=\"%d\" y=\"22\">", MARGIN);
	svg_text(p->out, title, (size_t)fmin(HEAD_CHARACTERS, width / 9));
	buf_printf(p->out,
		"</text>\n<text class=\"d\" x=\"%d\" y=\"40\">%s; boxes: total (self); %zu functions below %.3g %% left out",
		MARGIN, units_format(total, p->s->unit, p->g->value), p->g->n_left_out,
		p->graph.node_share * 100);
	svg_choice(p->out, s);
	buf_adds(p->out, "</text>\n");
	buf_adds(p->out,
		"<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
		"orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#444\"/></marker></defs>\n");
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct page p = { .a = ARENA_INIT, .o = out->options, .out = &out->text };
	struct graph_point size;

	(void)e;
	p.theme = theme_find(p.o->colormap);
	p.s = s->stacks;
	p.graph = p.o->graph;
	p.g = callgraph_build(&p.a, p.s, s->exact, &p.graph);
	if (p.g->n_nodes > BOXES_MOST && p.g->value > 0) {
		p.graph.node_share = p.g->nodes[BOXES_MOST].total / p.g->value * 1.000001;
		p.g = callgraph_build(&p.a, p.s, s->exact, &p.graph);
	}
	for (size_t i = 0; i < p.g->n_nodes; i++)
		p.most_self = fmax(p.most_self, p.g->nodes[i].self);
	lay_out(&p, &size);
	add_head(&p, s, size);
	for (size_t i = 0; i < p.g->n_edges; i++, sink_flush(out))
		add_arrow(&p, i);
	for (size_t i = 0; i < p.g->n_nodes; i++, sink_flush(out))
		add_box(&p, i);
	buf_adds(p.out, "</svg>\n");
	arena_done(&p.a);
	return 0;
}

const struct format format_callgraph_svg = {
	.name = "callgraph",
	.suffixes = { ".callgraph.svg", ".graph.svg" },
	.summary = "the call graph as one picture, laid out without Graphviz",
	.takes_totals = true,
	.is_graph = true,
	.write = write,
};
