/* SPDX-License-Identifier: MIT
 *
 * Blocks: the weight of each place (stacks.h) by blocks of time, so that one can tell how far figures would
 * differ if other instants had been sampled. The blocks are of one length, which doubles whenever the run
 * outgrows TIME_BLOCKS_MOST of them: memory is bounded by places, not by samples.
 *
 *	struct time_blocks blocks = TIME_BLOCKS_INIT;
 *	stacks_build(&a, tables, &(struct stacks_options){ .blocks = &blocks });
 *	… blocks.v …
 *	time_blocks_done(&blocks); */
#ifndef ANALYZE_DIFF_TIME_BLOCKS_H
#define ANALYZE_DIFF_TIME_BLOCKS_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

enum { TIME_BLOCKS_MOST = 256 };

struct block_piece {
	uint32_t place; /* its number (struct stack_place) */
	uint32_t block;
	double value; /* in the stacks' unit */
};

struct time_blocks {
	VEC(struct block_piece) v; /* in no order */
	struct map index;          /* place << 32 | block → piece */
	uint64_t zero_ns, length_ns;
	uint32_t last; /* block */
};

#define TIME_BLOCKS_INIT ((struct time_blocks){ 0 })

/* The first call's time begins the first block; what is earlier counts there, too. */
void time_blocks_add(struct time_blocks *b, uint64_t t_ns, uint32_t place, double value);
/* By block, then place. */
void time_blocks_sort(struct time_blocks *b);
void time_blocks_done(struct time_blocks *b);

#endif
