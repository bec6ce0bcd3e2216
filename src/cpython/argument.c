/* SPDX-License-Identifier: MIT
 * See argument.h. The lists are those of the opcode module, which only ever grew at their ends;
 * tests/e2e/test_bytecode.py asks the interpreters. */
#include "cpython/argument.h"

#include <string.h>

#include "base/buf.h"
#include "cpython/bytecode.h"
#include "cpython/opcodes.h"
#include "base/banned.h"

#define PICK(list, i) ((size_t)(i) < sizeof(list) / sizeof *(list) ? (list)[i] : NULL)

static const char *const operators[] = { "+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-",
	"/", "^",
	"+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^=", "[]" };
static const char *const comparisons[] = { "<", "<=", "==", "!=", ">", ">=", "in", "not in", "is",
	"is not", "exception match", "BAD" };
static const char *const intrinsics_1[] = { "INTRINSIC_1_INVALID", "INTRINSIC_PRINT",
	"INTRINSIC_IMPORT_STAR", "INTRINSIC_STOPITERATION_ERROR", "INTRINSIC_ASYNC_GEN_WRAP",
	"INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE", "INTRINSIC_TYPEVAR",
	"INTRINSIC_PARAMSPEC", "INTRINSIC_TYPEVARTUPLE", "INTRINSIC_SUBSCRIPT_GENERIC",
	"INTRINSIC_TYPEALIAS" };
static const char *const intrinsics_2[] = { "INTRINSIC_2_INVALID", "INTRINSIC_PREP_RERAISE_STAR",
	"INTRINSIC_TYPEVAR_WITH_BOUND", "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
	"INTRINSIC_SET_FUNCTION_TYPE_PARAMS", "INTRINSIC_SET_TYPEPARAM_DEFAULT" };
static const char *const special_methods[] = { "__enter__", "__exit__", "__aenter__", "__aexit__" };
static const char *const common_constants[] = { "AssertionError", "NotImplementedError", "tuple",
	"<built-in function all>", "<built-in function any>", "list", "set", "None", "''", "True",
	"False", "-1" };
static const char *const function_parts[] = { "defaults", "kwdefaults", "annotations", "closure",
	"annotate" };
static const char *const conversions[] = { "", "str", "repr", "ascii" };

static const struct {
	uint16_t id; /* up to 3.10; the INPLACE_ one stands behind it */
	uint16_t inplace;
	const char *symbol, *inplace_symbol;
} named_operators[] = {
	{ OP_BINARY_ADD, OP_INPLACE_ADD, "+", "+=" },
	{ OP_BINARY_AND, OP_INPLACE_AND, "&", "&=" },
	{ OP_BINARY_FLOOR_DIVIDE, OP_INPLACE_FLOOR_DIVIDE, "//", "//=" },
	{ OP_BINARY_LSHIFT, OP_INPLACE_LSHIFT, "<<", "<<=" },
	{ OP_BINARY_MATRIX_MULTIPLY, OP_INPLACE_MATRIX_MULTIPLY, "@", "@=" },
	{ OP_BINARY_MULTIPLY, OP_INPLACE_MULTIPLY, "*", "*=" },
	{ OP_BINARY_MODULO, OP_INPLACE_MODULO, "%", "%=" },
	{ OP_BINARY_OR, OP_INPLACE_OR, "|", "|=" },
	{ OP_BINARY_POWER, OP_INPLACE_POWER, "**", "**=" },
	{ OP_BINARY_RSHIFT, OP_INPLACE_RSHIFT, ">>", ">>=" },
	{ OP_BINARY_SUBTRACT, OP_INPLACE_SUBTRACT, "-", "-=" },
	{ OP_BINARY_TRUE_DIVIDE, OP_INPLACE_TRUE_DIVIDE, "/", "/=" },
	{ OP_BINARY_XOR, OP_INPLACE_XOR, "^", "^=" },
};

const char *words_get(const struct words *w, size_t n)
{
	return n < w->n ? w->v[n] : NULL;
}

const char *argument_operator(const struct opcodes *o, const struct instruction *i)
{
	(void)o;
	if (i->base == OP_BINARY_OP)
		return PICK(operators, i->arg);
	for (size_t k = 0; k < sizeof named_operators / sizeof *named_operators; k++) {
		if (named_operators[k].id == i->base)
			return named_operators[k].symbol;
		if (named_operators[k].inplace == i->base)
			return named_operators[k].inplace_symbol;
	}
	return NULL;
}

const char *argument_comparison(const struct opcodes *o, const struct instruction *i)
{
	if (i->base == OP_IS_OP)
		return i->arg ? "is not" : "is";
	if (i->base == OP_CONTAINS_OP)
		return i->arg ? "not in" : "in";
	if (i->argument != ARGUMENT_COMPARE)
		return NULL;
	return PICK(comparisons, i->arg >> (o->minor >= 13 ? 5 : o->minor == 12 ? 4 : 0));
}

/* Which of co_names: the lowest bits of some arguments say other things. */
static uint32_t name_index(const struct opcodes *o, const struct instruction *i)
{
	if (i->base == OP_LOAD_GLOBAL && o->minor >= 11)
		return i->arg / 2;
	if (i->base == OP_LOAD_ATTR && o->minor >= 12)
		return i->arg / 2;
	if (i->base == OP_LOAD_SUPER_ATTR || (i->base == OP_IMPORT_NAME && o->minor >= 15))
		return i->arg / 4;
	return i->arg;
}

