/* SPDX-License-Identifier: MIT
 *
 * All that a code object says of itself, read from somebody's memory at once: names, and the place in
 * the source of each of its instructions. */
#ifndef CPYTHON_CODE_H
#define CPYTHON_CODE_H

#include <stdint.h>

#include "cpython/linetable.h"

struct arena;
struct objects;
struct stack_frame;

struct code {
	const char *file, *qualname; /* "?" when they cannot be read; 3.8 … 3.10: the plain name */
	int32_t first_line;
	uint32_t n_code_bytes;
	uint64_t instructions; /* address of the first one */
	uint64_t copies;       /* free-threaded 3.14+: address of the threads' copies, or 0 */
	struct linetable lines;
};

/* In the arena; NULL when there is no code object. */
const struct code *code_read(struct arena *a, struct objects *o, uint64_t address);

/* Where the frame is; the first line when the instruction is not known or has no place. */
struct position code_position(struct objects *o, const struct code *c, const struct stack_frame *f);

/* By the offset of an instruction in bytes. */
struct position code_position_at(const struct code *c, uint32_t offset);

#endif
