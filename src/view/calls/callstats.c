/* SPDX-License-Identifier: MIT
 * See callstats.h. */
#include "view/calls/callstats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/calls/callstats.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

enum { CALLS_TEXT = 48 };

static void add_label(struct buf *out, const char *label, size_t width)
{
	struct buf text = BUF_INIT;
	size_t n;

	text_add_printable(&text, label, strlen(label));
	n = text_width(buf_str(&text));
	buf_add(out, text.data, text.n);
	buf_fill(out, ' ', n < width ? width - n : 0);
	buf_done(&text);
}

/* "3", or "5/3": all, and those that were not recursive. */
static const char *calls_text(char to[CALLS_TEXT], const struct callstat_cost *c)
{
	if (c->calls == c->primitive_calls)
		snprintf(to, CALLS_TEXT, "%" PRIu64, c->calls);
	else
		snprintf(to, CALLS_TEXT, "%" PRIu64 "/%" PRIu64, c->calls, c->primitive_calls);
	return to;
}

static void print_notes(const struct callstats_page *p, struct buf *out)
{
	if (p->order->rows)
		buf_printf(out, "   Ordered by: %s\n", p->order->words);
	else
		buf_adds(out, "   Random listing order was used\n");
	buf_printf(out, "%s\n", p->list->notes);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_per_call(struct buf *out, double seconds, uint64_t calls)
{
	if (calls)
		buf_printf(out, "%8.3f ", seconds / (double)calls);
	else
		buf_fill(out, ' ', 9);
}

static void print_row(const struct callstat *f, struct buf *out)
{
	char calls[CALLS_TEXT];

	buf_printf(out, "%9s %8.3f ", calls_text(calls, &f->cost), f->cost.self_s);
	add_per_call(out, f->cost.self_s, f->cost.calls);
	buf_printf(out, "%8.3f ", f->cost.total_s);
	add_per_call(out, f->cost.total_s, f->cost.primitive_calls);
	add_label(out, f->label, 0);
	buf_addc(out, '\n');
}

void callstats_print(const struct callstats_page *p, struct buf *out)
{
	const struct callstat_cost *all = &p->stats->all;

	if (*p->heads)
		buf_printf(out, "%s\n", p->heads);
	buf_printf(out, "         %" PRIu64 " function calls ", all->calls);
	if (all->calls != all->primitive_calls)
		buf_printf(out, "(%" PRIu64 " primitive calls) ", all->primitive_calls);
	buf_printf(out, "in %.3f seconds\n\n", all->self_s);
	if (!p->list->n)
		return;
	print_notes(p, out);
	buf_adds(out, "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n");
	for (size_t i = 0; i < p->list->n; i++)
		print_row(&p->stats->v[p->list->rows[i]], out);
	buf_adds(out, "\n\n");
}

/* ---- callers and callees --------------------------------------------------------------------- */

static size_t label_width(const struct callstats_page *p)
{
	size_t widest = 0;

	for (size_t i = 0; i < p->list->n; i++) {
		size_t n = text_width(p->stats->v[p->list->rows[i]].label);

		widest = n > widest ? n : widest;
	}
	return widest + 2;
}

static void print_edges(const struct callstats_page *p, const struct callstat *f,
	const struct callstat_edge *edges, size_t n, const char *arrow, size_t width,
	struct buf *out)
{
	char calls[CALLS_TEXT];

	add_label(out, f->label, width);
	buf_printf(out, "%s ", arrow);
	for (size_t i = 0; i < n; i++) {
		const struct callstat_cost *c = &edges[i].cost;

		if (i)
			buf_fill(out, ' ', width + 1);
		buf_printf(out, "%*s %8.3f %8.3f  ", i ? 9 : 7, calls_text(calls, c), c->self_s,
			c->total_s);
		add_label(out, p->stats->v[edges[i].other].label, 0);
		buf_addc(out, '\n');
	}
	if (!n)
		buf_addc(out, '\n');
}

static bool has_edges(const struct callstats *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n_callers)
			return true;
	return false;
}

static void print_neighbours(const struct callstats_page *p, bool is_callers, struct buf *out)
{
	size_t width = label_width(p);

	if (!p->list->n)
		return;
	print_notes(p, out);
	add_label(out, "Function ", width);
	buf_adds(out, is_callers ? "was called by...\n" : "called...\n");
	if (has_edges(p->stats)) {
		buf_fill(out, ' ', width);
		buf_adds(out, "    ncalls  tottime  cumtime\n");
	}
	for (size_t i = 0; i < p->list->n; i++) {
		const struct callstat *f = &p->stats->v[p->list->rows[i]];

		if (is_callers)
			print_edges(p, f, f->callers, f->n_callers, "<-", width, out);
		else
			print_edges(p, f, f->callees, f->n_callees, "->", width, out);
	}
	buf_adds(out, "\n\n");
}

void callstats_print_callers(const struct callstats_page *p, struct buf *out)
{
	print_neighbours(p, true, out);
}

void callstats_print_callees(const struct callstats_page *p, struct buf *out)
{
	print_neighbours(p, false, out);
}