const char *argument_name(
	const struct opcodes *o, const struct instruction *i, const struct code_words *w)
{
	switch ((enum opcode_argument)i->argument) {
	case ARGUMENT_NAME:
		return words_get(&w->names, name_index(o, i));
	case ARGUMENT_LOCAL:
		return words_get(&w->locals, i->arg);
	case ARGUMENT_FREE:
		return words_get(o->minor >= 11 ? &w->locals : &w->frees, i->arg);
	case ARGUMENT_NONE:
	case ARGUMENT_PLAIN:
	case ARGUMENT_CONST:
	case ARGUMENT_COMPARE:
	case ARGUMENT_ABSOLUTE:
	case ARGUMENT_RELATIVE:
	case ARGUMENT_BACKWARD:
		return NULL;
	}
	return NULL;
}

/* What the call will find beside a name: "NULL + print" before 3.13, "print + NULL" since. */
static void add_name(const struct opcodes *o, const struct instruction *i,
	const struct code_words *w, struct buf *out)
{
	const char *name = argument_name(o, i, w), *beside = NULL;

	if (!name)
		return;
	if (i->base == OP_LOAD_GLOBAL && o->minor >= 11 && i->arg & 1)
		beside = "NULL";
	else if ((i->base == OP_LOAD_SUPER_ATTR || (i->base == OP_LOAD_ATTR && o->minor >= 12)) &&
		i->arg & 1)
		beside = "NULL|self";
	else if (i->base == OP_IMPORT_NAME && o->minor >= 15 && i->arg & 3)
		beside = i->arg & 1 ? "lazy" : "eager";
	if (beside && o->minor < 13)
		buf_printf(out, "%s + %s", beside, name);
	else if (beside)
		buf_printf(out, "%s + %s", name, beside);
	else
		buf_adds(out, name);
}

static void add_two_names(const struct instruction *i, const struct code_words *w, struct buf *out)
{
	const char *first = words_get(&w->locals, i->arg >> 4),
		   *second = words_get(&w->locals, i->arg & 15);

	buf_printf(out, "%s, %s", first ? first : "?", second ? second : "?");
}

static void add_parts(uint32_t flags, struct buf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < sizeof function_parts / sizeof *function_parts; i++)
		if (flags >> i & 1) {
			buf_printf(out, "%s%s", comma, function_parts[i]);
			comma = ", ";
		}
}

static void add_format(uint32_t arg, struct buf *out)
{
	buf_adds(out, conversions[arg & 3]);
	if (arg & 4)
		buf_printf(out, "%swith format", arg & 3 ? ", " : "");
}

static void add_word(const char *word, struct buf *out)
{
	if (word)
		buf_adds(out, word);
}

static void add_plain(const struct opcodes *o, const struct instruction *i, struct buf *out)
{
	switch ((enum opcode)i->base) {
	case OP_BINARY_OP:
		add_word(argument_operator(o, i), out);
		break;
	case OP_IS_OP:
	case OP_CONTAINS_OP:
		if (o->minor >= 14)
			add_word(argument_comparison(o, i), out);
		break;
	case OP_FORMAT_VALUE:
		add_format(i->arg, out);
		break;
	case OP_CONVERT_VALUE:
		add_word(PICK(conversions, i->arg), out);
		break;
	case OP_MAKE_FUNCTION:
	case OP_SET_FUNCTION_ATTRIBUTE:
		add_parts(i->arg, out);
		break;
	case OP_CALL_INTRINSIC_1:
		add_word(PICK(intrinsics_1, i->arg), out);
		break;
	case OP_CALL_INTRINSIC_2:
		add_word(PICK(intrinsics_2, i->arg), out);
		break;
	case OP_LOAD_SPECIAL:
		add_word(PICK(special_methods, i->arg), out);
		break;
	case OP_LOAD_COMMON_CONSTANT:
		add_word(PICK(common_constants, i->arg), out);
		break;
	default: /* most say nothing */
		break;
	}
}

static bool has_two_names(const struct instruction *i)
{
	return i->base == OP_LOAD_FAST_LOAD_FAST ||
		i->base == OP_LOAD_FAST_BORROW_LOAD_FAST_BORROW ||
		i->base == OP_STORE_FAST_LOAD_FAST || i->base == OP_STORE_FAST_STORE_FAST;
}

void argument_format(const struct opcodes *o, const struct instruction *i,
	const struct code_words *w, struct buf *out)
{
	const char *comparison;

	switch ((enum opcode_argument)i->argument) {
	case ARGUMENT_NONE:
		break;
	case ARGUMENT_PLAIN:
		add_plain(o, i, out);
		break;
	case ARGUMENT_CONST:
		add_word(words_get(&w->consts, i->arg), out);
		break;
	case ARGUMENT_LOCAL:
		if (has_two_names(i))
			add_two_names(i, w, out);
		else
			add_name(o, i, w, out);
		break;
	case ARGUMENT_NAME:
	case ARGUMENT_FREE:
		add_name(o, i, w, out);
		break;
	case ARGUMENT_COMPARE:
		comparison = argument_comparison(o, i);
		if (comparison && o->minor >= 13 && i->arg & 16)
			buf_printf(out, "bool(%s)", comparison);
		else
			add_word(comparison, out);
		break;
	case ARGUMENT_ABSOLUTE:
	case ARGUMENT_RELATIVE:
	case ARGUMENT_BACKWARD:
		if (i->target >= 0)
			buf_printf(out, "to %d", (int)i->target);
		break;
	}
}
