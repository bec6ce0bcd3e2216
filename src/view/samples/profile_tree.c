/* SPDX-License-Identifier: MIT
 *
 * See profile.h: the call tree, and callers and callees. A tree is cut to what can be read: branches below
 * a hundredth of the time, and the smallest beyond the limit of rows, are left out; library frames that only pass
 * a call on are folded into the line that follows, which counts them, and are no rows. */
#include <stdio.h>
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/calls/nodes.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

static const double SMALLEST = 0.01; /* share of the whole tree that is worth a line */
enum { INDENT_MOST = 40, COST_COLUMNS = 17, INTERVAL_COLUMNS = 14, CALLS_COLUMNS = 10 };

struct least { /* what is shown: nodes with more, and with as much down to that depth */
	double total;
	size_t depth;
};

struct page {
	const struct stacks *s;
	const struct profile *p;
	const struct profile_view *v;
	struct buf *out;
	struct least least;
	struct buf guide;
	bool has_bounds; /* of some times only those are known */
};

/* ---- what is shown --------------------------------------------------------------------------- */

typedef VEC(struct least) places;

struct place { /* a node, and how far below the root */
	const struct calltree_node *n;
	size_t depth;
};

/* Without recursion: a tree is as deep as its program was. */
static void collect_places(const struct calltree_node *root, places *to)
{
	VEC(struct place) open = VEC_INIT;

	vec_push(&open, (struct place){ root, 0 });
	while (open.n) {
		struct place at = open.v[--open.n];

		for (size_t i = 0; i < at.n->n_children; i++) {
			const struct calltree_node *n = at.n->children[i];

			vec_push(to, ((struct least){ n->total, at.depth + 1 }));
			vec_push(&open, (struct place){ n, at.depth + 1 });
		}
	}
	vec_done(&open);
}

