/* SPDX-License-Identifier: MIT
 *
 * The few instructions whose meaning matters outside the interpreter, by version. */
#ifndef CPYTHON_OPCODES_H
#define CPYTHON_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

struct py_layout;

/* The instructions that end a call, as `is[opcode]`; also those that tracing tools put in their place.
 * false: not known for this version. */
bool opcodes_returning(const struct py_layout *l, bool is[256]);

#endif
