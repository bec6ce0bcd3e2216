/* SPDX-License-Identifier: MIT
 *
 * See marshal.h. A value begins with a letter; its top bit says that later references may mean it, by
 * number in the order of appearance (a tuple counts before its items). */
#include "formats/codec/marshal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/banned.h"

enum { REFERRED = 0x80, LONG_DIGITS = 5 }; /* 15 bits each: 75 bits */

struct parser {
	struct arena *a;
	const unsigned char *begin, *at, *end;
	VEC(const struct marshal_value *) references; /* NULL: not complete yet */
	VEC(const struct marshal_value *) interned;   /* what Python 2's 'R' refers to */
	const char *problem;
};

static const struct marshal_value *parse(struct parser *p, unsigned depth, bool *ret_is_null);

static const struct marshal_value *fail(struct parser *p, const char *problem)
{
	if (!p->problem)
		p->problem = problem;
	return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool take(struct parser *p, size_t n, const unsigned char **ret)
{
	if ((size_t)(p->end - p->at) < n) {
		fail(p, "it ends in the middle of a value");
		return false;
	}
	*ret = p->at;
	p->at += n;
	return true;
}

static bool take_u32(struct parser *p, uint32_t *ret)
{
	const unsigned char *at;

	if (!take(p, 4, &at))
		return false;
	*ret = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
		(uint32_t)at[3] << 24;
	return true;
}

/* A number of things that take a byte each at least. */
static bool take_size(struct parser *p, bool is_short, uint32_t *ret)
{
	const unsigned char *at;

	if (is_short) {
		if (!take(p, 1, &at))
			return false;
		*ret = *at;
	} else if (!take_u32(p, ret)) {
		return false;
	}
	if (*ret > (size_t)(p->end - p->at)) {
		fail(p, "a length that is larger than the file");
		return false;
	}
	return true;
}

static bool parse_long(struct parser *p, struct marshal_value *v)
{
	uint32_t head, n;
	bool is_negative;
	double real = 0, place = 1;
	uint64_t value = 0;
	const unsigned char *at;

	if (!take_u32(p, &head))
		return false;
	is_negative = (int32_t)head < 0;
	n = is_negative ? 0u - head : head;
	if (n > LONG_DIGITS || !take(p, 2 * (size_t)n, &at)) {
		fail(p, "a number that is too large");
		return false;
	}
	for (uint32_t i = 0; i < n; i++, place *= 32768) {
		uint64_t digit = (uint64_t)at[2 * i] | (uint64_t)at[2 * i + 1] << 8;

		real += (double)digit * place;
		value |= i < 4 ? digit << (15 * i) : 0;
	}
	v->kind = n > 4 ? MARSHAL_FLOAT : MARSHAL_INT;
	if (n > 4)
		v->real = is_negative ? -real : real;
	else
		v->integer = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static bool parse_number(struct parser *p, unsigned char type, struct marshal_value *v)
{
	const unsigned char *at;
	uint32_t low, high = 0, n;

	switch (type) {
	case 'i':
	case 'I':
		v->kind = MARSHAL_INT;
		if (!take_u32(p, &low) || (type == 'I' && !take_u32(p, &high)))
			return false;
		v->integer = type == 'i' ? (int32_t)low : (int64_t)((uint64_t)high << 32 | low);
		return true;
	case 'g':
		v->kind = MARSHAL_FLOAT;
		if (!take(p, 8, &at))
			return false;
		memcpy(&v->real, at, 8);
		return true;
	case 'f':
		v->kind = MARSHAL_FLOAT;
		if (!take_size(p, true, &n) || !take(p, n, &at))
			return false;
		v->real = strtod(arena_strndup(p->a, (const char *)at, n), NULL);
		return true;
	default:
		return parse_long(p, v);
	}
}

/* ---- strings and containers ------------------------------------------------------------------ */

static bool parse_string(struct parser *p, unsigned char type, struct marshal_value *v)
{
	const unsigned char *at;

	v->kind = MARSHAL_STRING;
	if (!take_size(p, type == 'z' || type == 'Z', &v->n) || !take(p, v->n, &at))
		return false;
	v->text = (const char *)at;
	if (type == 't')
		vec_push(&p->interned, v);
	return true;
}

static bool parse_tuple(struct parser *p, bool is_short, struct marshal_value *v, unsigned depth)
{
	const struct marshal_value **items;
	uint32_t n;
	bool is_null;

	v->kind = MARSHAL_TUPLE;
	if (!take_size(p, is_short, &n))
		return false;
	items = arena_new_n(p->a, const struct marshal_value *, n);
	for (uint32_t i = 0; i < n; i++) {
		items[i] = parse(p, depth + 1, &is_null);
		if (!items[i])
			return fail(p, "an end where an item belongs") != NULL;
	}
	v->items = items;
	v->n = n;
	return true;
}

static bool parse_dict(struct parser *p, struct marshal_value *v, unsigned depth)
{
	VEC(const struct marshal_value *) items = VEC_INIT;
	bool is_null = false;

	v->kind = MARSHAL_DICT;
	for (;;) {
		const struct marshal_value *item = parse(p, depth + 1, &is_null);

		if (!item)
			break;
		vec_push(&items, item);
	}
	if (!p->problem && items.n % 2)
		fail(p, "a key without its value");
	v->n = (uint32_t)items.n;
	v->items = arena_copy(p->a, items.v, items.n * sizeof *items.v);
	vec_done(&items);
	return !p->problem;
}

static const struct marshal_value *refer(struct parser *p, bool is_interned)
{
	const struct marshal_value *found = NULL;
	uint32_t index;

	if (!take_u32(p, &index))
		return NULL;
	if (is_interned && index < p->interned.n)
		found = p->interned.v[index];
	else if (!is_interned && index < p->references.n)
		found = p->references.v[index];
	return found ? found : fail(p, "a reference to nothing");
}

static bool parse_as(struct parser *p, unsigned char type, struct marshal_value *v, unsigned depth)
{
	switch (type) {
	case 'N':
		v->kind = MARSHAL_NONE;
		return true;
	case 'F':
	case 'T':
		v->kind = MARSHAL_INT;
		v->integer = type == 'T';
		return true;
	case 'i':
	case 'I':
	case 'l':
	case 'f':
	case 'g':
		return parse_number(p, type, v);
	case 's':
	case 't':
	case 'u':
	case 'a':
	case 'A':
	case 'z':
	case 'Z':
		return parse_string(p, type, v);
	case '(':
	case '[':
	case ')':
		return parse_tuple(p, type == ')', v, depth);
	case '{':
		return parse_dict(p, v, depth);
	default:
		return fail(p, "a kind of value that profiles do not have") != NULL;
	}
}

/* NULL on failure, and for the mark that ends a dict: *ret_is_null. */
static const struct marshal_value *parse(struct parser *p, unsigned depth, bool *ret_is_null)
{
	const unsigned char *at;
	struct marshal_value *v;
	size_t reference = p->references.n;
	unsigned char type;

	*ret_is_null = false;
	if (p->problem || !take(p, 1, &at))
		return NULL;
	type = *at & (unsigned char)~REFERRED;
	if (depth > MARSHAL_DEPTH)
		return fail(p, "values nested too deeply");
	if (type == '0') {
		*ret_is_null = true;
		return NULL;
	}
	if (type == 'r' || type == 'R')
		return refer(p, type == 'R');
	v = arena_new(p->a, struct marshal_value);
	if (*at & REFERRED)
		vec_push(&p->references, NULL);
	if (!parse_as(p, type, v, depth))
		return NULL;
	if (*at & REFERRED)
		p->references.v[reference] = v;
	return v;
}

int marshal_parse(struct arena *a, const void *bytes, size_t n, const struct marshal_value **ret,
	struct err *e)
{
	struct parser p = {
		.a = a, .begin = bytes, .at = bytes, .end = (const unsigned char *)bytes + n
	};
	bool is_null;
	const struct marshal_value *v = parse(&p, 0, &is_null);
	int status = 0;

	if (!v)
		status = err_set(e, ERR_BAD_FILE, "byte %zu: %s", (size_t)(p.at - p.begin),
			p.problem ? p.problem : "no value");
	else
		*ret = v;
	vec_done(&p.references);
	vec_done(&p.interned);
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_u32(struct buf *out, uint32_t v)
{
	const unsigned char bytes[] = { (unsigned char)v, (unsigned char)(v >> 8),
		(unsigned char)(v >> 16), (unsigned char)(v >> 24) };

	buf_add(out, bytes, sizeof bytes);
}

void marshal_dict_begin(struct buf *out)
{
	buf_addc(out, '{');
}

void marshal_dict_end(struct buf *out)
{
	buf_addc(out, '0');
}

void marshal_tuple(struct buf *out, uint32_t n_items)
{
	buf_addc(out, '(');
	add_u32(out, n_items);
}

void marshal_string(struct buf *out, const char *s)
{
	size_t n = strlen(s);

	buf_addc(out, 'u');
	add_u32(out, (uint32_t)n);
	buf_add(out, s, n);
}

void marshal_int(struct buf *out, uint64_t value)
{
	uint32_t n = 0;

	if (value <= INT32_MAX) {
		buf_addc(out, 'i');
		add_u32(out, (uint32_t)value);
		return;
	}
	for (uint64_t v = value; v; v >>= 15)
		n++;
	buf_addc(out, 'l');
	add_u32(out, n);
	for (; value; value >>= 15) {
		buf_addc(out, (char)(value & 255));
		buf_addc(out, (char)(value >> 8 & 127));
	}
}

void marshal_float(struct buf *out, double value)
{
	buf_addc(out, 'g');
	buf_add(out, &value, 8);
}
