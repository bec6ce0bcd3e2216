/* SPDX-License-Identifier: MIT
 * See value.h. Arrays and tensors are in value_array.c. */
#include "cpython/value.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cpython/dict.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "cpython/value_array.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	DIGITS_MOST = 32, /* of 30 bits: 289 decimal ones */
	ITEMS_MOST = 64,
	NAME_MOST = 256,
};

const struct value_limits value_limits_usual = {
	.bytes = 240, .chars = 120, .items = 8, .depth = 5
};

struct formatter {
	struct objects *o;
	const struct value_limits *limits;
	struct buf *out;
	size_t end; /* out->n at which enough was said */
	unsigned depth;
};

static void add_value(struct formatter *f, uint64_t address);

/* ---- numbers --------------------------------------------------------------------------------- */

static void add_digits(struct buf *out, const uint32_t *digits, size_t n)
{
	uint32_t parts[DIGITS_MOST * 2] = { 0 }; /* base 10^9, lowest first */
	size_t n_parts = 1;

	for (size_t i = n; i-- > 0;) {
		uint64_t carry = digits[i];

		for (size_t k = 0; k < n_parts; k++) {
			carry += (uint64_t)parts[k] << 30;
			parts[k] = (uint32_t)(carry % 1000000000);
			carry /= 1000000000;
		}
		if (carry)
			parts[n_parts++] = (uint32_t)carry;
	}
	buf_printf(out, "%u", parts[n_parts - 1]);
	for (size_t i = n_parts - 1; i-- > 0;)
		buf_printf(out, "%09u", parts[i]);
}

static void add_int(struct formatter *f, uint64_t address, bool is_bool)
{
	const struct py_layout *l = f->o->l;
	uint32_t digits[DIGITS_MOST];
	bool is_negative, is_new = l->long_tag != PY_NONE;
	uint64_t word, n;

	if (object_word(f->o, address, is_new ? l->long_tag : l->long_size, &word) < 0) {
		buf_addc(f->out, '?');
		return;
	}
	is_negative = is_new ? (word & 3) == 2 : (int64_t)word < 0;
	n = !is_new ? (is_negative ? 0 - word : word) : (word & 3) == 1 ? 0 : word >> 3;
	if (n > DIGITS_MOST && n < 1 << 28 &&
		mem_read(f->o->mem, address + l->long_digits + (n - 2) * 4, digits, 8) == 0)
		buf_printf(f->out, "<%sint of %.0f digits>", is_negative ? "negative " : "",
			floor(log10(digits[0] + ldexp(digits[1], 30)) +
				(double)(n - 2) * 30 * log10(2) + 1e-9) +
				1);
	else if (n > DIGITS_MOST ||
		(n && mem_read(f->o->mem, address + l->long_digits, digits, n * 4) < 0))
		buf_addc(f->out, '?');
	else if (is_bool)
		buf_adds(f->out, n && digits[0] ? "True" : "False");
	else {
		for (size_t i = 0; i < n; i++)
			digits[i] &= 0x3fffffff;
		if (is_negative)
			buf_addc(f->out, '-');
		add_digits(f->out, digits, n);
	}
}

void value_format_int(int64_t value, struct buf *out)
{
	buf_printf(out, "%lld", (long long)value);
}

