/* SPDX-License-Identifier: MIT
 * Code by hand. That the decoder agrees with the interpreters themselves is for tests/e2e/test_bytecode.py to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/argument.h"
#include "cpython/bytecode.h"
#include "cpython/operands.h"
#include "cpython/symbolic.h"
#include "wire/py_layout.h"

static struct arena arena;
static struct opcodes opcodes;

static int empty_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* The number of an instruction in the version chosen last. */
static uint8_t number(enum opcode id)
{
	for (int i = 0; i < 256; i++)
		if (opcodes.id[i] == id)
			return (uint8_t)i;
	fail_msg("no %s in 3.%u", opcode_name(id), opcodes.minor);
	return 0;
}

static struct bytecode decode(const uint8_t *bytes, size_t n)
{
	struct bytecode b;

	bytecode_decode(&arena, &opcodes, bytes, n, NULL, 0, &b);
	return b;
}

/* d = a + b * c */
static void depths_are_values_before_each_instruction(void **state)
{
	const int32_t depths[] = { 0, 1, 2, 3, 2, 1 };
	uint8_t code[16] = { 0 };
	struct bytecode b;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	code[0] = code[2] = code[4] = number(OP_LOAD_FAST);
	code[3] = 1;
	code[5] = 2;
	code[6] = code[10] = number(OP_BINARY_OP); /* a cache of one unit behind each */
	code[7] = 5;
	code[14] = number(OP_STORE_FAST);
	b = decode(code, sizeof code);
	assert_int_equal(b.n, 6);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(b.v[i].depth, depths[i]);
	assert_null(bytecode_at(&b, 8));
	assert_int_equal(bytecode_at(&b, 14)->base, OP_STORE_FAST);
}

static void prefixes_belong_to_the_argument(void **state)
{
	uint8_t code[6] = { 0 };
	struct bytecode b;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 13));
	code[0] = code[2] = number(OP_EXTENDED_ARG);
	code[1] = 1;
	code[3] = 2;
	code[4] = number(OP_LOAD_FAST);
	code[5] = 3;
	b = decode(code, sizeof code);
	assert_int_equal(b.v[2].arg, 0x10203);
	assert_ptr_equal(bytecode_running(&b, 0), &b.v[2]);
	assert_ptr_equal(bytecode_running(&b, 2), &b.v[2]);
}

static void two_ways_with_different_depths_give_none(void **state)
{
	uint8_t code[10] = { 0 };
	struct bytecode b;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 10));
	code[0] = code[4] = number(OP_LOAD_FAST);
	code[2] = number(OP_POP_JUMP_IF_TRUE);
	code[3] = 3; /* code units: over the second load */
	code[6] = number(OP_NOP);
	code[8] = number(OP_RETURN_VALUE);
	b = decode(code, sizeof code);
	assert_int_equal(b.v[1].target, 6);
	assert_int_equal(b.v[2].depth, 0);
	assert_int_equal(b.v[3].depth, -1);
	assert_int_equal(b.v[4].depth, -1);
	assert_true(b.v[3].is_target);
}

static void specialised_code_becomes_what_was_compiled(void **state)
{
	uint8_t code[6];

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 11));
	memset(code, 9, sizeof code);
	code[0] = number(OP_LOAD_FAST__LOAD_FAST);
	code[2] = number(OP_BINARY_OP_ADD_INT);
	assert_true(bytecode_despecialise(&opcodes, code, sizeof code));
	assert_int_equal(code[0], number(OP_LOAD_FAST));
	assert_int_equal(code[1], 9);
	assert_int_equal(code[2], number(OP_BINARY_OP));
	assert_int_equal(code[4], 0);
	assert_int_equal(code[5], 0);
}

static void code_that_a_tool_hides_stays_unknown(void **state)
{
	uint8_t code[2];

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	code[0] = number(OP_INSTRUMENTED_LINE);
	assert_false(bytecode_despecialise(&opcodes, code, sizeof code));
}

static void names_say_what_a_call_will_find(void **state)
{
	static const char *const names[] = { "print" };
	const struct code_words words = { .names = { names, 1 } };
	struct instruction i = { .base = OP_LOAD_GLOBAL, .argument = ARGUMENT_NAME, .arg = 1 };
	struct buf text = BUF_INIT;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	argument_format(&opcodes, &i, &words, &text);
	assert_string_equal(buf_str(&text), "NULL + print");
	buf_clear(&text);
	assert_true(opcodes_init(&opcodes, 3, 13));
	argument_format(&opcodes, &i, &words, &text);
	assert_string_equal(buf_str(&text), "print + NULL");
	buf_clear(&text);
	i.arg = 9; /* of a name that is not known */
	argument_format(&opcodes, &i, &words, &text);
	assert_string_equal(buf_str(&text), "");
	buf_done(&text);
}

