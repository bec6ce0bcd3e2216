/* SPDX-License-Identifier: MIT
 * See bytecode.h. */
#include "view/samples/bytecode.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analyze/code/disassembly.h"
#include "analyze/code/source_texts.h"
#include "analyze/samples/profile.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum {
	SHARE = 7,
	HITS_LEAST = 5,
	ARGUMENT_MOST = 40,
	ARGUMENT_NARROW = 20,
	NARROW = 100,
	ROOM_LEAST = 12
};

struct page {
	const struct disassembly *d;
	const struct profile *p;
	const struct source_texts *texts;
	const struct profile_view *v;
	bool with_stack;
	bool with_self;              /* samples, or nothing else, tell of time */
	bool with_total;             /* some instruction made calls */
	size_t hits;                 /* width of how often each ran; 0: not counted */
	size_t left, name, argument; /* widths of columns */
	struct buf *out;
};

static void add_padded(struct buf *out, const char *text, size_t width)
{
	size_t n = text_width(text);

	buf_adds(out, text);
	buf_fill(out, ' ', n < width ? width - n : 0);
}

static void add_share(const struct page *g, double seconds, enum style style)
{
	char text[UNITS_TEXT] = "";
	size_t n;

	if (profile_share(g->p, seconds) >= 0.0005)
		units_format(text, UNIT_SHARE, profile_share(g->p, seconds));
	n = text_width(text);
	buf_fill(g->out, ' ', n < SHARE ? SHARE - n : 0);
	style_add(g->out, style, g->v->colour, "%s", text);
}

/* "5 (b)", as dis has it. */
static void argument_text(const struct disassembly_row *r, struct buf *to)
{
	struct buf safe = BUF_INIT;

	if (r->has_arg)
		buf_printf(to, "%u", r->arg);
	if (*r->text) {
		text_add_printable(&safe, r->text, strlen(r->text));
		buf_printf(to, " (%s)", buf_str(&safe));
	}
	buf_done(&safe);
}

static void measure(struct page *g)
{
	size_t most = g->v->width < NARROW ? ARGUMENT_NARROW : ARGUMENT_MOST;

	for (size_t i = 0; i < g->d->n; i++) {
		struct buf text = BUF_INIT;
		size_t n = strlen(g->d->v[i].name);

		g->name = n > g->name ? n : g->name;
		argument_text(&g->d->v[i], &text);
		n = text_width(buf_str(&text));
		n = n < most ? n : most;
		g->argument = n > g->argument ? n : g->argument;
		g->with_total |= g->d->v[i].total_s > g->d->v[i].self_s;
		g->with_self |= g->d->v[i].self_s > 0;
		if (g->d->has_executed) {
			n = (size_t)snprintf(NULL, 0, "%" PRIu64, g->d->v[i].executed) + 1;
			g->hits = n > g->hits ? n : g->hits;
		}
		buf_done(&text);
	}
	if (g->hits && g->hits < HITS_LEAST)
		g->hits = HITS_LEAST;
	g->with_self |= !g->hits;
	g->left = (size_t)(g->with_self + g->with_total) * SHARE + g->hits + 1;
}

static void print_source(const struct page *g, const struct disassembly_row *r)
{
	int line = r->line;
	char hits[UNITS_TEXT], own[UNITS_TEXT];
	struct text_line text =
		g->texts ? source_texts_line(g->texts, g->d->file, line) : (struct text_line){ 0 };
	struct buf safe = BUF_INIT;
	size_t room = g->v->width > g->left + 20 ? g->v->width - g->left - 8 : 40;

	if (text.p)
		text_add_printable(&safe, text.p, text.n);
	buf_fill(g->out, ' ', g->left);
	style_begin(g->out, STYLE_BOLD, g->v->colour);
	buf_printf(g->out, "%d", line);
	if (safe.n) {
		buf_adds(g->out, "  ");
		text_add_cut(g->out, buf_str(&safe), room, TEXT_CUT_END);
	}
	style_end(g->out, STYLE_BOLD, g->v->colour);
	if (r->is_counted)
		style_add(g->out, STYLE_ACCENT, g->v->colour, "  %s hits%s%s",
			units_format(hits, UNIT_COUNT, (double)r->hits),
			units_is_known(r->line_s) ? ", " : "",
			units_is_known(r->line_s) ? units_format(own, UNIT_SECONDS, r->line_s)
						  : "");
	buf_addc(g->out, '\n');
	buf_done(&safe);
}

/* What comes behind the argument: the specialised form (what it adds to the name), a folded constant. */
static void add_notes(const struct disassembly_row *r, struct buf *to)
{
	size_t n = strlen(r->name);

	if (*r->form)
		buf_printf(to, "→ %s", strncmp(r->form, r->name, n) == 0 ? r->form + n : r->form);
	if (*r->folded) {
		buf_printf(to, "%sfolded: ", to->n ? "  " : "");
		text_add_printable(to, r->folded, strlen(r->folded));
	}
}

/* The value stack, the top last. */
static void add_stack(const struct disassembly_row *r, struct buf *to)
{
	if (!r->stack)
		buf_adds(to, "?");
	for (size_t i = 0; r->stack && i < r->n_stack; i++) {
		buf_adds(to, i ? ", " : "");
		text_add_printable(to, r->stack[i], strlen(r->stack[i]));
	}
}

