/* SPDX-License-Identifier: MIT
 *
 * A flame graph in one SVG file: roots at the bottom, what they call above, as wide as their time, the widest to the
 * left; a tooltip on each box. Boxes below a quarter of a pixel are left out. The hue is the module's; library
 * code is paler. Recursion is drawn once and marked (analyze/samples/calltree.h), else it would be a tower. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/recording.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/flametree.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "formats/format.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/svg.h"
#include "base/banned.h"

enum {
	WIDTH = 1200,
	MARGIN = 10,
	HEAD = 52,
	NOTE = 16, /* a line more */
	ROW = 17,
	LEVELS_MOST = 2000 /* above, nothing is drawn */
};

static const double LEAST = 0.25, CHARACTER = 6.62; /* pixels */

struct flame {
	struct sink *out;
	const struct stacks *s;
	const struct calltree_node *root;
	double per_second;
	size_t n_levels;
	double height;
};

/* ---- boxes ----------------------------------------------------------------------------------- */

static void add_colour(struct buf *out, const struct stack_function *f)
{
	const char *slash = strrchr(f->file, '/');
	size_t n = slash ? (size_t)(slash - f->file) : 0; /* the folder: neighbours look alike */
	uint64_t h = hash_bytes(f->file, n), g = hash_bytes(f->name, strlen(f->name));

	if (f->is_synthetic || f->is_library)
		buf_printf(out, "hsl(%u,%u%%,%u%%)", (unsigned)(h % 360), f->is_synthetic ? 0 : 22,
			78 + (unsigned)(g % 8));
	else
		buf_printf(
			out, "hsl(%u,85%%,%u%%)", 22 + (unsigned)(h % 24), 62 + (unsigned)(g % 12));
}

static void add_box(struct flame *f, const struct calltree_node *x, size_t level, double at)
{
	const struct stack_function *function = frames_function(f->s->frames, x->function);
	double width = x->total * f->per_second;
	double y = f->height - MARGIN - (double)(level + 1) * ROW, all = f->root->total;
	char total[UNITS_TEXT], share[UNITS_TEXT], own[UNITS_TEXT];
	struct buf *out = &f->out->text;
	size_t room = (size_t)fmax(0, (width - 5) / CHARACTER);

	buf_adds(out, "<g><title>");
	svg_text(out, function->name, SIZE_MAX);
	buf_adds(out, x->is_recursive ? ", calls itself" : "");
	if (*function->file) {
		buf_adds(out, " (");
		svg_text(out, function->file, SIZE_MAX);
		if (function->first_line)
			buf_printf(out, ":%u", function->first_line);
		buf_addc(out, ')');
	}
	buf_printf(out, "&#10;%s, %s; self %s</title>", units_format(total, f->s->unit, x->total),
		units_format(share, UNIT_SHARE, x->total / all),
		units_format(own, UNIT_SHARE, x->self / all));
	buf_printf(out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"", at, y,
		fmax(width - 0.4, LEAST), ROW - 1);
	add_colour(out, function);
	buf_adds(out, "\"/>");
	if (room >= 3) {
		buf_printf(out, "<text x=\"%.2f\" y=\"%.0f\">", at + 3, y + 12);
		if (x->is_recursive)
			buf_adds(out, "↻ ");
		svg_text(out, function->name, x->is_recursive ? room - 2 : room);
		buf_adds(out, "</text>");
	}
	buf_adds(out, "</g>\n");
	sink_flush(f->out);
}

/* Depth first, without recursion of our own: stacks may be deep. Not `draw`: only finds how many levels there are. */
static void walk(struct flame *f, bool draw)
{
	struct place {
		const struct calltree_node *of;
		size_t next; /* child */
		double at;
	};
	VEC(struct place) open = VEC_INIT;

	vec_push(&open, (struct place){ f->root, 0, MARGIN });
	while (open.n) {
		struct place *top = &open.v[open.n - 1];
		const struct calltree_node *x =
			top->next < top->of->n_children ? top->of->children[top->next] : NULL;
		double at = top->at;

		/* Those behind a narrow one are narrower. */
		if (!x || x->total * f->per_second < LEAST || open.n > LEVELS_MOST) {
			open.n--;
			continue;
		}
		if (draw)
			add_box(f, x, open.n - 1, at);
		f->n_levels = open.n > f->n_levels ? open.n : f->n_levels;
		top->at += x->total * f->per_second;
		top->next++;
		vec_push(&open, (struct place){ x, 0, at });
	}
	vec_done(&open);
}

/* ---- of who called whom ---------------------------------------------------------------------- */

/* The same shape as of stacks; nodes of a flame tree lie depth first, children by total. */
static const struct calltree_node *tree_of(struct arena *a, const struct flametree *t)
{
	struct calltree_node *nodes = arena_new_n(a, struct calltree_node, t->n);
	const struct calltree_node **children = arena_new_n(a, const struct calltree_node *, t->n);
	size_t used = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		nodes[i] = (struct calltree_node){ .function = t->function[i],
			.self = t->self[i],
			.total = t->total[i],
			.children = children + used };
		for (uint32_t c = i + 1; c < t->end[i]; c = t->end[c])
			children[used + nodes[i].n_children++] = &nodes[c];
		used += nodes[i].n_children;
	}
	return nodes;
}

static void add_head(struct flame *f, const struct selection *s)
{
	const char *command = label_command(s), *title = *command ? command : "flame graph";
	char total[UNITS_TEXT], samples[UNITS_TEXT];
	struct buf *out = &f->out->text;

	svg_begin(out, WIDTH, f->height, title);
	if (*sink_damage(f->out))
		buf_printf(out, "<desc>%s</desc>\n", sink_damage(f->out));
	buf_printf(out, "<text class=\"t\" x=\"%d\" y=\"22\">", MARGIN);
	svg_text(out, title, 140);
	buf_printf(out, "</text>\n<text class=\"d\" x=\"%d\" y=\"40\">%s", MARGIN,
		units_format(total, f->s->unit, f->root->total));
	if (f->s->n_samples)
		buf_printf(out, " in %s samples",
			units_format(samples, UNIT_COUNT, (double)f->s->n_samples));
	svg_choice(out, s);
	buf_adds(out, "; hover for figures; strong colours: your own code</text>\n");
	if (selection_is_parted(s))
		buf_printf(out, "<text class=\"d\" x=\"%d\" y=\"%d\">%s</text>\n", MARGIN,
			40 + NOTE, SELECTION_PARTED);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct flame f = { .out = out, .s = s->stacks };

	(void)e;
	f.root = selection_is_parted(s) ? tree_of(&a, selection_tree(s))
					: calltree_build(&a, f.s, 0, NULL);
	if (f.root->total > 0)
		f.per_second = (WIDTH - 2 * MARGIN) / f.root->total;
	walk(&f, false);
	f.height = HEAD + (selection_is_parted(s) ? NOTE : 0) + (double)f.n_levels * ROW + MARGIN;
	add_head(&f, s);
	walk(&f, true);
	buf_adds(&out->text, "</svg>\n");
	arena_done(&a);
	return 0;
}

const struct format format_svg = {
	.name = "svg",
	.alias = "flamegraph",
	.suffixes = { ".svg", ".flame.svg" },
	.summary = "a flame graph as one picture",
	.takes_totals = true,
	.write = write,
};
