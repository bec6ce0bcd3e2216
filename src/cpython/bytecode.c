/* SPDX-License-Identifier: MIT
 * See bytecode.h. */
#include "cpython/bytecode.h"

#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

enum { UNKNOWN = -1, UNSEEN = -2, FINALLY_VALUES = 6 };

/* ---- instructions ---------------------------------------------------------------------------- */

static int32_t target_of(const struct opcodes *o, const struct instruction *i, uint8_t caches)
{
	int64_t after = (int64_t)i->offset + 2 + (o->minor >= 12 ? 2 * caches : 0), to = -1;
	int64_t scaled = (int64_t)i->arg * (o->minor >= 10 ? 2 : 1);

	if (i->base == OP_END_ASYNC_FOR)
		return UNKNOWN; /* names where its loop begins, and does not jump */
	if (i->argument == ARGUMENT_ABSOLUTE)
		to = scaled;
	else if (i->argument == ARGUMENT_RELATIVE)
		to = after + scaled;
	else if (i->argument == ARGUMENT_BACKWARD)
		to = after - scaled;
	return to >= 0 && to < BYTECODE_MAX_BYTES ? (int32_t)to : UNKNOWN;
}

static size_t decode_instructions(const struct opcodes *o, const uint8_t *bytes, size_t n_units,
	struct instruction *to, uint32_t *index)
{
	uint32_t prefix = 0;
	size_t n = 0;

	for (size_t unit = 0; unit < n_units;) {
		uint8_t byte = bytes[2 * unit];
		struct instruction *i = &to[n];

		*i = (struct instruction){ .offset = 2 * (uint32_t)unit,
			.arg = prefix << 8 | bytes[2 * unit + 1],
			.id = o->id[byte],
			.base = (uint16_t)opcode_base((enum opcode)o->id[byte]),
			.argument = o->argument[byte],
			.depth = UNSEEN };
		prefix = i->base == OP_EXTENDED_ARG ? i->arg : 0;
		i->target = target_of(o, i, o->caches[byte]);
		index[unit] = (uint32_t)++n;
		unit += 1 + (size_t)o->caches[byte];
	}
	return n;
}

/* ---- the exception table ---------------------------------------------------------------------- */

struct bits {
	const uint8_t *p, *end;
};

/* A number: 6 bits a byte, highest first, bit 6 = more. */
static bool next_number(struct bits *b, uint32_t *ret)
{
	uint32_t value = 0;

	for (int i = 0; i < 5 && b->p < b->end; i++) {
		uint8_t byte = *b->p++;

		value = value << 6 | (byte & 63);
		if (!(byte & 64)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static size_t decode_handlers(
	const uint8_t *table, size_t n_bytes, size_t n_units, struct handler *to, size_t most)
{
	struct bits b = { table, n_bytes ? table + n_bytes : table }; /* no table: NULL */
	uint32_t start, length, target, rest;
	size_t n = 0;

	while (n < most && next_number(&b, &start) && next_number(&b, &length) &&
		next_number(&b, &target) && next_number(&b, &rest)) {
		if (start > n_units || length > n_units - start || target >= n_units)
			break;
		to[n++] = (struct handler){ .start = 2 * start,
			.end = 2 * (start + length),
			.target = 2 * target,
			.depth = rest >> 1,
			.has_lasti = rest & 1 };
	}
	return n;
}

/* ---- depths ----------------------------------------------------------------------------------- */

struct flow {
	const struct opcodes *o;
	struct instruction *v;
	size_t n;
	const uint32_t *index;
	size_t n_units;
	VEC(uint32_t) todo;
	bool *varies; /* by instruction: reached where 3.8 has a varying number of values */
};

static void arrive(struct flow *f, uint32_t offset, int32_t depth, bool varies)
{
	uint32_t i = offset / 2 < f->n_units && offset % 2 == 0 ? f->index[offset / 2] : 0;
	struct instruction *to;

	if (!i)
		return;
	to = &f->v[--i];
	if (to->depth == UNSEEN)
		to->depth = depth;
	else if (to->depth != depth && to->depth != UNKNOWN)
		to->depth = UNKNOWN;
	else if (f->varies[i] == (f->varies[i] || varies))
		return;
	f->varies[i] |= varies;
	vec_push(&f->todo, i);
}

/* 3.8 leaves one value or six behind for the finally block, or where to return to. */
static bool varies_behind(const struct flow *f, const struct instruction *i, bool varies)
{
	if (f->o->minor > 8)
		return false;
	if (i->base == OP_END_FINALLY || i->base == OP_POP_FINALLY)
		return false;
	return varies || i->base == OP_BEGIN_FINALLY;
}

static void follow(struct flow *f, uint32_t at)
{
	const struct instruction *i = &f->v[at];
	int32_t depth = i->depth, next = UNKNOWN, jumping = UNKNOWN;
	bool varies = varies_behind(f, i, f->varies[at]);
	struct effect e;

	if (depth >= 0 && opcode_effect(f->o, (enum opcode)i->base, i->arg, &e) &&
		e.takes <= (uint32_t)depth) {
		next = depth - (int32_t)e.takes + (int32_t)e.gives;
		jumping = depth - (int32_t)e.takes + (int32_t)e.gives_jumping;
	}
	/* Its target is a finally block, which the way into the try statement leads to, too. */
	if (i->target >= 0 && i->base != OP_CALL_FINALLY)
		arrive(f, (uint32_t)i->target, jumping, varies);
	if (!opcode_ends_block((enum opcode)i->base) && at + 1 < f->n)
		arrive(f, f->v[at + 1].offset, next, varies);
}

static bool starts_with_sent_value(const struct flow *f)
{
	return f->n && f->v[0].base == OP_GEN_START;
}

static void find_depths(struct arena *a, struct flow *f, const struct bytecode *b)
{
	size_t steps = 0, most = 16 * f->n + 64;

	f->varies = arena_new_n(a, bool, f->n + 1);
	arrive(f, 0, starts_with_sent_value(f) ? 1 : 0, false);
	for (size_t i = 0; i < b->n_handlers; i++)
		arrive(f, b->handlers[i].target,
			(int32_t)(b->handlers[i].depth + b->handlers[i].has_lasti + 1), false);
	while (f->todo.n && steps++ < most)
		follow(f, f->todo.v[--f->todo.n]);
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].depth == UNSEEN || f->varies[i] || f->todo.n)
			f->v[i].depth = UNKNOWN;
	vec_done(&f->todo);
}

static void mark_targets(const struct bytecode *b, struct instruction *v)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct instruction *to =
			v[i].target >= 0 ? bytecode_at(b, (uint32_t)v[i].target) : NULL;

		if (to)
			v[to - b->v].is_target = true;
	}
	for (size_t i = 0; i < b->n_handlers; i++) {
		const struct instruction *to = bytecode_at(b, b->handlers[i].target);

		if (to)
			v[to - b->v].is_target = true;
	}
}

