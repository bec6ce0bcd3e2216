/* SPDX-License-Identifier: MIT
 *
 * The value stack in words: what lies on it before each instruction, as expressions of the source. Where ways through
 * the code meet, the way that comes first in the code is shown. */
#ifndef CPYTHON_SYMBOLIC_H
#define CPYTHON_SYMBOLIC_H

#include <stddef.h>

struct arena;
struct bytecode;
struct code_words;
struct opcodes;

struct symbolic {
	const char *const *v; /* from the bottom on; NULL: not known */
	size_t n;
};

/* One per instruction of b, in the arena. */
const struct symbolic *symbolic_build(struct arena *a, const struct opcodes *o,
	const struct bytecode *b, const struct code_words *w);

#endif
