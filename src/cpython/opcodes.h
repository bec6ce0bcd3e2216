/* SPDX-License-Identifier: MIT
 *
 * The instructions of each CPython version: numbers, names, caches, what their arguments mean (opcodes.def, made
 * from the interpreters) and what they do to the value stack (effects.def). */
#ifndef CPYTHON_OPCODES_H
#define CPYTHON_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct py_layout;

/* The same number for one name in all versions. */
enum opcode {
	OP_NONE,
#define OPCODE(name, base, ...) OP_##name,
#include "cpython/opcodes.def"
#undef OPCODE
	OP_COUNT_
};

enum opcode_argument {
	ARGUMENT_NONE,
	ARGUMENT_PLAIN,
	ARGUMENT_CONST,
	ARGUMENT_NAME,
	ARGUMENT_LOCAL,
	ARGUMENT_FREE,
	ARGUMENT_COMPARE,
	ARGUMENT_ABSOLUTE, /* a jump */
	ARGUMENT_RELATIVE,
	ARGUMENT_BACKWARD,
};

struct opcodes { /* of one version, by the byte that stands in the code */
	unsigned minor;
	uint16_t id[256]; /* enum opcode; OP_NONE: no such instruction */
	/* the byte of the instruction this is a specialised form of, or its own */
	uint8_t base[256];
	uint8_t caches[256];   /* code units behind it */
	uint8_t argument[256]; /* enum opcode_argument */
};

/* false: not a version we know. */
bool opcodes_init(struct opcodes *o, unsigned major, unsigned minor);

const char *opcode_name(enum opcode id); /* "LOAD_ATTR_SLOT"; "?" for OP_NONE */
/* What it is a specialised or instrumented form of; itself when it is none. */
enum opcode opcode_base(enum opcode id);

struct effect { /* on the value stack */
	uint32_t takes, gives;
	uint32_t gives_jumping;
};
/* false: not known. id: a base. */
bool opcode_effect(const struct opcodes *o, enum opcode id, uint32_t arg, struct effect *ret);

/* Whether nothing runs behind it: it returns, raises or always jumps. id: a base. */
bool opcode_ends_block(enum opcode id);

/* The instructions that end a call, as `is[opcode]`; also those that tracing tools put in their place.
 * false: not known for this version. */
bool opcodes_returning(const struct py_layout *l, bool is[256]);

#endif
