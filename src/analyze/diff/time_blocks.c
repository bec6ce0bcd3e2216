/* SPDX-License-Identifier: MIT
 * See time_blocks.h. */
#include "analyze/diff/time_blocks.h"

#include <stdlib.h>

#include "base/banned.h"

static const uint64_t FIRST_LENGTH_NS = 1000000;

static void add_piece(struct time_blocks *b, uint32_t place, uint32_t block, double value)
{
	uint64_t key = (uint64_t)place << 32 | block, at;

	if (!map_find(&b->index, key, &at)) {
		at = b->v.n;
		map_put(&b->index, key, at);
		vec_push(&b->v, (struct block_piece){ .place = place, .block = block });
	}
	b->v.v[at].value += value;
}

/* Blocks of twice the length: pieces that then are of one block become one. */
static void grow(struct time_blocks *b)
{
	struct time_blocks old = *b;

	*b = (struct time_blocks){
		.zero_ns = old.zero_ns, .length_ns = old.length_ns * 2, .last = old.last / 2
	};
	vec_each (&old.v, x)
		add_piece(b, x->place, x->block / 2, x->value);
	time_blocks_done(&old);
}

void time_blocks_add(struct time_blocks *b, uint64_t t_ns, uint32_t place, double value)
{
	uint64_t block;

	if (!b->length_ns) {
		b->zero_ns = t_ns;
		b->length_ns = FIRST_LENGTH_NS;
	}
	t_ns = t_ns > b->zero_ns ? t_ns - b->zero_ns : 0;
	while (t_ns / b->length_ns >= TIME_BLOCKS_MOST)
		grow(b);
	block = t_ns / b->length_ns;
	if (block > b->last)
		b->last = (uint32_t)block;
	add_piece(b, place, (uint32_t)block, value);
}

static int by_block(const void *a, const void *b)
{
	const struct block_piece *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void time_blocks_sort(struct time_blocks *b)
{
	if (b->v.n)
		qsort(b->v.v, b->v.n, sizeof *b->v.v, by_block);
	map_clear(&b->index); /* it leads to where they were */
}

void time_blocks_done(struct time_blocks *b)
{
	vec_done(&b->v);
	map_done(&b->index);
}
