/* SPDX-License-Identifier: MIT
 * See operands.h. */
#include "cpython/operands.h"

#include "cpython/argument.h"
#include "cpython/bytecode.h"
#include "cpython/opcodes.h"
#include "base/banned.h"

/* Slots of a call, and whether a NULL or self lies beside the callee: before it (-1), behind it (1), nowhere (0). */
struct call {
	uint32_t n;
	int beside;
};

static bool call_of(const struct opcodes *o, const struct instruction *i, struct call *ret)
{
	uint32_t n = i->arg < OPERANDS_SLOTS ? i->arg : OPERANDS_SLOTS;
	int beside = o->minor >= 13 ? 1 : -1;

	switch ((enum opcode)i->base) {
	case OP_CALL_FUNCTION:
		*ret = (struct call){ n + 1, 0 };
		return true;
	case OP_CALL_FUNCTION_KW:
		*ret = (struct call){ n + 2, 0 };
		return true;
	case OP_CALL_METHOD:
		*ret = (struct call){ n + 2, -1 };
		return true;
	case OP_PRECALL:
	case OP_CALL:
		*ret = (struct call){ n + 2, beside };
		return true;
	case OP_CALL_KW:
		*ret = (struct call){ n + 3, beside };
		return true;
	case OP_CALL_FUNCTION_EX:
		*ret = (struct call){ o->minor >= 14 ? 4 : (o->minor >= 11 ? 3 : 2) + (i->arg & 1),
			o->minor >= 11 ? beside : 0 };
		return true;
	default:
		return false;
	}
}

/* All slots of it, also those that are not looked at. */
static uint32_t slots_taken(const struct opcodes *o, const struct instruction *i)
{
	struct effect e;

	if (i->base == OP_PRECALL)
		return i->arg + 2;
	return opcode_effect(o, (enum opcode)i->base, i->arg, &e) ? e.takes : 0;
}

static bool is_subscript(const struct opcodes *o, const struct instruction *i)
{
	const char *symbol = i->base == OP_BINARY_OP ? argument_operator(o, i) : NULL;

	return i->base == OP_BINARY_SUBSCR || i->base == OP_STORE_SUBSCR ||
		i->base == OP_DELETE_SUBSCR || i->base == OP_BINARY_SLICE ||
		(symbol && *symbol == '[');
}

static bool kind_of(const struct opcodes *o, const struct instruction *i, struct call *call,
	enum operand_kind *ret)
{
	const char *comparison = argument_comparison(o, i);
	bool is_containment = comparison && (comparison[0] == 'i' || comparison[0] == 'n') &&
		i->base != OP_IS_OP && comparison[1] != 's'; /* "in", "not in" */

	if (call_of(o, i, call))
		*ret = OPERANDS_CALL;
	else if (is_containment)
		*ret = OPERANDS_CONTAINS;
	else if (is_subscript(o, i))
		*ret = OPERANDS_SUBSCRIPT;
	else if (argument_operator(o, i) ||
		(comparison && i->base == OP_COMPARE_OP && *comparison != 'e'))
		*ret = OPERANDS_ARITHMETIC;
	else
		return false;
	return true;
}

bool operands_find(const struct opcodes *o, const struct instruction *i, struct operands *ret)
{
	struct call call = { 0 };
	uint32_t taken = slots_taken(o, i);

	if (!taken || i->depth < 0 || taken > (uint32_t)i->depth ||
		!kind_of(o, i, &call, &ret->kind))
		return false;
	ret->first = (uint32_t)i->depth - taken;
	ret->n = taken < OPERANDS_SLOTS ? taken : OPERANDS_SLOTS;
	return true;
}

