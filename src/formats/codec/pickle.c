/* SPDX-License-Identifier: MIT
 *
 * See pickle.h. A pickle is a program for a stack machine: each instruction is a letter and its operand. Each makes
 * at most one value, and memory is bounded by the length of the file. */
#include "formats/codec/pickle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct machine {
	struct arena *a;
	const unsigned char *begin, *at, *end;
	pickle_class_fn *is_allowed;
	VEC(struct pickle_value *) stack;
	struct map memo; /* number → value */
	const char *problem;
	bool has_stopped;
};

static bool fail(struct machine *m, const char *problem)
{
	if (!m->problem)
		m->problem = problem;
	return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool take(struct machine *m, size_t n, const unsigned char **ret)
{
	if ((size_t)(m->end - m->at) < n)
		return fail(m, "it ends in the middle of an instruction");
	*ret = m->at;
	m->at += n;
	return true;
}

/* Little-endian, n ≤ 8 bytes. */
static bool take_number(struct machine *m, size_t n, uint64_t *ret)
{
	const unsigned char *at;

	if (!take(m, n, &at))
		return false;
	*ret = 0;
	for (size_t i = n; i-- > 0;)
		*ret = *ret << 8 | at[i];
	return true;
}

static bool take_line(struct machine *m, const char **ret, size_t *ret_n)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));

	if (!end)
		return fail(m, "it ends in the middle of an instruction");
	*ret = (const char *)m->at;
	*ret_n = (size_t)(end - m->at);
	m->at = end + 1;
	return true;
}

/* ---- the stack ------------------------------------------------------------------------------- */

static struct pickle_value *push(struct machine *m, enum pickle_kind kind)
{
	struct pickle_value *v = arena_new(m->a, struct pickle_value);

	v->kind = kind;
	vec_push(&m->stack, v);
	return v;
}

static struct pickle_value *pop(struct machine *m)
{
	if (!m->stack.n) {
		fail(m, "an instruction that needs a value and has none");
		return NULL;
	}
	return m->stack.v[--m->stack.n];
}

/* Where the values behind the last mark begin; SIZE_MAX without one. */
static size_t behind_mark(struct machine *m)
{
	for (size_t i = m->stack.n; i-- > 0;)
		if (m->stack.v[i]->kind == PICKLE_MARK)
			return i + 1;
	fail(m, "an instruction that needs a mark and has none");
	return SIZE_MAX;
}

static void append(struct machine *m, struct pickle_value *to, struct pickle_value *item)
{
	if (to->n == to->capacity) {
		struct pickle_value **old = to->items;

		to->capacity = to->capacity ? to->capacity * 2 : 4;
		to->items = arena_new_n(m->a, struct pickle_value *, to->capacity);
		if (old)
			memcpy(to->items, old, to->n * sizeof *old);
	}
	to->items[to->n++] = item;
}

/* The values from `from` on go into the container below them (below the mark, where there is one). */
static bool extend(struct machine *m, size_t from, size_t target, enum pickle_kind kind)
{
	struct pickle_value *to = target < m->stack.n ? m->stack.v[target] : NULL;

	if (!to || to->kind != kind || from > m->stack.n ||
		(kind == PICKLE_DICT && (m->stack.n - from) % 2))
		return fail(m, "items for something that is not a list or dict");
	for (size_t i = from; i < m->stack.n; i++) {
		if (m->stack.v[i]->kind == PICKLE_MARK)
			return fail(m, "a mark among values");
		append(m, to, m->stack.v[i]);
	}
	m->stack.n = target + 1;
	return true;
}

static bool extend_marked(struct machine *m, enum pickle_kind kind)
{
	size_t from = behind_mark(m);

	return from != SIZE_MAX && from >= 2 && extend(m, from, from - 2, kind)
		? true
		: fail(m, "items for something that is not a list or dict");
}

