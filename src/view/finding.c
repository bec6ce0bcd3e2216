/* SPDX-License-Identifier: MIT
 * See finding.h: the terminal. */
#include "view/finding.h"

#include <ctype.h>
#include <string.h>

#include "advise/finding.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { INDENT = 3 };

/* With a capital, where it begins with a plain word: names stay as they are. */
static void add_sentence(struct buf *to, const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	if (n && (text[n] == ' ' || !text[n]))
		buf_printf(to, "%c%s. ", toupper((unsigned char)*text), text + 1);
	else
		buf_printf(to, "%s. ", text);
}

static void add_saving(struct buf *to, const struct finding_saving *s)
{
	char saving[UNITS_TEXT], share[UNITS_TEXT];

	if (!units_is_known(s->value)) {
		if (s->unknown)
			buf_printf(to, "What it saves is %s. ", s->unknown);
		return;
	}
	buf_adds(to, "Saves ");
	if (units_is_known(s->estimate)) {
		buf_printf(to, "about %s", units_format(saving, s->unit, s->estimate));
		if (units_is_known(s->whole) && s->whole > 0)
			buf_printf(to, " (%s of %s)",
				units_format(share, UNIT_SHARE, s->estimate / s->whole), s->of);
		buf_adds(to, ", ");
	}
	buf_printf(to, "at most %s", units_format(saving, s->unit, s->value));
	if (units_is_known(s->whole) && s->whole > 0)
		buf_printf(to, " (%s of %s)", units_format(share, UNIT_SHARE, s->value / s->whole),
			s->of);
	buf_adds(to, ". ");
}

static void print_head(
	const struct finding *f, size_t number, bool colour, size_t width, struct buf *out)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "%zu. %s (%s, %s)", number, f->title, f->rule,
		finding_confidence_names[f->confidence]);
	style_begin(out, STYLE_BOLD, colour);
	style_wrap(out, buf_str(&text), 0, width);
	style_end(out, STYLE_BOLD, colour);
	buf_done(&text);
}

/* On a line of its own, for editors that open what they find there; never wrapped. */
static void print_place(const struct finding *f, struct buf *out)
{
	if (!f->file)
		return;
	buf_fill(out, ' ', INDENT);
	text_add_printable(out, f->file, strlen(f->file));
	if (f->line)
		buf_printf(out, ":%u", f->line);
	buf_addc(out, '\n');
}

static void print_one(
	const struct finding *f, size_t number, bool colour, size_t width, struct buf *out)
{
	struct buf text = BUF_INIT;

	print_head(f, number, colour, width, out);
	print_place(f, out);
	add_sentence(&text, f->evidence);
	buf_printf(&text, "Change: %s. ", f->change);
	add_saving(&text, &f->saving);
	style_wrap(out, buf_str(&text), INDENT, width);
	buf_clear(&text);
	buf_printf(&text, "See it: %s", f->proof.shows);
	style_wrap(out, buf_str(&text), INDENT, width);
	buf_done(&text);
}

static bool has_level(const struct finding *v, size_t n, enum finding_confidence level)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].confidence == level)
			return true;
	return false;
}

/* The levels that are there, and what explains a finding and proves a change, once. */
static void print_legend(const struct finding *v, size_t n, size_t width, struct buf *out)
{
	struct buf text = BUF_INIT;

	for (unsigned level = 0; level < FINDING_N_CONFIDENCES; level++) {
		if (!has_level(v, n, level))
			continue;
		buf_printf(&text, "%s: %s", finding_confidence_names[level],
			finding_confidence_meanings[level]);
		style_wrap(out, buf_str(&text), 0, width);
		buf_clear(&text);
	}
	buf_printf(&text,
		"'leadline help %s' explains %s. After the change, '%s' shows what it gained.",
		v[0].rule, n > 1 ? "the first, and so on" : "it", v[0].proof.proves);
	style_wrap(out, buf_str(&text), 0, width);
	buf_done(&text);
}

void findings_print(const struct finding *v, size_t n, bool colour, size_t width, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		print_one(&v[i], i + 1, colour, width, out);
	if (n)
		print_legend(v, n, width, out);
}
