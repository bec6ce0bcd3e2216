/* SPDX-License-Identifier: MIT
 *
 * Basic blocks of a code object (3.12 on): where instructions begin that can be reached other than from the one before.
 * Counting those is counting all, because within a block each runs as often as the one before it, unless that raises
 * an exception, which the interpreter tells. Too many beginnings do no harm, only one too few would. */
#ifndef AGENT_LINES_BASIC_BLOCKS_H
#define AGENT_LINES_BASIC_BLOCKS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Sets the bits of the code units at which blocks begin. code: as compiled, n_units of 2 bytes; handlers:
 * co_exceptiontable. */
void basic_blocks_find(const unsigned char *code, uint32_t n_units, const unsigned char *handlers,
	uint32_t n_handlers, unsigned char *ret_begins);

#pragma GCC visibility pop

static inline int basic_blocks_has(const unsigned char *begins, uint32_t unit)
{
	return begins[unit >> 3] >> (unit & 7) & 1;
}

#endif