static size_t name_call(const struct opcodes *o, const struct instruction *i,
	const struct operands *x, const enum slot_state *slots, struct operand *ret)
{
	bool has_names = i->base == OP_CALL_KW || i->base == OP_CALL_FUNCTION_KW;
	uint32_t callee = 0, next = 1, end = x->n, beside;
	struct call call;
	size_t n = 0;

	if (!call_of(o, i, &call))
		return 0;
	if (has_names && call.n == x->n)
		end--; /* the keywords' names lie on top */
	beside = call.beside > 0 ? 1 : 0;
	if (call.beside && (beside >= x->n || slots[beside] == SLOT_UNKNOWN))
		return 0;
	if (call.beside < 0 && slots[0] == SLOT_NULL)
		callee = 1;
	if (call.beside && slots[beside] == SLOT_NULL)
		next = 2;
	if (slots[callee] == SLOT_NULL)
		return 0;
	ret[n++] = (struct operand){ 0, callee };
	for (; next < end && n < OPERANDS_MOST; next++)
		if (slots[next] != SLOT_NULL) {
			ret[n] = (struct operand){ (uint8_t)n, next };
			n++;
		}
	return n;
}

size_t operands_name(const struct opcodes *o, const struct instruction *i, const struct operands *x,
	const enum slot_state *slots, struct operand ret[OPERANDS_MOST])
{
	size_t n = 0;

	if (x->kind == OPERANDS_CALL)
		return name_call(o, i, x, slots, ret);
	for (uint32_t k = 0; k < x->n; k++)
		if (slots[k] == SLOT_NULL)
			return 0;
	if (x->kind == OPERANDS_CONTAINS) {
		ret[n++] = (struct operand){ 0, 1 };
		ret[n++] = (struct operand){ 1, 0 };
	} else if (x->kind == OPERANDS_ARITHMETIC) {
		ret[n++] = (struct operand){ 1, 0 };
		ret[n++] = (struct operand){ 2, 1 };
	} else if (i->base == OP_STORE_SUBSCR) { /* value, container, key */
		ret[n++] = (struct operand){ 0, 1 };
		ret[n++] = (struct operand){ 1, 2 };
		ret[n++] = (struct operand){ 2, 0 };
	} else {
		for (; n < x->n && n < OPERANDS_MOST; n++)
			ret[n] = (struct operand){ (uint8_t)n, (uint32_t)n };
	}
	return n;
}

/* ---- where the first comes from --------------------------------------------------------------- */

/* The instruction before that wrote the slot, on a way without jumps; NULL: not known. */
static const struct instruction *writer_of(const struct opcodes *o, const struct bytecode *b,
	const struct instruction *i, uint32_t slot, uint32_t *ret_nth)
{
	struct effect e;

	while (i > b->v && !i->is_target) {
		i--;
		if (i->depth < 0 || opcode_ends_block((enum opcode)i->base) ||
			!opcode_effect(o, (enum opcode)i->base, i->arg, &e) ||
			e.takes > (uint32_t)i->depth)
			return NULL;
		if ((uint32_t)i->depth - e.takes <= slot) {
			*ret_nth = slot - ((uint32_t)i->depth - e.takes);
			return *ret_nth < e.gives ? i : NULL;
		}
	}
	return NULL;
}

enum operand_origin operands_origin(const struct opcodes *o, const struct bytecode *b,
	const struct instruction *i, const struct operands *x, uint32_t *ret_local)
{
	uint32_t nth;
	const struct instruction *from = writer_of(o, b, i, x->first, &nth);

	if (!from)
		return ORIGIN_UNKNOWN;
	switch ((enum opcode)from->base) {
	case OP_LOAD_FAST:
	case OP_LOAD_FAST_CHECK:
	case OP_LOAD_FAST_BORROW:
		*ret_local = from->arg;
		return ORIGIN_LOCAL;
	case OP_LOAD_FAST_LOAD_FAST:
	case OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW:
		*ret_local = nth ? from->arg & 15 : from->arg >> 4;
		return ORIGIN_LOCAL;
	case OP_STORE_FAST_LOAD_FAST:
		*ret_local = from->arg & 15;
		return ORIGIN_LOCAL;
	case OP_PUSH_NULL:
		return ORIGIN_NULL;
	case OP_LOAD_GLOBAL: /* before 3.13 the NULL comes first */
		return o->minor >= 11 && o->minor < 13 && from->arg & 1 && nth == 0
			? ORIGIN_NULL
			: ORIGIN_UNKNOWN;
	default:
		return ORIGIN_UNKNOWN;
	}
}