/* The shortest digits that give the same number again, in the form Python chooses. */
static void add_double(struct buf *out, double v, bool want_point)
{
	char text[40] = "";
	int precision = 0, exponent;

	if (!isfinite(v)) {
		buf_adds(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (; precision < 17; precision++) {
		snprintf(text, sizeof text, "%.*e", precision, v);
		if (strtod(text, NULL) == v)
			break;
	}
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (exponent >= -4 && exponent < 16) {
		int decimals = precision > exponent ? precision - exponent : 0;

		buf_printf(out, "%.*f", decimals ? decimals : want_point, v);
	} else {
		buf_adds(out, text);
	}
}

static void add_float(struct formatter *f, uint64_t address, uint32_t offset, bool want_point)
{
	uint64_t bits;
	double v;

	if (object_word(f->o, address + offset, 0, &bits) < 0) {
		buf_addc(f->out, '?');
		return;
	}
	memcpy(&v, &bits, sizeof v);
	add_double(f->out, v, want_point);
}

static void add_complex(struct formatter *f, uint64_t address)
{
	uint32_t head = f->o->l->object_sizeof;
	size_t before;

	buf_addc(f->out, '(');
	add_float(f, address, head, false);
	before = f->out->n;
	add_float(f, address, head + 8, false);
	if (f->out->data[before] != '-') { /* the sign belongs between the two */
		struct buf imaginary = BUF_INIT;

		buf_add(&imaginary, f->out->data + before, f->out->n - before);
		f->out->n = before;
		buf_printf(f->out, "+%s", buf_str(&imaginary));
		buf_done(&imaginary);
	}
	buf_adds(f->out, "j)");
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void add_quoted(struct formatter *f, const char *text, size_t n, bool is_bytes)
{
	char quote = memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';

	buf_addc(f->out, quote);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == (unsigned char)quote || c == '\\')
			buf_printf(f->out, "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			buf_printf(f->out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
		else if (c < 0x20 || c == 0x7f || (is_bytes && c >= 0x80))
			buf_printf(f->out, "\\x%02x", c);
		else
			buf_addc(f->out, (char)c);
	}
	buf_addc(f->out, quote);
}

static void add_str(struct formatter *f, uint64_t address)
{
	struct buf text = BUF_INIT;
	uint64_t length = 0;

	if (strings_read_start(f->o->mem, f->o->l, address, f->limits->chars, &text, &length) < 0) {
		buf_addc(f->out, '?');
	} else {
		add_quoted(f, buf_str(&text), text.n, false);
		if (length > f->limits->chars)
			buf_printf(
				f->out, "… +%llu", (unsigned long long)(length - f->limits->chars));
	}
	buf_done(&text);
}

static void add_bytes(struct formatter *f, uint64_t address)
{
	const struct py_layout *l = f->o->l;
	struct buf text = BUF_INIT;
	uint64_t length;
	size_t n;

	if (object_word(f->o, address, l->bytes_size, &length) < 0 || length > INT64_MAX) {
		buf_addc(f->out, '?');
		return;
	}
	n = length < f->limits->chars ? (size_t)length : f->limits->chars;
	if (n && mem_read(f->o->mem, address + l->bytes_data, buf_reserve(&text, n), n) < 0) {
		buf_addc(f->out, '?');
	} else {
		buf_addc(f->out, 'b');
		add_quoted(f, n ? text.data : "", n, true);
		if (length > n)
			buf_printf(f->out, "… +%llu", (unsigned long long)(length - n));
	}
	buf_done(&text);
}

/* ---- containers ------------------------------------------------------------------------------ */

static bool is_enough(const struct formatter *f)
{
	return f->out->n >= f->end;
}

/* Adds the items, and how many more there are. */
static void add_items(struct formatter *f, const uint64_t *items, int64_t n_all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_enough(f)) {
			n = i;
			break;
		}
		if (i)
			buf_adds(f->out, ", ");
		add_value(f, items[i]);
	}
	if (n_all > (int64_t)n)
		buf_printf(f->out, "%s… +%lld", n ? ", " : "", (long long)n_all - (long long)n);
}

static size_t items_most(const struct formatter *f)
{
	return f->limits->items < ITEMS_MOST ? f->limits->items : ITEMS_MOST;
}

/* is_call: the items are arguments behind the name of a class. */
static void add_sequence(struct formatter *f, uint64_t address, bool is_tuple, bool is_call)
{
	uint64_t items[ITEMS_MOST];
	int64_t n = object_items(f->o, address, items, items_most(f));
	size_t shown = n < (int64_t)items_most(f) ? (size_t)(n < 0 ? 0 : n) : items_most(f);

	if (n < 0) {
		buf_addc(f->out, '?');
		return;
	}
	if (f->depth >= f->limits->depth)
		shown = 0;
	buf_addc(f->out, is_tuple ? '(' : '[');
	add_items(f, items, n, shown);
	buf_adds(f->out, is_tuple ? (n == 1 && !is_call ? ",)" : ")") : "]");
}

static void add_set(struct formatter *f, uint64_t address, bool is_frozen)
{
	uint64_t items[ITEMS_MOST], used = 0;
	int64_t n = object_set_items(f->o, address, items, items_most(f));

	if (n < 0 || object_word(f->o, address, f->o->l->set_used, &used) < 0 || used > INT32_MAX) {
		buf_addc(f->out, '?');
		return;
	}
	if (!used) {
		buf_adds(f->out, is_frozen ? "frozenset()" : "set()");
		return;
	}
	buf_adds(f->out, is_frozen ? "frozenset({" : "{");
	add_items(f, items, (int64_t)used, f->depth >= f->limits->depth ? 0 : (size_t)n);
	buf_adds(f->out, is_frozen ? "})" : "}");
}

struct dict_items {
	struct formatter *f;
	unsigned n;
};

static bool add_pair(void *ctx, uint64_t key, uint64_t value)
{
	struct dict_items *items = ctx;
	struct formatter *f = items->f;

	if (items->n == f->limits->items || is_enough(f) || f->depth >= f->limits->depth)
		return false;
	if (items->n++)
		buf_adds(f->out, ", ");
	add_value(f, key);
	buf_adds(f->out, ": ");
	add_value(f, value);
	return true;
}

