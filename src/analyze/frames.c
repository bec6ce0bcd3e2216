/* SPDX-License-Identifier: MIT
 * See frames.h. */
#include "analyze/frames.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cpython/linetable.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct code_lines {
	struct linetable table;
	bool is_decoded;
};

struct frames {
	struct arena *a;
	struct tables *t;
	struct code_lines *lines; /* by code row - 1 */
	size_t n_lines;
};

struct frames *frames_new(struct arena *a, struct tables *t)
{
	struct frames *f = arena_new(a, struct frames);

	*f = (struct frames){ .a = a, .t = t };
	return f;
}

static struct code_lines *lines_of(struct frames *f, uint32_t row)
{
	if (row > f->n_lines) {
		size_t n = tables_count(f->t, RECORD_code) + f->n_lines;
		struct code_lines *larger = arena_new_n(f->a, struct code_lines, n);

		if (f->n_lines)
			memcpy(larger, f->lines, f->n_lines * sizeof *larger);
		f->lines = larger;
		f->n_lines = n;
	}
	return &f->lines[row - 1];
}

static int line_of(struct frames *f, uint32_t row, const struct rec_code *code, uint32_t offset)
{
	struct code_lines *lines = lines_of(f, row);
	struct err ignored = ERR_INIT; /* a broken table: its lines are unknown */
	unsigned major = 0, minor = 0;

	if (!lines->is_decoded) {
		lines->is_decoded = true;
		if (sscanf(tables_string(f->t, code->interpreter), "cpython %u.%u", &major,
			    &minor) == 2)
			linetable_decode(f->a, linetable_format_for(major, minor),
				code->linetable.p, code->linetable.n, code->first_line,
				code->n_code_bytes, &lines->table, &ignored);
	}
	return linetable_get(&lines->table, offset).line;
}

struct stack_frame frames_of_code(struct frames *f, uint32_t row, uint32_t offset)
{
	const struct rec_code *code = tables_row(f->t, RECORD_code, row);

	if (!code)
		return (struct stack_frame){
			.name = "[unknown]", .file = "", .line = -1, .is_synthetic = true
		};
	return (struct stack_frame){ .name = tables_string(f->t, code->qualname),
		.file = tables_string(f->t, code->file),
		.first_line = code->first_line,
		.line = line_of(f, row, code, offset) };
}

struct stack_frame frames_get(struct frames *f, uint32_t frame_row)
{
	const struct rec_frame *frame = tables_row(f->t, RECORD_frame, frame_row);

	if (frame && frame->tag == FRAME_PY)
		return frames_of_code(f, frame->code, (uint32_t)frame->position);
	return (struct stack_frame){ .name = frame ? tables_string(f->t, frame->name) : "[unknown]",
		.file = frame ? tables_string(f->t, frame->file) : "",
		.line = -1,
		.is_synthetic = true };
}
