/* SPDX-License-Identifier: MIT
 * See verdict.h. */
#include "view/bench/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/distribution.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/kit/style.h"
#include "base/banned.h"

static void add_name(struct buf *out, const char *letter, const char *name, double seconds)
{
	char t[UNITS_TEXT];

	buf_printf(out, "  %s  %s  ", letter, units_format(t, UNIT_SECONDS, seconds));
	text_add_printable(out, name, strlen(name));
	buf_addc(out, '\n');
}

enum { TIMES_FROM = 10 }; /* "12 × as long" is read more easily than "1100 % more time" */

/* Four digits after the point, and three that count where it is small. */
static void add_ratio(struct buf *out, double ratio)
{
	int digits = ratio > 0 ? 2 - (int)floor(log10(ratio)) : 0;

	buf_printf(out, "%.*f", digits < 4 ? 4 : digits < 12 ? digits : 12, ratio);
}

/* "; 95 % between 0.9981 and 1.0043"; no interval is told in words. */
static void add_interval(struct buf *out, struct interval i)
{
	if (!isfinite(i.high)) {
		buf_adds(out, ", too few blocks for an interval");
		return;
	}
	buf_adds(out, ", 95 % between ");
	add_ratio(out, i.low);
	buf_adds(out, " and ");
	add_ratio(out, i.high);
}

static void add_change(const struct verdict_headline *h, struct buf *out)
{
	double change = 100 * fabs(h->ratio - 1);

	if (h->ratio >= TIMES_FROM || h->ratio * TIMES_FROM <= 1)
		style_add(out, STYLE_BOLD, h->colour, "%s takes %.0f × as long",
			h->ratio >= 1 ? "B" : "A", h->ratio >= 1 ? h->ratio : 1 / h->ratio);
	else
		style_add(out, STYLE_BOLD, h->colour, "%.*f %% %s time", change < 10 ? 1 : 0,
			change, h->word == VERDICT_FASTER ? "less" : "more");
}

void verdict_add_headline(const struct verdict_headline *h, struct buf *out)
{
	switch (h->word) {
	case VERDICT_FASTER:
	case VERDICT_SLOWER:
		style_add(out, STYLE_BOLD, h->colour, "B is %s than A: ", verdict_words[h->word]);
		add_change(h, out);
		break;
	case VERDICT_EQUIVALENT:
		style_add(out, STYLE_BOLD, h->colour, "A and B are equivalent: within ±%g %%",
			100 * h->equivalence);
		break;
	case VERDICT_UNDECIDED:
		style_add(out, STYLE_BOLD, h->colour, "undecided");
		buf_printf(out, ": %s", h->why_undecided);
		break;
	}
	buf_addc(out, '\n');
}

static void add_headline(const struct verdict_view *v, bool colour, struct buf *out)
{
	verdict_add_headline(&(struct verdict_headline){ .word = v->r.verdict->word,
				     .ratio = v->r.verdict->ratio,
				     .equivalence = v->equivalence,
				     .why_undecided = verdict_reason_text(v->r.verdict->reason),
				     .colour = colour },
		out);
}

static void add_more(const struct verdict *d, double elapsed_s, struct buf *out)
{
	char t[UNITS_TEXT];

	if (d->word != VERDICT_UNDECIDED || d->n_blocks == 0 || d->reason == VERDICT_CONTROL_FAILED)
		return;
	if (d->n_more == SIZE_MAX)
		buf_adds(out, "  no number of further blocks would decide it\n");
	else if (isnan(elapsed_s))
		buf_printf(out, "  about %zu more blocks would decide it\n", d->n_more);
	else
		buf_printf(out, "  about %zu more blocks would decide it (--time %s)\n", d->n_more,
			units_format(t, UNIT_SECONDS,
				ceil(1.1 * elapsed_s * (double)(d->n_blocks + d->n_more) /
					(double)d->n_blocks)));
}

static void add_oddities(const struct verdict *d, struct buf *out)
{
	if (d->has_trend)
		buf_adds(out,
			"  A changed while it was measured: something else on this machine started or stopped\n");
	if (d->has_order_effect)
		buf_adds(out,
			"  the order matters: A and B share a cache or a file; clear it with --prepare\n");
	if (d->is_bimodal)
		buf_adds(out,
			"  A has two speeds: two kinds of CPU or of memory layout; --pin CPU may help\n");
	if (d->autocorrelation > 0.3)
		buf_printf(out,
			"  neighbouring blocks are alike (correlation %.2f): the interval is widened to allow for that\n",
			d->autocorrelation);
}

static const char *sign_of(double value)
{
	return value < 0 ? "−" : "+";
}

/* In tenths of a point of A's time, as it is printed. */
static double tenths(double share)
{
	return round(1000 * share);
}

/* What is left of the change beside the functions, so that what is printed adds up. */
static double rest_of(const struct verdict_view *v)
{
	double rest = tenths(v->r.verdict->ratio - 1);

	for (size_t i = 0; i < v->r.n_causes; i++)
		rest -= tenths(v->r.causes[i].change);
	return rest / 10;
}

static const char everything_else[] = "everything else";