static bool make_tuple(struct machine *m, size_t n, bool is_marked)
{
	struct pickle_value *v;
	size_t from = is_marked ? behind_mark(m) : m->stack.n - n;

	if (from == SIZE_MAX || (!is_marked && n > m->stack.n))
		return fail(m, "an instruction that needs a value and has none");
	v = arena_new(m->a, struct pickle_value);
	v->kind = PICKLE_TUPLE;
	for (size_t i = from; i < m->stack.n; i++)
		append(m, v, m->stack.v[i]);
	m->stack.n = is_marked ? from - 1 : from;
	vec_push(&m->stack, v);
	return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool push_string(struct machine *m, size_t size_bytes)
{
	const unsigned char *at;
	struct pickle_value *v;
	uint64_t n;

	if (!take_number(m, size_bytes, &n))
		return false;
	if (n > (size_t)(m->end - m->at))
		return fail(m, "a length that is larger than the file");
	take(m, (size_t)n, &at);
	v = push(m, PICKLE_STRING);
	v->text = (const char *)at;
	v->n = (uint32_t)n;
	return true;
}

static bool push_int(struct machine *m, size_t n, bool is_signed)
{
	uint64_t value;

	if (n > 8)
		return fail(m, "a number that is too large");
	if (!take_number(m, n, &value))
		return false;
	if (is_signed && n && n < 8 && value >> (8 * n - 1))
		value |= UINT64_MAX << (8 * n);
	push(m, PICKLE_INT)->integer = (int64_t)value;
	return true;
}

static bool push_long(struct machine *m)
{
	uint64_t n;

	return take_number(m, 1, &n) && push_int(m, (size_t)n, true);
}

static bool push_float(struct machine *m)
{
	const unsigned char *at;
	uint64_t bits = 0;

	if (!take(m, 8, &at))
		return false;
	for (size_t i = 0; i < 8; i++)
		bits = bits << 8 | at[i];
	memcpy(&push(m, PICKLE_FLOAT)->real, &bits, 8);
	return true;
}

static bool push_class(struct machine *m, bool is_on_stack)
{
	struct pickle_value *module, *name;
	const char *texts[2];
	size_t n[2];

	if (is_on_stack) {
		name = pop(m);
		module = pop(m);
		if (!module || module->kind != PICKLE_STRING || name->kind != PICKLE_STRING)
			return fail(m, "a class without a name");
		texts[0] = module->text, n[0] = module->n;
		texts[1] = name->text, n[1] = name->n;
	} else if (!take_line(m, &texts[0], &n[0]) || !take_line(m, &texts[1], &n[1])) {
		return false;
	}
	if (!m->is_allowed(texts[0], n[0], texts[1], n[1]))
		return fail(m, "an object of a class that such files do not have");
	push(m, PICKLE_CLASS);
	return true;
}

static bool make_object(struct machine *m)
{
	struct pickle_value *arguments = pop(m), *class = pop(m);

	if (!class || class->kind != PICKLE_CLASS || arguments->kind != PICKLE_TUPLE)
		return fail(m, "an object of no class");
	push(m, PICKLE_OBJECT);
	return true;
}

static bool build_object(struct machine *m)
{
	struct pickle_value *state = pop(m),
			    *object = m->stack.n ? m->stack.v[m->stack.n - 1] : NULL;

	if (!state || !object || object->kind != PICKLE_OBJECT || object->n)
		return fail(m, "a state for something that is not an object");
	append(m, object, state);
	return true;
}

static bool remember(struct machine *m, size_t size_bytes)
{
	uint64_t number = m->memo.n;

	if (size_bytes && !take_number(m, size_bytes, &number))
		return false;
	if (!m->stack.n || m->stack.v[m->stack.n - 1]->kind == PICKLE_MARK)
		return fail(m, "an instruction that needs a value and has none");
	map_put(&m->memo, number, (uint64_t)(uintptr_t)m->stack.v[m->stack.n - 1]);
	return true;
}

static bool recall(struct machine *m, size_t size_bytes)
{
	uint64_t number, value;

	if (!take_number(m, size_bytes, &number))
		return false;
	if (!map_find(&m->memo, number, &value))
		return fail(m, "a reference to nothing");
	vec_push(&m->stack, (struct pickle_value *)(uintptr_t)value);
	return true;
}

static bool skip(struct machine *m, size_t n)
{
	const unsigned char *at;

	return take(m, n, &at);
}

static bool push_constant(struct machine *m, unsigned char op)
{
	struct pickle_value *v = push(m, op == 'N' ? PICKLE_NONE : PICKLE_INT);

	v->integer = op == 0x88;
	return true;
}

static bool step_value(struct machine *m, unsigned char op)
{
	switch (op) {
	case 'K': /* integers of 1, 2 and 4 bytes; of any length */
		return push_int(m, 1, false);
	case 'M':
		return push_int(m, 2, false);
	case 'J':
		return push_int(m, 4, true);
	case 0x8a:
		return push_long(m);
	case 'G':
		return push_float(m);
	case 'N':
	case 0x88:
	case 0x89:
		return push_constant(m, op);
	case 0x8c: /* strings; of Python 2 too */
	case 'U':
		return push_string(m, 1);
	case 'X':
	case 'T':
		return push_string(m, 4);
	case 0x8d:
		return push_string(m, 8);
	case 'c':
	case 0x93:
		return push_class(m, op == 0x93);
	default:
		return fail(m, "an instruction that such files do not have");
	}
}

static bool step(struct machine *m, unsigned char op)
{
	switch (op) {
	case 0x80: /* protocol, frame: said twice */
		return skip(m, 1);
	case 0x95:
		return skip(m, 8);
	case '(':
		push(m, PICKLE_MARK);
		return true;
	case ')':
		return make_tuple(m, 0, false);
	case 0x85:
	case 0x86:
	case 0x87:
		return make_tuple(m, op - 0x84u, false);
	case 't':
		return make_tuple(m, 0, true);
	case ']':
	case '}':
		push(m, op == ']' ? PICKLE_LIST : PICKLE_DICT);
		return true;
	case 'a':
		return m->stack.n > 1 && extend(m, m->stack.n - 1, m->stack.n - 2, PICKLE_LIST);
	case 'e':
		return extend_marked(m, PICKLE_LIST);
	case 's':
		return m->stack.n > 2 && extend(m, m->stack.n - 2, m->stack.n - 3, PICKLE_DICT);
	case 'u':
		return extend_marked(m, PICKLE_DICT);
	case 0x81:
		return make_object(m);
	case 'b':
		return build_object(m);
	case 0x94:
		return remember(m, 0);
	case 'q':
		return remember(m, 1);
	case 'r':
		return remember(m, 4);
	case 'h':
		return recall(m, 1);
	case 'j':
		return recall(m, 4);
	case '.':
		m->has_stopped = true;
		return true;
	default:
		return step_value(m, op);
	}
}

int pickle_parse(struct arena *a, const void *bytes, size_t n, pickle_class_fn *is_allowed,
	const struct pickle_value **ret, struct err *e)
{
	struct machine m = { .a = a,
		.begin = bytes,
		.at = bytes,
		.end = (const unsigned char *)bytes + n,
		.is_allowed = is_allowed };
	const unsigned char *op;
	bool is_good = true;

	while (is_good && !m.has_stopped)
		is_good = take(&m, 1, &op) && step(&m, *op);
	if (is_good && m.stack.n == 1)
		*ret = m.stack.v[0];
	else
		err_set(e, ERR_BAD_FILE, "byte %zu: %s", (size_t)(m.at - m.begin),
			m.problem ? m.problem : "values that belong to nothing");
	is_good = is_good && m.stack.n == 1;
	vec_done(&m.stack);
	map_done(&m.memo);
	return is_good ? 0 : -(int)e->code;
}

const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key)
{
	size_t n = strlen(key);

	if (!dict || dict->kind != PICKLE_DICT)
		return NULL;
	for (uint32_t i = 0; i + 1 < dict->n; i += 2)
		if (dict->items[i]->kind == PICKLE_STRING && dict->items[i]->n == n &&
			memcmp(dict->items[i]->text, key, n) == 0)
			return dict->items[i + 1];
	return NULL;
}