void bytecode_decode(struct arena *a, const struct opcodes *o, const uint8_t *bytes, size_t n_bytes,
	const uint8_t *table, size_t n_table_bytes, struct bytecode *ret)
{
	size_t n_units = n_bytes <= BYTECODE_MAX_BYTES ? n_bytes / 2 : 0, most = n_table_bytes / 4;
	struct instruction *v = arena_new_n(a, struct instruction, n_units + 1);
	struct handler *handlers = arena_new_n(a, struct handler, most + 1);
	uint32_t *index = arena_new_n(a, uint32_t, n_units + 1);
	struct flow f = { .o = o, .v = v, .index = index, .n_units = n_units };

	*ret = (struct bytecode){
		.v = v, .handlers = handlers, .index = index, .n_units = n_units
	};
	ret->n = f.n = decode_instructions(o, bytes, n_units, v, index);
	ret->n_handlers = decode_handlers(table, n_table_bytes, n_units, handlers, most);
	find_depths(a, &f, ret);
	mark_targets(ret, v);
}

const struct instruction *bytecode_at(const struct bytecode *b, uint32_t offset)
{
	uint32_t i = offset % 2 == 0 && offset / 2 < b->n_units ? b->index[offset / 2] : 0;

	return i ? &b->v[i - 1] : NULL;
}

const struct instruction *bytecode_running(const struct bytecode *b, uint32_t offset)
{
	const struct instruction *i = bytecode_at(b, offset);

	while (i && i->base == OP_EXTENDED_ARG)
		i = i + 1 < b->v + b->n ? i + 1 : NULL;
	return i;
}

bool bytecode_despecialise(const struct opcodes *o, uint8_t *bytes, size_t n_bytes)
{
	for (size_t unit = 0; 2 * unit + 1 < n_bytes;) {
		uint8_t byte = bytes[2 * unit], caches = o->caches[byte];
		enum opcode id = (enum opcode)o->id[byte];

		if (id == OP_NONE || id == OP_INSTRUMENTED_LINE ||
			id == OP_INSTRUMENTED_INSTRUCTION || id == OP_ENTER_EXECUTOR)
			return false;
		bytes[2 * unit] = o->base[byte];
		for (size_t i = 1; i <= caches && 2 * (unit + i) + 1 < n_bytes; i++)
			memset(bytes + 2 * (unit + i), 0, 2);
		unit += 1 + (size_t)caches;
	}
	return true;
}
