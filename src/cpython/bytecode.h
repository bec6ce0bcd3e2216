/* SPDX-License-Identifier: MIT
 *
 * The bytecode of a function as instructions: arguments with their prefixes, jump targets, exception handlers, and
 * how many values lie on the stack before each instruction.
 *
 *	struct opcodes o;
 *	struct bytecode b;
 *
 *	opcodes_init(&o, 3, 13);
 *	bytecode_decode(&arena, &o, bytes, n_bytes, table, n_table_bytes, &b);
 *	const struct instruction *at = bytecode_at(&b, offset);      (NULL: no instruction begins there)
 *
 * Any bytes will do. The depth follows all ways through the code; it is −1 where none leads, where two do not agree,
 * and where the interpreter itself puts a number of values there that differs from run to run (finally blocks of
 * 3.8). */
#ifndef CPYTHON_BYTECODE_H
#define CPYTHON_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/opcodes.h"

struct arena;

enum { BYTECODE_MAX_BYTES = 1 << 20 }; /* longer code is not decoded */

struct instruction {
	uint32_t offset;  /* bytes */
	uint32_t arg;     /* with EXTENDED_ARG's parts */
	int32_t target;   /* offset it may jump to, −1 none */
	int32_t depth;    /* values on the stack before it, −1 not known */
	uint16_t id;      /* enum opcode, as it stands there */
	uint16_t base;    /* enum opcode */
	uint8_t argument; /* enum opcode_argument */
	bool is_target;   /* something jumps here */
};

struct handler {                     /* a row of the exception table, 3.11+ */
	uint32_t start, end, target; /* offsets in bytes; end is the one behind */
	uint32_t depth;
	bool has_lasti;
};

struct bytecode {
	const struct instruction *v; /* in the arena, as are all */
	size_t n;
	const struct handler *handlers;
	size_t n_handlers;
	const uint32_t *index; /* by code unit: 1 + its instruction, 0 none begins there */
	size_t n_units;
};

void bytecode_decode(struct arena *a, const struct opcodes *o, const uint8_t *bytes, size_t n_bytes,
	const uint8_t *table, size_t n_table_bytes, struct bytecode *ret);

const struct instruction *bytecode_at(const struct bytecode *b, uint32_t offset);
/* The instruction that runs when the interpreter stands at the offset: behind EXTENDED_ARG's if these stand there. */
const struct instruction *bytecode_running(const struct bytecode *b, uint32_t offset);

/* Puts the plain instructions in place of specialised ones and empties the caches, as co_code has it. false: what
 * stood there cannot be known (a tool's line or instruction events, compiled code). */
bool bytecode_despecialise(const struct opcodes *o, uint8_t *bytes, size_t n_bytes);

#endif