/* In a narrow terminal the stack takes the room of the other notes, and loses its bottom first. */
static void print_notes(const struct page *g, const struct disassembly_row *r)
{
	size_t used = g->left + 11 + g->name + 1 + g->argument + 2;
	size_t room = g->v->width > used + ROOM_LEAST ? g->v->width - used : ROOM_LEAST;
	struct buf notes = BUF_INIT, stack = BUF_INIT;

	if (!g->with_stack || g->v->width >= NARROW)
		add_notes(r, &notes);
	if (g->with_stack) {
		if (notes.n)
			buf_adds(&notes, "  ");
		buf_adds(&notes, "│ ");
		add_stack(r, &stack);
	}
	style_begin(g->out, STYLE_DIM, g->v->colour);
	text_add_cut(g->out, buf_str(&notes), room, TEXT_CUT_END);
	if (stack.n && text_width(buf_str(&notes)) < room)
		text_add_cut(g->out, buf_str(&stack), room - text_width(buf_str(&notes)),
			TEXT_CUT_START);
	style_end(g->out, STYLE_DIM, g->v->colour);
	buf_done(&notes);
	buf_done(&stack);
}

static void print_row(const struct page *g, const struct disassembly_row *r)
{
	struct buf argument = BUF_INIT, fitting = BUF_INIT;

	if (g->hits)
		buf_printf(g->out, "%*" PRIu64, (int)g->hits, r->executed);
	if (g->with_self)
		add_share(g, r->self_s, STYLE_ACCENT);
	if (g->with_total)
		add_share(g, r->total_s, STYLE_PLAIN);
	buf_printf(g->out, " %s %6u ", r->is_target ? ">>" : "  ", r->offset);
	add_padded(g->out, r->name, g->name + 1);
	argument_text(r, &argument);
	text_add_cut(&fitting, buf_str(&argument),
		g->v->width == TEXT_UNBOUNDED ? TEXT_UNBOUNDED : g->argument, TEXT_CUT_END);
	add_padded(g->out, buf_str(&fitting), g->argument + 2);
	if (*r->form || *r->folded || g->with_stack)
		print_notes(g, r);
	while (g->out->n && g->out->data[g->out->n - 1] == ' ')
		g->out->n--;
	buf_addc(g->out, '\n');
	buf_done(&argument);
	buf_done(&fitting);
}

static void print_handlers(const struct page *g)
{
	if (g->d->n_handlers)
		buf_adds(g->out, "\nExceptionTable:\n");
	for (size_t i = 0; i < g->d->n_handlers; i++) {
		const struct disassembly_handler *h = &g->d->handlers[i];

		buf_printf(g->out, "  %u to %u -> %u [%u]%s\n", h->start, h->end, h->target,
			h->depth, h->has_lasti ? " lasti" : "");
	}
}

static void print_legend(const struct page *g)
{
	struct buf text = BUF_INIT;

	if (g->hits)
		buf_printf(&text, "hits: how often it ran, %s; ",
			g->d->is_derived ? "from counts of basic blocks and exceptions"
					 : "each counted");
	if (g->with_self)
		buf_adds(&text, "self: sampled time at the instruction itself; ");
	if (g->with_total)
		buf_adds(&text, "total: including the calls it made; ");
	buf_adds(&text, "→: specialised form seen last; ");
	buf_adds(&text,
		g->with_stack ? "│: the value stack before it, the top last"
			      : "--stack shows the value stack");
	style_begin(g->out, STYLE_DIM, g->v->colour);
	style_wrap(g->out, buf_str(&text), 0, g->v->width);
	style_end(g->out, STYLE_DIM, g->v->colour);
	buf_done(&text);
}

void bytecode_print(const struct disassembly *d, const struct profile *p,
	const struct source_texts *t, bool with_stack, const struct profile_view *v,
	struct buf *out)
{
	struct page g = {
		.d = d, .p = p, .texts = t, .v = v, .with_stack = with_stack, .out = out
	};
	struct buf title = BUF_INIT, name = BUF_INIT;

	text_add_printable(&name, d->name, strlen(d->name));
	buf_printf(&title, "Bytecode of %s, ", buf_str(&name));
	text_add_printable(&title, profile_path(v, d->file), strlen(profile_path(v, d->file)));
	buf_printf(&title, ":%u, %s", d->first_line, d->interpreter);
	profile_title(v, buf_str(&title), out);
	measure(&g);
	style_begin(out, STYLE_BOLD, v->colour);
	if (g.hits)
		buf_printf(out, "%*s", (int)g.hits, "hits");
	buf_printf(out, "%s%s        offset instruction", g.with_self ? "   self" : "",
		g.with_total ? "  total" : "");
	style_end(out, STYLE_BOLD, v->colour);
	buf_addc(out, '\n');
	for (size_t i = 0; i < d->n; i++) {
		if (d->v[i].starts_line)
			print_source(&g, &d->v[i]);
		print_row(&g, &d->v[i]);
	}
	print_handlers(&g);
	if (v->legend)
		print_legend(&g);
	buf_done(&title);
	buf_done(&name);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