/* "−7.9 %, of which" and the functions, in points of A's time. */
static void add_causes(const struct verdict_view *v, struct buf *out)
{
	const struct verdict *d = v->r.verdict;
	double change = 100 * (d->ratio - 1), low = 100 * (d->interval.low - 1),
	       high = 100 * (d->interval.high - 1);

	if (!v->r.is_explained)
		return;
	buf_printf(out, "  %s%.1f %%", sign_of(change), fabs(change));
	if (isfinite(high))
		buf_printf(out, " (%s%.1f to %s%.1f)", sign_of(low), fabs(low), sign_of(high),
			fabs(high));
	if (d->word == VERDICT_UNDECIDED)
		buf_adds(out, ", not proven");
	buf_adds(out,
		v->r.n_causes ? ", of which, by self time of each function\n"
			      : ": no function stands out in one recorded run of each\n");
	for (size_t i = 0; i < v->r.n_causes; i++) {
		const struct verdict_cause *c = &v->r.causes[i];
		const char *slash = strrchr(c->file, '/'), *file = slash ? slash + 1 : c->file;

		buf_printf(out, "    %s%.1f ±%.1f  ", sign_of(c->change), fabs(100 * c->change),
			100 * c->plus_minus);
		text_add_printable(out, c->name, strlen(c->name));
		buf_adds(out, "  ");
		text_add_printable(out, file, strlen(file));
		buf_printf(out, c->line ? ":%u\n" : "\n", (unsigned)c->line);
	}
	if (v->r.n_causes)
		buf_printf(out, "    %s%.1f  %s\n", sign_of(rest_of(v)), fabs(rest_of(v)),
			everything_else);
}

static void add_detectable(const struct verdict_view *v, struct buf *out)
{
	double share = v->r.verdict->detectable, percent = 100 * share;
	char t[UNITS_TEXT];

	buf_printf(out, "  the smallest change these %zu blocks", v->r.verdict->n_blocks);
	if (!isnan(v->r.elapsed_s))
		buf_printf(out, " (%s)", units_format(t, UNIT_SECONDS, v->r.elapsed_s));
	if (share + 1 >= TIMES_FROM)
		buf_printf(out, " can detect: %.0f × the time", share + 1);
	else
		buf_printf(out, " can detect: %.*f %%",
			percent >= 10            ? 0
				: percent >= 1   ? 1
				: percent >= 0.1 ? 2
						 : 3,
			percent);
	buf_adds(out, ", in 9 of 10 cases\n");
}

void verdict_print(const struct verdict_view *v, struct buf *out)
{
	const struct verdict *d = v->r.verdict;

	add_headline(v, v->colour, out);
	add_name(out, "A", v->r.a, verdict_median(&v->r, false));
	add_name(out, "B", v->r.b, verdict_median(&v->r, true));
	buf_adds(out, "  B/A ");
	add_ratio(out, d->ratio);
	add_interval(out, d->interval);
	buf_printf(out, "; B won %zu of %zu blocks\n", d->n_b_won, d->n_blocks);
	if (d->has_control) {
		buf_adds(out, "  control: A against itself ");
		add_ratio(out, d->control_ratio);
		add_interval(out, d->control);
		buf_addc(out, '\n');
	}
	if (units_is_known(d->detectable))
		add_detectable(v, out);
	if (v->r.rounds > 1)
		buf_printf(out, "  a block is %u runs of each; the fastest counts\n", v->r.rounds);
	add_more(d, v->r.elapsed_s, out);
	add_causes(v, out);
	style_begin(out, STYLE_WARNING, v->colour);
	add_oddities(d, out);
	style_end(out, STYLE_WARNING, v->colour);
}

static void markdown_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_printf(out, *name == '|' || *name == '`' ? "\\%c" : "%c",
			*name == '\n' ? ' ' : *name);
}

void verdict_print_markdown(const struct verdict_view *v, struct buf *out)
{
	const struct verdict *d = v->r.verdict;
	char t[UNITS_TEXT];

	buf_adds(out, "### ");
	add_headline(v, false, out);
	buf_adds(out, "\n| | median | |\n|---|---:|---|\n");
	for (int i = 0; i < 2; i++) {
		buf_printf(out, "| %s | %s | ", i ? "B" : "A",
			units_format(t, UNIT_SECONDS, verdict_median(&v->r, i)));
		markdown_name(out, i ? v->r.b : v->r.a);
		buf_adds(out, " |\n");
	}
	buf_adds(out, "\nB/A **");
	add_ratio(out, d->ratio);
	buf_adds(out, "**");
	add_interval(out, d->interval);
	buf_printf(out, "; B won %zu of %zu blocks", d->n_b_won, d->n_blocks);
	if (d->has_control) {
		buf_adds(out, "; control A/A ");
		add_ratio(out, d->control_ratio);
		add_interval(out, d->control);
	}
	buf_adds(out, ".\n");
	if (v->r.n_causes)
		buf_adds(out,
			"\n"
			"| points of A's time | by self time of |\n"
			"|---:|---|\n");
	for (size_t i = 0; i < v->r.n_causes; i++) {
		buf_printf(out, "| %s%.1f ± %.1f | ", sign_of(v->r.causes[i].change),
			fabs(100 * v->r.causes[i].change), 100 * v->r.causes[i].plus_minus);
		markdown_name(out, v->r.causes[i].name);
		buf_adds(out, " |\n");
	}
	if (v->r.n_causes)
		buf_printf(out, "| %s%.1f | %s |\n", sign_of(rest_of(v)), fabs(rest_of(v)),
			everything_else);
}
