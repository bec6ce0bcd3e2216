/* SPDX-License-Identifier: MIT
 * See trace_lines.h. */
#include "collect/agents/trace_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "base/banned.h"

static bool is_of(const struct trace_counted *c, const struct line_block *b)
{
	return c->tid == b->tid && c->function == b->code && c->first_line == b->first_line &&
		c->n_cells == b->n_cells;
}

/* The same function of a thread may have several blocks: code objects made anew by exec. */
static uint32_t counted_for(struct trace_lines *l, const struct line_block *b)
{
	struct trace_counted made = { .tid = b->tid,
		.function = b->code,
		.first_line = b->first_line,
		.n_cells = b->n_cells };
	uint64_t key = (uint64_t)(uint32_t)b->tid << 32 | b->code, found = 0;

	map_find(&l->index, key, &found);
	for (uint64_t i = found; i; i = l->counted.v[i - 1].next)
		if (is_of(&l->counted.v[i - 1], b))
			return (uint32_t)i - 1;
	made.next = (uint32_t)found;
	made.now = xcalloc(b->n_cells, sizeof *made.now);
	made.told = xcalloc(b->n_cells, sizeof *made.told);
	vec_push(&l->counted, made);
	map_put(&l->index, key, l->counted.n);
	return (uint32_t)l->counted.n - 1;
}

bool trace_lines_add(struct trace_lines *l, const void *data, uint32_t n_bytes)
{
	struct trace_block one;

	if (n_bytes != sizeof one.block)
		return false;
	memcpy(&one.block, data, sizeof one.block);
	if (!one.block.code || !one.block.n_cells || one.block.n_cells > LINE_CELLS_MAX ||
		l->n_cells + one.block.n_cells > TRACE_LINES_MOST || one.block.cells_offset % 8 ||
		one.block.last_offset % 8)
		return false;
	l->n_cells += one.block.n_cells;
	one.counted = counted_for(l, &one.block);
	vec_push(&l->blocks, one);
	return true;
}

static bool is_inside(const struct buf *area, uint64_t offset, uint64_t n_bytes)
{
	return offset <= area->n && n_bytes <= area->n - offset;
}

static void add_cell(struct trace_line *to, const struct line_cell *c, uint64_t last)
{
	to->hits += c->hits;
	to->own += c->own;
	to->total += c->total;
	if (c->max > to->max)
		to->max = c->max;
	if (c->depth && last > c->opened) { /* open still */
		to->total += last - c->opened;
		if (last - c->opened > to->max)
			to->max = last - c->opened;
	}
}

void trace_lines_take(struct trace_lines *l, const struct buf *area)
{
	vec_each (&l->counted, c)
		memset(c->now, 0, c->n_cells * sizeof *c->now);
	vec_each (&l->blocks, one) {
		const struct line_block *b = &one->block;
		struct trace_counted *to = &l->counted.v[one->counted];
		struct line_cell cell;
		uint64_t last;

		if (!is_inside(area, b->cells_offset, (uint64_t)b->n_cells * sizeof cell) ||
			!is_inside(area, b->last_offset, sizeof last))
			continue;
		memcpy(&last, area->data + b->last_offset, sizeof last);
		for (uint32_t i = 0; i < b->n_cells; i++) {
			memcpy(&cell, area->data + b->cells_offset + i * sizeof cell, sizeof cell);
			add_cell(&to->now[i], &cell, last);
		}
	}
}

void trace_lines_each(struct trace_lines *l, trace_line_fn *on_line, void *ctx)
{
	vec_each (&l->counted, c) {
		for (uint32_t i = 0; i < c->n_cells; i++) {
			if (memcmp(&c->now[i], &c->told[i], sizeof *c->now) == 0)
				continue;
			c->told[i] = c->now[i];
			on_line(ctx, c, i ? c->first_line + i - 1 : 0, &c->now[i]);
		}
	}
}

void trace_lines_done(struct trace_lines *l)
{
	vec_each (&l->counted, c) {
		free(c->now);
		free(c->told);
	}
	vec_done(&l->counted);
	map_done(&l->index);
	vec_done(&l->blocks);
	*l = (struct trace_lines){ 0 };
}
