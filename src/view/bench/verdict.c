/* SPDX-License-Identifier: MIT
 * See verdict.h. */
#include "view/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/distribution.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/style.h"
#include "base/banned.h"

static void add_name(struct buf *out, const char *letter, const char *name, double seconds)
{
	char t[UNITS_TEXT];

	buf_printf(out, "  %s  %s  ", letter, units_format(t, UNIT_SECONDS, seconds));
	text_add_printable(out, name, strlen(name));
	buf_addc(out, '\n');
}

void verdict_add_headline(const struct verdict_headline *h, struct buf *out)
{
	double change = 100 * fabs(h->ratio - 1);

	switch (h->word) {
	case VERDICT_FASTER:
	case VERDICT_SLOWER:
		style_add(out, STYLE_BOLD, h->colour, "B is %s than A: %.*f %% %s time",
			verdict_words[h->word], change < 10 ? 1 : 0, change,
			h->word == VERDICT_FASTER ? "less" : "more");
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
			"  A changed while it was measured: something else on this machine began "
			"or ended\n");
	if (d->has_order_effect)
		buf_adds(out,
			"  who runs first matters: they share a cache or a file; clear it with "
			"--prepare\n");
	if (d->is_bimodal)
		buf_adds(out,
			"  A has two speeds: two kinds of CPU or of memory layout; --pin CPU may "
			"help\n");
	if (d->autocorrelation > 0.3)
		buf_printf(out,
			"  neighbouring blocks are alike (correlation %.2f): the interval was "
			"widened for it\n",
			d->autocorrelation);
}

static const char *sign_of(double value)
{
	return value < 0 ? "−" : "+";
}

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
		v->r.n_causes ? ", of which in the own time of\n"
			      : ": no function stands out between one recorded run of each\n");
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
}

void verdict_print(const struct verdict_view *v, struct buf *out)
{
	const struct verdict *d = v->r.verdict;
	char t[UNITS_TEXT];

	add_headline(v, v->colour, out);
	add_name(out, "A", v->r.a, verdict_median(&v->r, false));
	add_name(out, "B", v->r.b, verdict_median(&v->r, true));
	if (isfinite(d->interval.high))
		buf_printf(out,
			"  B/A %.4f, 95 %% between %.4f and %.4f; B won %zu of %zu blocks\n",
			d->ratio, d->interval.low, d->interval.high, d->n_b_won, d->n_blocks);
	else
		buf_printf(out, "  B/A %.4f; B won %zu of %zu blocks, too few for an interval\n",
			d->ratio, d->n_b_won, d->n_blocks);
	if (d->has_control)
		buf_printf(out, "  control: A against itself %.4f, 95 %% between %.4f and %.4f\n",
			d->control_ratio, d->control.low, d->control.high);
	if (units_is_known(d->detectable)) {
		buf_printf(out, "  %zu blocks", d->n_blocks);
		if (!isnan(v->r.elapsed_s))
			buf_printf(out, " in %s", units_format(t, UNIT_SECONDS, v->r.elapsed_s));
		buf_printf(out, " find a change of %.2g %% here in 9 of 10 cases\n",
			100 * d->detectable);
	}
	if (v->r.rounds > 1)
		buf_printf(out, "  a block is %u runs of each; the least of them counts\n",
			v->r.rounds);
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
	buf_printf(out, "\nB/A **%.4f** (95 %%: %.4f … %.4f), B won %zu of %zu blocks", d->ratio,
		d->interval.low, d->interval.high, d->n_b_won, d->n_blocks);
	if (d->has_control)
		buf_printf(out, "; control A/A %.4f (%.4f … %.4f)", d->control_ratio,
			d->control.low, d->control.high);
	buf_adds(out, ".\n");
	if (v->r.n_causes)
		buf_adds(out, "\n| points of A's time | in the own time of |\n|---:|---|\n");
	for (size_t i = 0; i < v->r.n_causes; i++) {
		buf_printf(out, "| %s%.1f ± %.1f | ", sign_of(v->r.causes[i].change),
			fabs(100 * v->r.causes[i].change), 100 * v->r.causes[i].plus_minus);
		markdown_name(out, v->r.causes[i].name);
		buf_adds(out, " |\n");
	}
}