/* a + b * c in 3.12: the names are those of the locals. */
static struct bytecode expression(uint8_t code[16])
{
	memset(code, 0, 16);
	code[0] = code[2] = code[4] = number(OP_LOAD_FAST);
	code[3] = 1;
	code[5] = 2;
	code[6] = code[10] = number(OP_BINARY_OP);
	code[7] = 5;
	code[14] = number(OP_RETURN_VALUE);
	return decode(code, 16);
}

static void the_stack_is_shown_as_expressions(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	const struct code_words words = { .locals = { names, 3 } };
	const struct symbolic *stacks;
	struct bytecode b;
	uint8_t code[16];

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	b = expression(code);
	stacks = symbolic_build(&arena, &opcodes, &b, &words);
	assert_int_equal(stacks[0].n, 0);
	assert_int_equal(stacks[3].n, 3);
	assert_string_equal(stacks[3].v[2], "c");
	assert_int_equal(stacks[4].n, 2);
	assert_string_equal(stacks[4].v[1], "b * c");
	assert_string_equal(stacks[5].v[0], "a + (b * c)");
}

static void the_first_operand_comes_from_where_the_code_says(void **state)
{
	struct operand found[OPERANDS_MOST];
	enum slot_state slots[] = { SLOT_OBJECT, SLOT_OBJECT };
	struct operands x;
	struct bytecode b;
	uint8_t code[16];
	uint32_t local = 9;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	b = expression(code);
	assert_true(operands_find(&opcodes, &b.v[3], &x));
	assert_int_equal(x.kind, OPERANDS_ARITHMETIC);
	assert_int_equal(x.first, 1);
	assert_int_equal(operands_origin(&opcodes, &b, &b.v[3], &x, &local), ORIGIN_LOCAL);
	assert_int_equal(local, 1);
	assert_int_equal(operands_name(&opcodes, &b.v[3], &x, slots, found), 2);
	assert_int_equal(found[0].number, 1);
	assert_true(operands_find(&opcodes, &b.v[4], &x));
	assert_int_equal(operands_origin(&opcodes, &b, &b.v[4], &x, &local), ORIGIN_LOCAL);
	assert_int_equal(local, 0);
	assert_false(operands_find(&opcodes, &b.v[0], &x));
}

static void a_call_finds_its_callee_beside_a_null(void **state)
{
	struct instruction call = { .base = OP_CALL, .id = OP_CALL, .arg = 1, .depth = 3 };
	struct operand found[OPERANDS_MOST];
	const enum slot_state before[] = { SLOT_NULL, SLOT_OBJECT, SLOT_OBJECT },
			      behind[] = { SLOT_OBJECT, SLOT_NULL, SLOT_OBJECT },
			      method[] = { SLOT_OBJECT, SLOT_OBJECT, SLOT_OBJECT },
			      moving[] = { SLOT_UNKNOWN, SLOT_OBJECT, SLOT_OBJECT };
	struct operands x;

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	assert_true(operands_find(&opcodes, &call, &x));
	assert_int_equal(operands_name(&opcodes, &call, &x, before, found), 2);
	assert_int_equal(found[0].slot, 1);
	assert_int_equal(operands_name(&opcodes, &call, &x, method, found), 3);
	assert_int_equal(found[0].slot, 0);
	assert_int_equal(operands_name(&opcodes, &call, &x, moving, found), 0);
	assert_true(opcodes_init(&opcodes, 3, 13));
	assert_int_equal(operands_name(&opcodes, &call, &x, behind, found), 2);
	assert_int_equal(found[0].slot, 0);
	assert_int_equal(found[1].slot, 2);
}

static void returning_instructions_are_known_from_3_11_on(void **state)
{
	struct py_layout l = { .major = 3, .minor = 12 };
	bool is[256];

	(void)state;
	assert_true(opcodes_init(&opcodes, 3, 12));
	assert_true(opcodes_returning(&l, is));
	assert_true(is[number(OP_RETURN_VALUE)] && is[number(OP_INSTRUMENTED_RETURN_CONST)]);
	assert_false(is[number(OP_RETURN_GENERATOR)] || is[number(OP_LOAD_FAST)]);
	l.minor = 10;
	l.flags = PY_HEAP_FRAMES;
	assert_false(opcodes_returning(&l, is));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(depths_are_values_before_each_instruction, empty_arena),
		cmocka_unit_test_teardown(prefixes_belong_to_the_argument, empty_arena),
		cmocka_unit_test_teardown(two_ways_with_different_depths_give_none, empty_arena),
		cmocka_unit_test_teardown(the_stack_is_shown_as_expressions, empty_arena),
		cmocka_unit_test_teardown(
			the_first_operand_comes_from_where_the_code_says, empty_arena),
		cmocka_unit_test(a_call_finds_its_callee_beside_a_null),
		cmocka_unit_test(specialised_code_becomes_what_was_compiled),
		cmocka_unit_test(code_that_a_tool_hides_stays_unknown),
		cmocka_unit_test(names_say_what_a_call_will_find),
		cmocka_unit_test(returning_instructions_are_known_from_3_11_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
