/* SPDX-License-Identifier: MIT
 * See symbolic.h. */
#include "cpython/symbolic.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/argument.h"
#include "cpython/bytecode.h"
#include "cpython/opcodes.h"
#include "base/banned.h"

enum { TEXT_MOST = 60, STACK_MOST = 256, JOINED_MOST = 12 };

struct machine {
	struct arena *a;
	const struct opcodes *o;
	const struct bytecode *b;
	const struct code_words *w;
	struct symbolic *states; /* by instruction; v NULL: not reached yet */
	const char *stack[STACK_MOST];
	size_t n;
};

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *cut(struct machine *m, const char *text)
{
	size_t n = strlen(text);

	if (n <= TEXT_MOST)
		return arena_strdup(m->a, text);
	n = TEXT_MOST;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(m->a, "%.*s…", (int)n, text);
}

static bool is_simple(const char *text)
{
	for (; *text; text++)
		if (*text == ' ')
			return false;
	return true;
}

/* With parentheses where it is more than one word. */
static const char *part(struct machine *m, const char *text)
{
	bool is_closed =
		*text == '(' || *text == '[' || *text == '{' || *text == '\'' || *text == '"';

	return is_simple(text) || is_closed ? text : arena_printf(m->a, "(%s)", text);
}

static const char *at(const struct machine *m, size_t from_top)
{
	return from_top < m->n ? m->stack[m->n - 1 - from_top] : "…";
}

static const char *joined(struct machine *m, size_t first, size_t end, const char *comma)
{
	struct buf text = BUF_INIT;
	const char *copy;

	for (size_t i = first; i < end && i < m->n; i++) {
		if (i - first == JOINED_MOST) {
			buf_printf(&text, "%s…", comma);
			break;
		}
		buf_printf(&text, "%s%s", i > first ? comma : "", m->stack[i]);
	}
	copy = arena_strdup(m->a, buf_str(&text));
	buf_done(&text);
	return copy;
}

static const char *word(const char *text)
{
	return text ? text : "?";
}

/* ---- what instructions give ------------------------------------------------------------------- */

/* f(a, b): without the NULL or self beside the callee. n: slots from the bottom one on. */
static const char *call_text(struct machine *m, const struct instruction *i, size_t n)
{
	size_t first = n <= m->n ? m->n - n : 0, end = m->n, callee = first, next;
	bool has_beside = i->base != OP_CALL_FUNCTION && i->base != OP_CALL_FUNCTION_KW &&
		(i->base != OP_CALL_FUNCTION_EX || m->o->minor >= 11);

	if (i->base == OP_CALL_KW || i->base == OP_CALL_FUNCTION_KW)
		end--;
	if (first >= m->n)
		return "…";
	if (has_beside && strcmp(m->stack[callee], "NULL") == 0 && callee + 1 < m->n)
		callee++;
	next = callee + 1;
	if (has_beside && callee == first && next < end)
		next++; /* NULL or self behind it, or self beside its method */
	return arena_printf(m->a, "%s(%s%s)", part(m, m->stack[callee]),
		i->base == OP_CALL_FUNCTION_EX ? "*" : "", joined(m, next, end, ", "));
}

static const char *binary_text(struct machine *m, const struct instruction *i)
{
	const char *symbol = argument_operator(m->o, i);

	if (i->base == OP_BINARY_SUBSCR || (symbol && *symbol == '['))
		return arena_printf(m->a, "%s[%s]", part(m, at(m, 1)), at(m, 0));
	if (!symbol)
		symbol = argument_comparison(m->o, i);
	return symbol ? arena_printf(m->a, "%s %s %s", part(m, at(m, 1)), symbol, part(m, at(m, 0)))
		      : NULL;
}

static const char *built_text(struct machine *m, const struct instruction *i, size_t n)
{
	const char *items =
		joined(m, n <= m->n ? m->n - n : 0, m->n, i->base == OP_BUILD_SLICE ? ":" : ", ");

	switch ((enum opcode)i->base) {
	case OP_BUILD_LIST:
		return arena_printf(m->a, "[%s]", items);
	case OP_BUILD_TUPLE:
		return arena_printf(m->a, "(%s%s)", items, n == 1 ? "," : "");
	case OP_BUILD_SET:
		return arena_printf(m->a, "{%s}", items);
	case OP_BUILD_MAP:
		return n ? "{…}" : "{}";
	case OP_BUILD_SLICE:
		return items;
	case OP_BUILD_STRING:
		return "f'…'";
	default:
		return NULL;
	}
}

