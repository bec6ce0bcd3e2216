/* SPDX-License-Identifier: MIT
 * See opcodes.h. tests/e2e/test_bytecode.py asks the interpreters. */
#include "cpython/opcodes.h"

#include <string.h>

#include "cpython/layout.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum { VERSIONS = LAYOUT_LAST_MINOR - LAYOUT_FIRST_MINOR + 1 };

struct cell {
	bool is_there;
	uint8_t number, caches, argument;
};

#define N(number_, caches_, argument_)                                  \
	{                                                               \
		.is_there = true, .number = number_, .caches = caches_, \
		.argument = ARGUMENT_##argument_                        \
	}
#define _                         \
	{                         \
		.is_there = false \
	}
static const struct row {
	const char *name;
	uint16_t base;
	struct cell in[VERSIONS];
} rows[OP_COUNT_] = {
	[OP_NONE] = { .name = "?", .base = OP_NONE },
#define OPCODE(name_, base_, ...) \
	[OP_##name_] = { .name = #name_, .base = OP_##base_, .in = { __VA_ARGS__ } },
#include "cpython/opcodes.def"
#undef OPCODE
};
#undef N
#undef _

bool opcodes_init(struct opcodes *o, unsigned major, unsigned minor)
{
	memset(o, 0, sizeof *o);
	if (major != 3 || minor < LAYOUT_FIRST_MINOR || minor > LAYOUT_LAST_MINOR)
		return false;
	o->minor = minor;
	for (unsigned id = 1; id < OP_COUNT_; id++) {
		const struct cell *c = &rows[id].in[minor - LAYOUT_FIRST_MINOR];
		const struct cell *base = &rows[rows[id].base].in[minor - LAYOUT_FIRST_MINOR];

		if (!c->is_there)
			continue;
		o->id[c->number] = (uint16_t)id;
		o->base[c->number] = base->is_there ? base->number : c->number;
		o->caches[c->number] = c->caches;
		o->argument[c->number] = c->argument;
	}
	return true;
}

const char *opcode_name(enum opcode id)
{
	return rows[id < OP_COUNT_ ? id : OP_NONE].name;
}

enum opcode opcode_base(enum opcode id)
{
	return (enum opcode)rows[id < OP_COUNT_ ? id : OP_NONE].base;
}

static bool is_between(const struct opcodes *o, int from, int until)
{
	return (int)o->minor >= from && (!until || (int)o->minor < until);
}

#define BITS(x) (uint32_t) __builtin_popcount((x)&15)
#define EFFECT(name, from, until, takes_, gives_) \
	EFFECT_JUMP(name, from, until, takes_, gives_, gives_)
#define EFFECT_JUMP(name, from, until, takes_, gives_, jumping_) \
	if (id == OP_##name && is_between(o, from, until))       \
		return *ret = (struct effect){ takes_, gives_, jumping_ }, true;

bool opcode_effect(const struct opcodes *o, enum opcode id, uint32_t arg, struct effect *ret)
{
#include "cpython/effects.def"
	return false;
}

bool opcode_ends_block(enum opcode id)
{
	static const uint16_t ending[] = { OP_RETURN_VALUE, OP_RETURN_CONST, OP_RAISE_VARARGS,
		OP_RERAISE, OP_JUMP_ABSOLUTE, OP_JUMP_FORWARD, OP_JUMP_BACKWARD,
		OP_JUMP_BACKWARD_NO_INTERRUPT, OP_INTERPRETER_EXIT };

	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		if (ending[i] == id)
			return true;
	return false;
}

bool opcodes_returning(const struct py_layout *l, bool is[256])
{
	struct opcodes o;

	memset(is, 0, 256 * sizeof *is);
	if (l->flags & PY_HEAP_FRAMES || !opcodes_init(&o, l->major, l->minor))
		return false;
	for (int i = 0; i < 256; i++) {
		enum opcode base = opcode_base(o.id[i]);

		is[i] = base == OP_RETURN_VALUE || base == OP_RETURN_CONST;
	}
	return true;
}
