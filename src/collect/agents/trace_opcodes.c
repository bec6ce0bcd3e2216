/* SPDX-License-Identifier: MIT
 * See trace_opcodes.h. */
#include "collect/trace_opcodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* The same function of a thread may have several blocks: code objects made anew by exec. */
static uint32_t units_for(struct trace_opcodes *o, int32_t tid, const struct opcode_block *b)
{
	struct trace_units made = {
		.tid = tid, .function = b->code, .n = b->n_units, .is_derived = b->is_derived != 0
	};

	for (size_t i = o->units.n; i-- > 0;) {
		const struct trace_units *u = &o->units.v[i];

		if (u->tid == tid && u->function == b->code && u->n == b->n_units)
			return (uint32_t)i;
	}
	made.now = xcalloc(made.n, sizeof *made.now);
	made.told = xcalloc(made.n, sizeof *made.told);
	vec_push(&o->units, made);
	return (uint32_t)o->units.n - 1;
}

bool trace_opcodes_add(struct trace_opcodes *o, int32_t tid, const void *data, uint32_t n_bytes)
{
	struct trace_unit_block one;

	if (n_bytes != sizeof one.block)
		return false;
	memcpy(&one.block, data, sizeof one.block);
	if (!one.block.code || !one.block.n_units || one.block.n_units > OPCODE_UNITS_MAX ||
		o->n_units + one.block.n_units > TRACE_OPCODES_MOST || one.block.offset % 8)
		return false;
	o->n_units += one.block.n_units;
	one.units = units_for(o, tid, &one.block);
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
	vec_done(&o->blocks);
	*o = (struct trace_opcodes){ 0 };
}