static const char *unary_text(struct machine *m, const struct instruction *i)
{
	switch ((enum opcode)i->base) {
	case OP_UNARY_NEGATIVE:
		return arena_printf(m->a, "-%s", part(m, at(m, 0)));
	case OP_UNARY_NOT:
		return arena_printf(m->a, "not %s", part(m, at(m, 0)));
	case OP_UNARY_INVERT:
		return arena_printf(m->a, "~%s", part(m, at(m, 0)));
	case OP_TO_BOOL:
		return arena_printf(m->a, "bool(%s)", at(m, 0));
	case OP_GET_ITER:
		return arena_printf(m->a, "iter(%s)", at(m, 0));
	case OP_FORMAT_SIMPLE:
	case OP_FORMAT_VALUE:
	case OP_CONVERT_VALUE:
		return arena_printf(m->a, "str(%s)", at(m, 0));
	default:
		return NULL;
	}
}

static const char *loaded_text(struct machine *m, const struct instruction *i)
{
	const char *name = argument_name(m->o, i, m->w);

	switch ((enum opcode)i->base) {
	case OP_LOAD_CONST:
		return word(words_get(&m->w->consts, i->arg));
	case OP_LOAD_SMALL_INT:
		return arena_printf(m->a, "%u", i->arg);
	case OP_LOAD_ATTR:
	case OP_LOAD_METHOD:
		return arena_printf(m->a, "%s.%s", part(m, at(m, 0)), word(name));
	case OP_LOAD_SUPER_ATTR:
		return arena_printf(m->a, "super().%s", word(name));
	case OP_PUSH_NULL:
		return "NULL";
	case OP_FOR_ITER:
		return arena_printf(m->a, "next(%s)", at(m, m->o->minor >= 15 ? 1 : 0));
	case OP_IMPORT_NAME:
		return arena_printf(m->a, "module %s", word(name));
	default:
		return name && strncmp(opcode_name((enum opcode)i->base), "LOAD_", 5) == 0 ? name
											   : NULL;
	}
}

/* What the first value given is; the instruction's name where nothing better is known. */
static const char *text_of(struct machine *m, const struct instruction *i, const struct effect *e)
{
	const char *text = NULL;

	switch ((enum opcode)i->base) {
	case OP_CALL:
	case OP_CALL_KW:
	case OP_CALL_METHOD:
	case OP_CALL_FUNCTION:
	case OP_CALL_FUNCTION_KW:
	case OP_CALL_FUNCTION_EX:
		text = call_text(m, i, e->takes);
		break;
	default:
		text = loaded_text(m, i);
		text = text ? text : e->takes == 2 ? binary_text(m, i) : NULL;
		text = text ? text : unary_text(m, i);
		text = text ? text : built_text(m, i, e->takes);
		break;
	}
	return text ? cut(m, text) : arena_printf(m->a, "<%s>", opcode_name((enum opcode)i->base));
}

/* ---- one step -------------------------------------------------------------------------------- */

static void push(struct machine *m, const char *text)
{
	if (m->n < STACK_MOST)
		m->stack[m->n++] = text;
}

static void swap(struct machine *m, size_t i, size_t k)
{
	const char *kept = m->stack[i];

	m->stack[i] = m->stack[k];
	m->stack[k] = kept;
}

/* ROT_TWO and its like: the top goes below the n - 1 before it. */
static void rotate(struct machine *m, size_t n)
{
	for (size_t i = 1; i < n && n <= m->n; i++)
		swap(m, m->n - i, m->n - i - 1);
}

/* Instructions that only move values. */
static bool move(struct machine *m, const struct instruction *i)
{
	switch ((enum opcode)i->base) {
	case OP_COPY:
		push(m, i->arg ? at(m, i->arg - 1) : "…");
		return true;
	case OP_DUP_TOP:
		push(m, at(m, 0));
		return true;
	case OP_DUP_TOP_TWO:
		push(m, at(m, 1));
		push(m, at(m, 1));
		return true;
	case OP_SWAP:
		if (i->arg && i->arg <= m->n)
			swap(m, m->n - 1, m->n - i->arg);
		return true;
	case OP_ROT_TWO:
		rotate(m, 2);
		return true;
	case OP_ROT_THREE:
		rotate(m, 3);
		return true;
	case OP_ROT_FOUR:
		rotate(m, 4);
		return true;
	default:
		return false;
	}
}

