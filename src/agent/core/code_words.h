/* SPDX-License-Identifier: MIT
 *
 * What the instructions of a code object name, in words, for whoever shows its bytecode later: constants as repr() has
 * them, names, locals, and up to 3.10 cell and free variables. Runs no code of the program: only constants
 * of the interpreter's own types are written out. */
#ifndef AGENT_CORE_CODE_WORDS_H
#define AGENT_CORE_CODE_WORDS_H

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* A new bytes object: the column `words` of a code record (docs/FORMAT.md). NULL, without an error set: none. */
PyObject *code_words(const PyCodeObject *code);

#pragma GCC visibility pop

#endif
