/* SPDX-License-Identifier: MIT
 * See doctor.h. Text is wrapped, never cut: a remedy without its end is none. */
#include "view/host/doctor.h"

#include <stdint.h>
#include <string.h>

#include "analyze/host/doctor.h"
#include "base/buf.h"
#include "base/text.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum {
	MARK_WIDTH = 8, /* "~ partly" */
	GAP = 2,
	TITLE_MAX = 20,
	TEXT_MIN = 40, /* narrower, and the text goes below the title */
	NARROW_INDENT = 4,
};

static const struct {
	const char *mark, *word;
	enum style style;
} answers[] = {
	[DOCTOR_YES] = { "\xe2\x9c\x93 ", "ok", STYLE_ACCENT },
	[DOCTOR_PARTLY] = { "~ ", "partly", STYLE_WARNING },
	[DOCTOR_NO] = { "\xe2\x9c\x97 ", "no", STYLE_BOLD },
};

static const char ARROW[] = "\xe2\x86\x92 ";

struct page {
	const struct doctor_view *v;
	struct buf *out;
	size_t title_width;
	size_t indent; /* of the text */
};

/* The bytes of s[0..n) that fill at most `room` columns, at least one character. */
static size_t fitting(const char *s, size_t n, size_t room)
{
	size_t part = text_fit(s, n, room);
	uint32_t c;

	return part ? part : text_decode(s, n, &c);
}

static void begin_line(struct page *p, enum style s, size_t column)
{
	style_end(p->out, s, p->v->colour);
	buf_addc(p->out, '\n');
	buf_fill(p->out, ' ', column);
	style_begin(p->out, s, p->v->colour);
}

/* Adds safe text in a style, from column `at` on, further lines from `indent`. Words that are wider
 * than a line (paths) are broken. Ends the line. */
static void add_wrapped(struct page *p, const char *text, enum style s, size_t at, size_t indent)
{
	size_t width = text_prose_width(p->v->width);
	bool is_first = true;

	width = width > indent + 8 ? width : indent + 8;

	style_begin(p->out, s, p->v->colour);
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " "), columns = text_width_n(text, n);

		if (at + !is_first + columns > width && at > indent) {
			begin_line(p, s, indent);
			at = indent;
		} else if (!is_first) {
			buf_addc(p->out, ' ');
			at++;
		}
		while (at + columns > width) {
			size_t part = fitting(text, n, width - at);

			buf_add(p->out, text, part);
			text += part;
			n -= part;
			columns = text_width_n(text, n);
			begin_line(p, s, indent);
			at = indent;
		}
		buf_add(p->out, text, n);
		at += columns;
		text += n;
		is_first = false;
	}
	style_end(p->out, s, p->v->colour);
	buf_addc(p->out, '\n');
}

/* The same, for text of others. */
static void add_text(struct page *p, const char *text, enum style s, size_t at, size_t indent)
{
	struct buf safe = BUF_INIT;

	text_add_printable(&safe, text, strlen(text));
	add_wrapped(p, buf_str(&safe), s, at, indent);
	buf_done(&safe);
}

static void add_answer(struct page *p, enum doctor_answer answer)
{
	struct buf word = BUF_INIT;

	buf_printf(&word, "%s%s", answers[answer].mark, answers[answer].word);
	style_add(p->out, answers[answer].style, p->v->colour, "%s", buf_str(&word));
	buf_fill(p->out, ' ', MARK_WIDTH - text_width(buf_str(&word)));
	buf_done(&word);
}

static void add_remedy(struct page *p, const char *remedy, size_t indent)
{
	if (!*remedy)
		return;
	buf_fill(p->out, ' ', indent - 2);
	style_add(p->out, STYLE_ACCENT, p->v->colour, "%s", ARROW);
	add_text(p, remedy, STYLE_ACCENT, indent, indent);
}

struct row {
	enum doctor_answer answer;
	const char *title, *text;
	const char *more; /* dim; "": nothing */
	const char *remedy;
};

static void add_row(struct page *p, const struct row *r)
{
	size_t at = MARK_WIDTH + GAP;
	size_t used;

	add_answer(p, r->answer);
	buf_fill(p->out, ' ', GAP);
	style_add(p->out, STYLE_BOLD, p->v->colour, "%s", r->title);
	used = at + text_width(r->title);
	if (p->indent == NARROW_INDENT || used + GAP > p->indent) {
		buf_addc(p->out, '\n');
		used = 0;
	}
	buf_fill(p->out, ' ', p->indent - used);
	add_text(p, r->text, STYLE_PLAIN, p->indent, p->indent);
	if (*r->more) {
		buf_fill(p->out, ' ', p->indent);
		add_text(p, r->more, STYLE_DIM, p->indent, p->indent);
	}
	add_remedy(p, r->remedy, p->indent);
}

static void add_heading(struct page *p, const char *heading)
{
	buf_addc(p->out, '\n');
	style_add(p->out, STYLE_BOLD, p->v->colour, "%s", heading);
	buf_addc(p->out, '\n');
}