static int falling(const void *a, const void *b)
{
	const struct least *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* Children of a node so deep that are shown: they are sorted. */
static size_t n_shown(const struct page *p, struct place of)
{
	size_t k = 0;

	while (k < of.n->n_children &&
		(of.n->children[k]->total > p->least.total ||
			(of.n->children[k]->total >= p->least.total && of.depth < p->least.depth)))
		k++;
	return k;
}

/* A library's frame that only hands a call on: nobody misses it. */
static bool is_passing(const struct page *p, struct place at)
{
	const struct calltree_node *n = at.n;

	return p->least.total > 0 && frames_function(p->s->frames, n->function)->is_library &&
		n->self < p->least.total && n_shown(p, at) == 1 &&
		n->children[0]->total >= n->total - p->least.total;
}

static size_t n_rows(const struct page *p, const struct calltree_node *root)
{
	VEC(struct place) open = VEC_INIT;
	size_t n = 0;

	vec_push(&open, (struct place){ root, 0 });
	while (open.n) {
		struct place of = open.v[--open.n];

		for (size_t i = 0, k = n_shown(p, of); i < k; i++) {
			struct place child = { of.n->children[i], of.depth + 1 };

			n += !is_passing(p, child);
			vec_push(&open, child);
		}
	}
	vec_done(&open);
	return n;
}

/* The largest nodes, as many as make no more rows than the limit, found by halving; frames that are folded are no rows. */
static void choose_rows(struct page *p, const struct calltree_node *root, size_t limit)
{
	places all = VEC_INIT;
	size_t fit = 0, not_fit;

	p->least = (struct least){ limit ? root->total * SMALLEST : 0, SIZE_MAX };
	if (!limit || n_rows(p, root) <= limit)
		return;
	collect_places(root, &all);
	qsort(all.v, all.n, sizeof *all.v, falling);
	for (not_fit = all.n - 1; not_fit - fit > 1;) {
		size_t middle = fit + (not_fit - fit) / 2;

		p->least = all.v[middle];
		if (n_rows(p, root) <= limit)
			fit = middle;
		else
			not_fit = middle;
	}
	p->least = all.v[fit];
	vec_done(&all);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Calls are known where they were traced. */
static bool has_calls(const struct page *p)
{
	return p->s->nodes->n > 0;
}

/* To the right; what is wider than its column pushes the rest of the line. */
static void pad(struct buf *out, size_t width, const char *text)
{
	size_t n = text_width(text);

	buf_fill(out, ' ', n < width ? width - n : 0);
}

static void print_calls(struct page *p, uint64_t calls)
{
	char text[UNITS_TEXT];

	units_format(text, UNIT_COUNT, (double)calls);
	pad(p->out, CALLS_COLUMNS - 2, text);
	style_add(p->out, STYLE_DIM, p->v->colour, "%s", text);
	buf_adds(p->out, "  ");
}

/* Times are corrected by what tracing cost. */
static bool has_intervals(const struct page *p)
{
	return nodes_have_intervals(p->s->nodes);
}

static void print_interval(struct page *p, struct interval of)
{
	bool is_bound = exact_is_bound(of);
	char text[PROFILE_INTERVAL_TEXT];

	p->has_bounds |= is_bound;
	profile_interval_text(text, of, is_bound);
	pad(p->out, INTERVAL_COLUMNS - 2, text);
	style_add(p->out, STYLE_DIM, p->v->colour, "%s", text);
	buf_adds(p->out, "  ");
}

static void print_cost(struct page *p, double total_s, double self_s)
{
	char total[UNITS_TEXT], self[UNITS_TEXT] = "";

	units_format(total, UNIT_SHARE, profile_share(p->p, total_s));
	if (self_s > 0 && profile_share(p->p, self_s) >= 0.0005)
		units_format(self, UNIT_SHARE, profile_share(p->p, self_s));
	pad(p->out, 7, total);
	buf_adds(p->out, total);
	pad(p->out, 8, self);
	style_add(p->out, STYLE_DIM, p->v->colour, "%s", self);
	buf_adds(p->out, "  ");
}

/* Name and place, each as far as there is room. */
static void print_function(
	struct page *p, const struct calltree_node *n, size_t column, size_t skipped)
{
	const struct stack_function *f = frames_function(p->s->frames, n->function);
	size_t room = p->v->width > column + 12 ? p->v->width - column : 12, used;
	struct buf name = BUF_INIT, place = BUF_INIT, cut = BUF_INIT;

	text_add_printable(&name, f->name, strlen(f->name));
	if (n->is_recursive)
		buf_adds(&name, " ↻");
	if (skipped)
		buf_printf(&name, " (+%zu)", skipped);
	text_add_cut(&cut, buf_str(&name), room, TEXT_CUT_END);
	style_add(p->out, f->is_library || f->is_synthetic ? STYLE_PLAIN : STYLE_BOLD, p->v->colour,
		"%s", buf_str(&cut));
	used = text_width(buf_str(&cut));
	if (!f->is_synthetic && used + 2 + 10 <= room) {
		const char *path = profile_path(p->v, f->file);
		struct buf printable = BUF_INIT;

		text_add_printable(&printable, path, strlen(path));
		if (f->first_line)
			buf_printf(&printable, ":%u", f->first_line);
		text_add_cut(&place, buf_str(&printable), room - used - 2, TEXT_CUT_START);
		buf_adds(p->out, "  ");
		style_add(p->out, STYLE_DIM, p->v->colour, "%s", buf_str(&place));
		buf_done(&printable);
	}
	buf_addc(p->out, '\n');
	buf_done(&name);
	buf_done(&place);
	buf_done(&cut);
}

struct level { /* a node whose children are being printed */
	struct place at;
	size_t next, shown;
	size_t guide; /* bytes of it before the node */
};

/* Deeper than can be indented, the number of callers stands before the name. */
static size_t print_depth(struct page *p, size_t depth)
{
	char text[32];

	if (depth <= INDENT_MOST)
		return 0;
	snprintf(text, sizeof text, "⋯%zu ", depth);
	buf_adds(p->out, text);
	return text_width(text);
}

/* The node, or what it passes its call on to. */
static struct level print_node(struct page *p, struct place at, bool is_last, size_t depth)
{
	const struct calltree_node *n;
	size_t skipped = 0, guide = p->guide.n, column;
	bool has_guide = depth > 0 && depth <= INDENT_MOST;

	while (is_passing(p, at)) {
		at = (struct place){ at.n->children[0], at.depth + 1 };
		skipped++;
	}
	n = at.n;
	print_cost(p, n->total, n->self);
	if (has_intervals(p))
		print_interval(p, n->total_interval);
	if (has_calls(p))
		print_calls(p, n->n_calls);
	style_begin(p->out, STYLE_DIM, p->v->colour);
	buf_adds(p->out, buf_str(&p->guide));
	if (has_guide)
		buf_adds(p->out, is_last ? "└ " : "├ ");
	column = COST_COLUMNS + (has_intervals(p) ? INTERVAL_COLUMNS : 0) +
		(has_calls(p) ? CALLS_COLUMNS : 0) + text_width(buf_str(&p->guide)) +
		(has_guide ? 2 : 0) + print_depth(p, depth);
	style_end(p->out, STYLE_DIM, p->v->colour);
	print_function(p, n, column, skipped);
	if (has_guide)
		buf_adds(&p->guide, is_last ? "  " : "│ ");
	return (struct level){ at, 0, n_shown(p, at), guide };
}

static void print_nodes(struct page *p, const struct calltree_node *root, size_t shown)
{
	VEC(struct level) open = VEC_INIT;

	vec_push(&open, ((struct level){ { root, 0 }, 0, shown, 0 }));
	while (open.n) {
		struct level *l = &open.v[open.n - 1];
		size_t i = l->next++;

		if (i < l->shown) {
			struct level below = print_node(p,
				(struct place){ l->at.n->children[i], l->at.depth + 1 },
				i + 1 == l->shown, open.n - 1);

			vec_push(&open, below);
			continue;
		}
		p->guide.n = l->guide;
		if (p->guide.data)
			p->guide.data[l->guide] = '\0';
		open.n--;
	}
	vec_done(&open);
}

static void print_legend(const struct profile_view *v, double least, struct buf *out)
{
	char text[200], share[UNITS_TEXT];

	snprintf(text, sizeof text,
		"Hidden: branches under %s, and library frames that only pass a call on ((+n): how "
		"many); --limit 0 shows all. ↻ calls itself.",
		units_format(share, UNIT_SHARE, least));
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, text, 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
}

static void print_intervals(const struct page *p)
{
	style_begin(p->out, STYLE_DIM, p->v->colour);
	style_wrap(p->out,
		"±: how far the total may be from that of an untraced run, in nine of ten cases", 0,
		p->v->width);
	if (p->has_bounds)
		style_wrap(p->out,
			"1–2 s: lower and upper bound, where tracing took too much of the time to "
			"say more. The shares before them are guesses between the two; for these "
			"rows, trust a sampled run",
			0, p->v->width);
	style_end(p->out, STYLE_DIM, p->v->colour);
}

static void print_tree(const char *title, const struct calltree_node *root, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	struct page page = { .s = s, .p = p, .v = v, .out = out };

	profile_title(v, title, out);
	if (!root->n_children) {
		buf_adds(out, "no samples match\n");
		return;
	}
	choose_rows(&page, root, v->limit);
	style_add(out, STYLE_BOLD, v->colour, "  total    self  %s%sfunction\n",
		has_intervals(&page) ? "     ± total  " : "", has_calls(&page) ? "   calls  " : "");
	print_nodes(&page, root, n_shown(&page, (struct place){ root, 0 }));
	if (has_intervals(&page) && v->legend)
		print_intervals(&page);
	if (page.least.total > 0 && v->legend)
		print_legend(v, profile_share(p, page.least.total), out);
	buf_done(&page.guide);
}

void profile_print_tree(const struct calltree_node *root, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	print_tree("Call tree", root, s, p, v, out);
}

void profile_print_imports(const struct calltree_node *root, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	if (root->n_children)
		print_tree("Imports", root, s, p, v, out);
}

/* ---- callers and callees --------------------------------------------------------------------- */

static bool is_corrected(const struct neighbours *x)
{
	return x->is_exact && x->n_callees && units_is_known(x->callees[0].interval.low);
}

static void add_neighbour(struct table *t, const struct neighbours *of, const struct neighbour *n,
	const struct stacks *s, const struct profile_view *v, bool is_callers)
{
	const struct stack_function *f = frames_function(s->frames, n->function);
	double part = of->total > 0 ? n->value / of->total : 0;
	bool is_bound = exact_is_bound(n->interval);
	struct buf bar = BUF_INIT;
	char text[UNITS_TEXT];

	style_bar(&bar, part, 8);
	table_cell_unit(t, UNIT_SHARE, part);
	table_cell(t, "%s", buf_str(&bar));
	table_cell(t, "%s", units_format(text, s->unit, is_bound ? n->raw : n->value));
	if (is_corrected(of))
		profile_cell_interval(t, n->interval, is_bound);
	if (of->is_exact && n->is_none)
		table_cell(t, "%s", "");
	else if (of->is_exact)
		table_cell(t, "%" PRIu64, n->n);
	table_cell(t, "%s",
		!n->is_none          ? f->name
			: is_callers ? "(nobody: a root)"
				     : "(its own code)");
	if (n->is_none || f->is_synthetic)
		table_cell(t, "%s", "");
	else
		profile_cell_place(t, v, f->file, f->first_line);
	buf_done(&bar);
}

static struct table *neighbour_table(
	const struct neighbours *x, const struct stacks *s, bool is_callers)
{
	struct table_column columns[7];
	size_t n = 0;

	columns[n++] = (struct table_column){ "of it", TABLE_RIGHT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ "", TABLE_LEFT, TEXT_CUT_END, 0, 1 };
	columns[n++] = (struct table_column){ profile_unit(s->unit), TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (is_corrected(x))
		columns[n++] = (struct table_column){ "±", TABLE_RIGHT, TEXT_CUT_END, 0, 2 };
	if (x->is_exact)
		columns[n++] = (struct table_column){ "ncalls", TABLE_RIGHT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ is_callers ? "called by" : "calls", TABLE_LEFT,
		TEXT_CUT_MIDDLE, 16 };
	columns[n++] = (struct table_column){ "where", TABLE_LEFT, TEXT_CUT_START, 14 };
	return table_new(columns, n);
}

static void print_neighbours(const struct neighbours *x, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, bool is_callers, struct buf *out)
{
	const struct stack_function *f = frames_function(s->frames, x->function);
	size_t all = is_callers ? x->n_callers : x->n_callees, n = profile_rows(v, all);
	struct table *t = neighbour_table(x, s, is_callers);
	char time[UNITS_TEXT], share[UNITS_TEXT];
	struct buf title = BUF_INIT;

	buf_printf(&title, "%s of ", is_callers ? "Callers" : "Callees");
	text_add_printable(&title, f->name, strlen(f->name));
	profile_title(v, buf_str(&title), out);
	buf_clear(&title);
	text_add_printable(&title, profile_path(v, f->file), strlen(profile_path(v, f->file)));
	if (f->first_line)
		buf_printf(&title, ":%u", f->first_line);
	style_add(out, STYLE_DIM, v->colour, "%s%stotal %s, %s of the %s\n", buf_str(&title),
		title.n ? ", " : "", units_format(time, s->unit, x->total),
		units_format(share, UNIT_SHARE, profile_share(p, x->total)),
		s->unit == UNIT_BYTES ? "bytes shown"
			: x->is_exact ? "traced time"
				      : "sampled time");
	for (size_t i = 0; i < n; i++)
		add_neighbour(t, x, is_callers ? &x->callers[i] : &x->callees[i], s, v, is_callers);
	table_emit(t, out, v->width, v->colour);
	profile_more(v, n, all, out);
	table_free(t);
	buf_done(&title);
}

void profile_print_callers(const struct neighbours *n, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	print_neighbours(n, s, p, v, true, out);
}

void profile_print_callees(const struct neighbours *n, const struct stacks *s,
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	print_neighbours(n, s, p, v, false, out);
}
