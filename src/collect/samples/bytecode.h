/* SPDX-License-Identifier: MIT
 *
 * The instructions of one code object of a target, as they were compiled, and where its frames keep the value stack. */
#ifndef COLLECT_SAMPLES_BYTECODE_H
#define COLLECT_SAMPLES_BYTECODE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/bytecode.h"

struct mem;
struct py_layout;
struct walk_code;

struct py_bytecode {
	struct arena arena;            /* of the rest */
	const struct opcodes *opcodes; /* borrowed */
	const uint8_t *bytes;          /* without specialised forms */
	uint32_t n_bytes;
	const uint8_t *table; /* of exceptions, 3.11+ */
	uint32_t n_table_bytes;
	struct bytecode code;
	uint32_t stack_at; /* bytes from a frame's beginning to its value stack */
	struct buf words;  /* as docs/FORMAT.md has them; empty until py_bytecode_read_words */
	struct buf forms;  /* the specialised forms seen last */
};

/* NULL: it cannot be read, or a tool hides the instructions. `code`: its address. */
struct py_bytecode *py_bytecode_new(const struct py_layout *l, const struct mem *m,
	const struct opcodes *o, uint64_t code, const struct walk_code *walk);
void py_bytecode_free(struct py_bytecode *b);

/* The names and constants its instructions refer to, each cut short. */
void py_bytecode_read_words(
	struct py_bytecode *b, const struct py_layout *l, const struct mem *m, uint64_t code);
/* Reads the instructions as they stand now: whether other specialised forms were found than last time. */
bool py_bytecode_read_forms(
	struct py_bytecode *b, const struct mem *m, const struct walk_code *walk);

#endif