/* "CPython 3.13.5t", safe to print. */
static void add_interpreter_title(struct buf *out, const struct doctor_interpreter *i)
{
	if (!*i->version) {
		buf_adds(out, "unknown");
		return;
	}
	text_add_printable(out, i->implementation, strlen(i->implementation));
	buf_addc(out, ' ');
	text_add_printable(out, i->version, strlen(i->version));
	if (i->is_free_threaded)
		buf_addc(out, 't');
}

static void add_interpreter(struct page *p, const struct doctor_interpreter *i)
{
	struct buf title = BUF_INIT, more = BUF_INIT;
	struct row r = { .answer = !i->is_supported ? DOCTOR_NO
			: i->has_agent              ? DOCTOR_YES
						    : DOCTOR_PARTLY,
		.remedy = i->remedy };

	add_interpreter_title(&title, i);
	buf_adds(&more, i->reason);
	if (i->is_supported && *i->no_agent)
		buf_printf(&more, "it does not load its agent (%s): it can be sampled, not traced",
			i->no_agent);
	else if (i->is_supported && !i->has_agent)
		buf_adds(&more, "leadline has no agent for it: it can be sampled, not traced");
	if (i->is_free_threaded)
		buf_printf(&more, "%sfree-threaded", more.n ? "; " : "");
	if (*i->torch) {
		buf_adds(&more, more.n ? "; torch " : "torch ");
		text_add_printable(&more, i->torch, strlen(i->torch));
	}
	if (i->chosen_by)
		buf_printf(&more, "%s\"leadline run\" uses this one (%s)", more.n ? "; " : "",
			i->chosen_by);
	r.title = buf_str(&title);
	r.text = i->path;
	r.more = buf_str(&more);
	add_row(p, &r);
	buf_done(&title);
	buf_done(&more);
}

static void add_interpreters(struct page *p, const struct doctor *d)
{
	add_heading(p, "Interpreters");
	for (size_t i = 0; i < d->n_interpreters; i++)
		add_interpreter(p, &d->interpreters[i]);
	if (d->n_interpreters == 0)
		buf_adds(p->out, "none found\n");
	if (d->n_left_out)
		buf_printf(p->out, "and %zu more that were not tried\n", d->n_left_out);
}

static void add_checks(struct page *p, const struct doctor *d)
{
	add_heading(p, "Checks");
	for (size_t i = 0; i < d->n_checks; i++) {
		const struct doctor_check *c = &d->checks[i];
		struct buf more = BUF_INIT;
		struct row r = { c->answer, c->title, c->reason, "", c->remedy };

		if (c->answer != DOCTOR_YES)
			buf_printf(&more, "needed for %s", c->needed_for);
		r.more = buf_str(&more);
		add_row(p, &r);
		buf_done(&more);
	}
}

static void add_collectors(struct page *p, const struct doctor *d)
{
	add_heading(p, "Collectors");
	for (size_t i = 0; i < d->n_collectors; i++) {
		const struct doctor_collector *c = &d->collectors[i];
		bool is_ok = c->answer == DOCTOR_YES;
		struct row r = { c->answer, c->name, c->sees, is_ok ? "" : c->reason, c->remedy };

		add_row(p, &r);
	}
}

static void layout(struct page *p, const struct doctor *d)
{
	size_t widest = 0;

	for (size_t i = 0; i < d->n_checks; i++)
		widest = text_width(d->checks[i].title) > widest ? text_width(d->checks[i].title)
								 : widest;
	for (size_t i = 0; i < d->n_interpreters; i++) {
		struct buf title = BUF_INIT;
		size_t width;

		add_interpreter_title(&title, &d->interpreters[i]);
		width = text_width(buf_str(&title));
		if (width > widest && width <= TITLE_MAX)
			widest = width;
		buf_done(&title);
	}
	p->title_width = widest;
	p->indent = MARK_WIDTH + GAP + widest + GAP;
	if (p->indent + TEXT_MIN > p->v->width)
		p->indent = NARROW_INDENT;
}

static void add_verdict(struct page *p, const struct doctor *d)
{
	enum style s = d->is_ok ? STYLE_ACCENT : STYLE_WARNING;

	style_add(p->out, s, p->v->colour, "%s", answers[d->is_ok ? DOCTOR_YES : DOCTOR_NO].mark);
	add_text(p, d->verdict, STYLE_BOLD, 2, 2);
	add_remedy(p, d->remedy, 2);
}

static void add_legend(struct page *p)
{
	struct buf text = BUF_INIT;

	buf_printf(&text,
		"ok: works; partly: works within the limit shown; no: does not work; %swhat to do",
		ARROW);
	buf_addc(p->out, '\n');
	add_wrapped(p, buf_str(&text), STYLE_DIM, 0, 0);
	buf_done(&text);
}

void doctor_print(const struct doctor *d, const struct doctor_view *v, struct buf *out)
{
	struct page p = { .v = v, .out = out };

	layout(&p, d);
	add_verdict(&p, d);
	add_checks(&p, d);
	add_interpreters(&p, d);
	add_collectors(&p, d);
	if (v->legend)
		add_legend(&p);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
