/* SPDX-License-Identifier: MIT
 *
 * Frames in words: function, file and line of the rows samples refer to. Line tables are decoded once
 * per code object, when they are first asked for. The tables may grow meanwhile (tables_refresh). */
#ifndef ANALYZE_FRAMES_H
#define ANALYZE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

struct stack_frame {
	const char *name, *file; /* one pointer per distinct text; "" file for synthetic ones */
	uint32_t first_line;
	int line;          /* −1: none */
	bool is_synthetic; /* [cut] and its like */
};

/* Lives in the arena; borrows the tables. */
struct frames *frames_new(struct arena *a, struct tables *t);

/* Of a row of the frame table. */
struct stack_frame frames_get(struct frames *f, uint32_t frame_row);
/* Of an instruction of a row of the code table: leaves of samples. */
struct stack_frame frames_of_code(struct frames *f, uint32_t code_row, uint32_t offset_bytes);

#endif
