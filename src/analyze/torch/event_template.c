/* SPDX-License-Identifier: MIT
 * See event_template.h. */
#include "analyze/torch/event_template.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "wire/events.h"
#include "base/banned.h"

enum {
	VARINT = 10,
	DIGITS = 18, /* a number of more is a text */
};

static const int64_t LINK_MOST = INT64_C(1) << 60;

/* ---- taking apart ---------------------------------------------------------------------------- */

struct take {
	const char *at, *end;
	const char *key; /* of the member at hand, where depth is 1 */
	size_t n_key;
	unsigned depth, n_arrays;
	bool is_key; /* the next text is one */
	bool is_span;
	int64_t link;
	struct buf *form, *numbers;
};

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

static uint64_t size_of(int64_t v)
{
	return v < 0 ? (uint64_t)-v : (uint64_t)v;
}

static void add_varint(struct buf *to, uint64_t v)
{
	unsigned char *begin = buf_reserve(to, VARINT);

	buf_advance(to, (size_t)(event_put_varint(begin, v) - begin));
}

/* As a program writes it: no zeros before it, no "-0". */
static bool parse_integer(const char *p, size_t n, int64_t *ret)
{
	size_t i = n && *p == '-';
	int64_t value = 0;

	if (i == n || n - i > DIGITS || (p[i] == '0' && n > 1))
		return false;
	for (size_t k = i; k < n; k++) {
		if (p[k] < '0' || p[k] > '9')
			return false;
		value = value * 10 + (p[k] - '0');
	}
	*ret = i ? -value : value;
	return true;
}

static bool key_is(const struct take *t, const char *word)
{
	return t->depth == 1 && t->n_key == strlen(word) && memcmp(t->key, word, t->n_key) == 0;
}

static void take_number(struct take *t)
{
	const char *begin = t->at;
	int64_t value;
	size_t n;

	while (t->at < t->end && !strchr(",}] \n\r\t", *t->at))
		t->at++;
	n = (size_t)(t->at - begin);
	if (t->n_arrays || key_is(t, "pid") || key_is(t, "tid")) {
		buf_add(t->form, begin, n);
	} else if (key_is(t, "ts")) {
		buf_addc(t->form, OP_FORM_TS);
	} else if (t->is_span && key_is(t, "dur")) {
		buf_addc(t->form, OP_FORM_DURATION);
	} else if (parse_integer(begin, n, &value)) {
		bool is_near = size_of(value - t->link) < size_of(value);

		buf_addc(t->form, OP_FORM_INTEGER);
		add_varint(t->numbers,
			zigzag(is_near ? value - t->link : value) << 1 | (uint64_t)is_near);
	} else {
		buf_addc(t->form, OP_FORM_TEXT);
		add_varint(t->numbers, n);
		buf_add(t->numbers, begin, n);
	}
}

static void take_text(struct take *t)
{
	const char *begin = t->at++;
	size_t at = t->form->n;

	while (t->at < t->end && *t->at != '"')
		t->at += *t->at == '\\' && t->at + 1 < t->end ? 2 : 1;
	t->at += t->at < t->end;
	if (t->is_key && t->depth == 1) {
		t->key = begin + 1;
		t->n_key = (size_t)(t->at - begin) - 2;
	} else if (!t->is_key && t->is_span && key_is(t, "name")) {
		buf_addc(t->form, OP_FORM_NAME);
		return;
	}
	buf_add(t->form, begin, (size_t)(t->at - begin));
	for (; at < t->form->n; at++) /* what stands for a mark */
		if ((unsigned char)t->form->data[at] < ' ')
			t->form->data[at] = ' ';
}

static void take_sign(struct take *t, char c)
{
	switch (c) {
	case '{':
		t->depth++;
		t->is_key = true;
		break;
	case '}':
		t->depth -= t->depth > 0;
		break;
	case '[':
		t->n_arrays++;
		t->is_key = false;
		break;
	case ']':
		t->n_arrays -= t->n_arrays > 0;
		break;
	case ':':
		t->is_key = false;
		break;
	case ',':
		t->is_key = !t->n_arrays;
		break;
	}
	if ((unsigned char)c > ' ')
		buf_addc(t->form, c);
	t->at++;
}

void op_template_take(const char *json, size_t n, bool is_span, int64_t link, struct buf *form,
	struct buf *numbers)
{
	struct take t = { .at = json,
		.end = json + n,
		.key = json,
		.is_span = is_span,
		.link = size_of(link) < (uint64_t)LINK_MOST ? link : 0,
		.form = form,
		.numbers = numbers };

	while (t.at < t.end) {
		if (*t.at == '"')
			take_text(&t);
		else if (*t.at == '-' || (*t.at >= '0' && *t.at <= '9'))
			take_number(&t);
		else
			take_sign(&t, *t.at);
	}
}

/* ---- putting together ------------------------------------------------------------------------ */

void op_template_quote(struct buf *out, const char *text, size_t n)
{
	struct json_writer w;

	json_init(&w, out, false);
	json_string_n(&w, text, n);
}

void op_template_us(struct buf *out, int64_t ns)
{
	uint64_t size = size_of(ns);

	buf_printf(
		out, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
}

static bool fill_integer(
	const unsigned char **at, const unsigned char *end, int64_t link, struct buf *out)
{
	uint64_t code, value;

	if (!event_get_varint(at, end, &code))
		return false;
	value = (uint64_t)unzigzag(code >> 1);
	if (code & 1)
		value += (uint64_t)link;
	buf_printf(out, "%" PRId64, (int64_t)value);
	return true;
}

static bool fill_text(const unsigned char **at, const unsigned char *end, struct buf *out)
{
	uint64_t n;

	if (!event_get_varint(at, end, &n) || n > (uint64_t)(end - *at))
		return false;
	buf_add(out, *at, (size_t)n);
	*at += n;
	return true;
}

bool op_template_fill(const char *form, size_t n, const void *numbers, size_t n_numbers,
	const struct op_template_own *own, struct buf *out)
{
	const unsigned char *at = numbers, *end = at + n_numbers;
	int64_t link = size_of(own->link) < (uint64_t)LINK_MOST ? own->link : 0;
	size_t begin = out->n;
	bool is_right = true;

	for (size_t i = 0; i < n && is_right; i++) {
		switch (form[i]) {
		case OP_FORM_NAME:
			op_template_quote(out, own->name, own->n_name);
			break;
		case OP_FORM_TS:
			op_template_us(out, own->ts_ns);
			break;
		case OP_FORM_DURATION:
			op_template_us(out, own->duration_ns);
			break;
		case OP_FORM_INTEGER:
			is_right = fill_integer(&at, end, link, out);
			break;
		case OP_FORM_TEXT:
			is_right = fill_text(&at, end, out);
			break;
		default:
			buf_addc(out, form[i]);
		}
	}
	if (is_right && at == end)
		return true;
	out->n = begin;
	if (out->data)
		out->data[begin] = '\0';
	return false;
}