static void add_dict(struct formatter *f, uint64_t address)
{
	struct dict_items items = { .f = f };
	int64_t n = dict_length(f->o, address);

	if (n < 0) {
		buf_addc(f->out, '?');
		return;
	}
	buf_addc(f->out, '{');
	dict_each(f->o, address, add_pair, &items);
	if (n > items.n)
		buf_printf(f->out, "%s… +%lld", items.n ? ", " : "", (long long)n - items.n);
	buf_addc(f->out, '}');
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool add_named(struct formatter *f, const char *what, uint64_t name, uint64_t address)
{
	struct buf text = BUF_INIT;
	bool is_ok = strings_read(f->o->mem, f->o->l, name, NAME_MOST, &text) == 0 && text.n;

	if (is_ok)
		buf_printf(f->out, address ? "<%s %s at" : "<%s '%s'>", what, buf_str(&text));
	if (is_ok && address)
		buf_printf(f->out, " 0x%llx>", (unsigned long long)address);
	buf_done(&text);
	return is_ok;
}

static bool add_known(struct formatter *f, uint64_t address, const struct object_type *t)
{
	const struct py_layout *l = f->o->l;
	uint64_t name;

	if (object_is(t, TYPE_TYPE_SUBCLASS)) {
		const struct object_type *class = object_type_at(f->o, address);

		if (!class)
			return false;
		buf_adds(f->out, "<class '");
		object_type_name(f->o, class, f->out);
		buf_adds(f->out, "'>");
		return true;
	}
	if (object_is_static(t, "function"))
		return object_word(f->o, address, l->function_qualname, &name) == 0 &&
			add_named(f, "function", name, address);
	if (object_is_static(t, "module"))
		return attribute_find(f->o, address, "__name__", &name) == 0 &&
			add_named(f, "module", name, 0);
	return value_array_format(f->o, address, t, f->out);
}

static void add_other(struct formatter *f, uint64_t address, const struct object_type *t)
{
	if (add_known(f, address, t))
		return;
	buf_addc(f->out, '<');
	object_type_name(f->o, t, f->out);
	buf_printf(f->out, " at 0x%llx>", (unsigned long long)address);
}

/* What is written in Python's own syntax. false: nothing of it. */
static bool add_literal(struct formatter *f, uint64_t address, const struct object_type *t)
{
	uint64_t args;

	if (object_is(t, TYPE_LONG_SUBCLASS))
		add_int(f, address, object_is_static(t, "bool"));
	else if (object_is(t, TYPE_UNICODE_SUBCLASS))
		add_str(f, address);
	else if (object_is(t, TYPE_BYTES_SUBCLASS))
		add_bytes(f, address);
	else if (object_is(t, TYPE_LIST_SUBCLASS))
		add_sequence(f, address, false, false);
	else if (object_is(t, TYPE_TUPLE_SUBCLASS))
		add_sequence(f, address, true, object_is(t, TYPE_HEAPTYPE));
	else if (object_is(t, TYPE_DICT_SUBCLASS))
		add_dict(f, address);
	else if (object_is(t, TYPE_BASE_EXC_SUBCLASS) &&
		object_word(f->o, address, f->o->l->exception_args, &args) == 0)
		add_sequence(f, args, true, true);
	else
		return false;
	return true;
}

static void add_value(struct formatter *f, uint64_t address)
{
	const struct object_type *t = object_type(f->o, address);
	bool is_plain;

	if (!t) {
		buf_addc(f->out, '?');
		return;
	}
	f->depth++;
	is_plain = !object_is(t, TYPE_HEAPTYPE) && !object_is(t, TYPE_BASE_EXC_SUBCLASS) &&
		!strchr(t->name, '.');
	if (object_is_static(t, "NoneType")) {
		buf_adds(f->out, "None");
	} else if (object_is_static(t, "ellipsis")) {
		buf_adds(f->out, "Ellipsis");
	} else if (object_is_static(t, "float")) {
		add_float(f, address, f->o->l->float_value, true);
	} else if (object_is_static(t, "complex")) {
		add_complex(f, address);
	} else if (object_is_static(t, "set") || object_is_static(t, "frozenset")) {
		add_set(f, address, *t->name == 'f');
	} else {
		size_t before = f->out->n;

		if (!is_plain)
			object_type_name(f->o, t, f->out);
		if (!is_plain && !object_is(t, TYPE_TUPLE_SUBCLASS | TYPE_BASE_EXC_SUBCLASS))
			buf_addc(f->out, '(');
		if (!add_literal(f, address, t)) {
			f->out->n = before;
			if (f->out->data)
				f->out->data[before] = '\0';
			add_other(f, address, t);
		} else if (!is_plain &&
			!object_is(t, TYPE_TUPLE_SUBCLASS | TYPE_BASE_EXC_SUBCLASS)) {
			buf_addc(f->out, ')');
		}
	}
	f->depth--;
}

void value_format(
	struct objects *o, uint64_t address, const struct value_limits *limits, struct buf *out)
{
	struct buf text = BUF_INIT;
	struct formatter f = { .o = o, .limits = limits, .out = &text, .end = limits->bytes };

	add_value(&f, address);
	if (text.n > limits->bytes) { /* not within a character */
		size_t n = limits->bytes;

		while (n && ((unsigned char)text.data[n] & 0xc0) == 0x80)
			n--;
		buf_add(out, text.data, n);
		buf_adds(out, "…");
	} else {
		buf_adds(out, buf_str(&text));
	}
	buf_done(&text);
}