/* The further values of instructions that give several. */
static const char *further(struct machine *m, const struct instruction *i, const char *taken)
{
	switch ((enum opcode)i->base) {
	case OP_LOAD_ATTR:
	case OP_LOAD_METHOD:
	case OP_LOAD_SUPER_ATTR:
		return taken; /* self, or NULL in its place */
	case OP_LOAD_GLOBAL:
		return "NULL";
	case OP_LOAD_FAST_LOAD_FAST:
	case OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW:
		return word(words_get(&m->w->locals, i->arg & 15));
	default:
		return "…";
	}
}

static void step(struct machine *m, const struct instruction *i)
{
	const char *first, *taken = at(m, 0);
	struct effect e;

	if (move(m, i) || !opcode_effect(m->o, (enum opcode)i->base, i->arg, &e))
		return;
	first = e.gives ? text_of(m, i, &e) : NULL;
	if (i->base == OP_LOAD_FAST_LOAD_FAST || i->base == OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW)
		first = word(words_get(&m->w->locals, i->arg >> 4));
	m->n -= e.takes < m->n ? e.takes : m->n;
	if (i->base == OP_LOAD_GLOBAL && e.gives == 2 && m->o->minor < 13) {
		push(m, "NULL");
		push(m, first);
		return;
	}
	if (i->base == OP_PUSH_EXC_INFO) { /* what was handled before goes below it */
		push(m, "exc_info");
		push(m, taken);
		return;
	}
	if (i->base == OP_FOR_ITER && e.takes) /* up to 3.11 the iterator is taken and given back */
		push(m, taken);
	for (uint32_t k = i->base == OP_FOR_ITER && e.takes; k < e.gives; k++)
		push(m, k == 0 || i->base == OP_FOR_ITER ? first : further(m, i, taken));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void save(struct machine *m, const struct instruction *to)
{
	struct symbolic *s = &m->states[to - m->b->v];

	if (s->v || (int64_t)m->n != to->depth)
		return;
	s->n = m->n;
	s->v = arena_copy(m->a, m->stack, (m->n + 1) * sizeof *m->stack);
}

static void save_handlers(struct machine *m)
{
	for (size_t i = 0; i < m->b->n_handlers; i++) {
		const struct handler *h = &m->b->handlers[i];
		const struct instruction *to = bytecode_at(m->b, h->target);

		m->n = 0;
		for (uint32_t k = 0; k < h->depth; k++)
			push(m, "…");
		if (h->has_lasti)
			push(m, "lasti");
		push(m, "exception");
		if (to)
			save(m, to);
	}
}

static void save_jump(struct machine *m, const struct instruction *i, size_t before)
{
	const struct instruction *to =
		i->target >= 0 ? bytecode_at(m->b, (uint32_t)i->target) : NULL;
	size_t n = m->n;

	if (!to)
		return;
	/* It gives another number of values when it jumps. */
	if (to->depth >= 0 && to->depth <= (int32_t)before && to->depth != (int32_t)n)
		m->n = (size_t)to->depth;
	save(m, to);
	m->n = n;
}

const struct symbolic *symbolic_build(struct arena *a, const struct opcodes *o,
	const struct bytecode *b, const struct code_words *w)
{
	struct machine m = { .a = a, .o = o, .b = b, .w = w };

	m.states = arena_new_n(a, struct symbolic, b->n + 1);
	save_handlers(&m);
	m.n = 0;
	if (b->n)
		save(&m, &b->v[0]);
	for (size_t i = 0; i < b->n; i++) {
		const struct symbolic *s = &m.states[i];

		if (!s->v || s->n > STACK_MOST)
			continue;
		memcpy(m.stack, s->v, s->n * sizeof *m.stack);
		m.n = s->n;
		step(&m, &b->v[i]);
		save_jump(&m, &b->v[i], s->n);
		if (!opcode_ends_block((enum opcode)b->v[i].base) && i + 1 < b->n)
			save(&m, &b->v[i + 1]);
	}
	return m.states;
}
