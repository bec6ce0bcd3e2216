/* SPDX-License-Identifier: MIT
 * See trace_opcodes.h. */
#include "collect/agents/trace_opcodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* The same function of a thread may have several blocks: code objects made anew by exec. */
static uint32_t units_for(struct trace_opcodes *o, const struct opcode_block *b)
{
	struct trace_units made = { .tid = b->tid,
		.function = b->code,
		.n = b->n_units,
		.is_derived = b->is_derived != 0 };
	uint64_t key = (uint64_t)(uint32_t)b->tid << 32 | b->code, found = 0;

	map_find(&o->index, key, &found);
	for (uint64_t i = found; i; i = o->units.v[i - 1].next)
		if (o->units.v[i - 1].n == b->n_units)
			return (uint32_t)i - 1;
	made.next = (uint32_t)found;
	made.now = xcalloc(made.n, sizeof *made.now);
	made.told = xcalloc(made.n, sizeof *made.told);
	vec_push(&o->units, made);
	map_put(&o->index, key, o->units.n);
	return (uint32_t)o->units.n - 1;
}

bool trace_opcodes_add(struct trace_opcodes *o, const void *data, uint32_t n_bytes)
{
	struct trace_unit_block one;

	if (n_bytes != sizeof one.block)
		return false;
	memcpy(&one.block, data, sizeof one.block);
	if (!one.block.code || !one.block.n_units || one.block.n_units > OPCODE_UNITS_MAX ||
		o->n_units + one.block.n_units > TRACE_OPCODES_MOST || one.block.offset % 8)
		return false;
	o->n_units += one.block.n_units;
	one.units = units_for(o, &one.block);
	vec_push(&o->blocks, one);
	return true;
}

/* Within a block each unit ran as often as the one before it, less what was left there by exceptions. */
static void add_block(struct trace_units *to, const struct opcode_block *b, const char *at)
{
	const char *left_at = at + (size_t)b->n_units * 8;
	const unsigned char *begins = (const unsigned char *)left_at + (size_t)b->n_units * 8;
	uint64_t now = 0;

	for (uint32_t i = 0; i < b->n_units; i++) {
		uint64_t hits, left;

		memcpy(&hits, at + (size_t)i * 8, sizeof hits);
		memcpy(&left, left_at + (size_t)i * 8, sizeof left);
		if (!b->is_derived || begins[i / 8] >> i % 8 & 1)
			now = hits;
		to->now[i] += now;
		now -= left < now ? left : now;
	}
}

void trace_opcodes_take(struct trace_opcodes *o, const struct buf *area)
{
	vec_each (&o->units, u)
		memset(u->now, 0, u->n * sizeof *u->now);
	vec_each (&o->blocks, one) {
		const struct opcode_block *b = &one->block;

		if (b->offset <= area->n && opcode_block_bytes(b->n_units) <= area->n - b->offset)
			add_block(&o->units.v[one->units], b, area->data + b->offset);
	}
}

void trace_opcodes_each(struct trace_opcodes *o, trace_units_fn *on_units, void *ctx)
{
	vec_each (&o->units, u) {
		if (memcmp(u->now, u->told, u->n * sizeof *u->now) == 0)
			continue;
		memcpy(u->told, u->now, u->n * sizeof *u->now);
		on_units(ctx, u);
	}
}

void trace_opcodes_done(struct trace_opcodes *o)
{
	vec_each (&o->units, u) {
		free(u->now);
		free(u->told);
	}
	vec_done(&o->units);
	map_done(&o->index);
	vec_done(&o->blocks);
	*o = (struct trace_opcodes){ 0 };
}
