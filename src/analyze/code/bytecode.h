/* SPDX-License-Identifier: MIT
 *
 * Instructions: the bytecode of a function as a recording holds it, which it does of code that many samples ended
 * in. */
#ifndef ANALYZE_CODE_BYTECODE_H
#define ANALYZE_CODE_BYTECODE_H

#include <stdint.h>

#include "cpython/argument.h"
#include "cpython/bytecode.h"

struct arena;
struct tables;

struct instructions {
	struct opcodes opcodes;
	struct bytecode code;
	struct code_words words;
	const uint8_t *bytes;
};

/* Of a row of the code table; in the arena. NULL: the recording does not hold them. */
const struct instructions *instructions_read(
	struct arena *a, const struct tables *t, uint32_t code);

#endif
