/* SPDX-License-Identifier: MIT
 *
 * Where the operands of an instruction lie on the value stack, for those whose operands tell something: calls,
 * containment tests, arithmetic, comparisons, subscripts.
 *
 * While such an instruction runs in C its operands stay in their slots in all versions: a value that was popped is not
 * overwritten before the result comes. Where the slots are follows from the depth before the instruction
 * (bytecode.h), because up to 3.13 the running frame's stack pointer is in a register and nowhere else. */
#ifndef CPYTHON_OPERANDS_H
#define CPYTHON_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytecode;
struct instruction;
struct opcodes;

enum { OPERANDS_SLOTS = 8, OPERANDS_MOST = 4 };

enum operand_kind { OPERANDS_CALL, OPERANDS_CONTAINS, OPERANDS_ARITHMETIC, OPERANDS_SUBSCRIPT };

struct operands {
	enum operand_kind kind;
	uint32_t first, n; /* slots, from the bottom of the value stack */
};

/* false: not such an instruction, or its depth is not known. Of many arguments the first are taken. */
bool operands_find(const struct opcodes *o, const struct instruction *i, struct operands *ret);

struct operand {
	uint8_t number; /* 0: callee or container, 1 … the others, in the order of the source */
	uint32_t slot;  /* of those of struct operands, from 0 on */
};

enum slot_state { SLOT_OBJECT, SLOT_NULL, SLOT_UNKNOWN };

/* Which slot holds which operand, by what is in them. Returns how many, at most OPERANDS_MOST; 0 where that cannot be
 * told. */
size_t operands_name(const struct opcodes *o, const struct instruction *i, const struct operands *x,
	const enum slot_state *slots, struct operand ret[OPERANDS_MOST]);

/* The result overwrites the first slot a moment before the next instruction begins. What the code before says must
 * be in there until then: */
enum operand_origin { ORIGIN_UNKNOWN, ORIGIN_NULL, ORIGIN_LOCAL };

/* *ret_local: the number of the local variable. */
enum operand_origin operands_origin(const struct opcodes *o, const struct bytecode *b,
	const struct instruction *i, const struct operands *x, uint32_t *ret_local);

#endif
