/* SPDX-License-Identifier: MIT
 *
 * Frames: from rows of the recording to names, lines and columns, each worked out once. Functions and
 * lines get small numbers, so that analyses count in arrays instead of comparing texts. The tables may grow meanwhile
 * (tables_refresh).
 *
 *	struct frames *f = frames_new(&a, tables);
 *	struct stack_frame leaf = frames_of_code(f, code_row, offset), caller = frames_get(f, frame_row);
 *
 * A function is (file, qualified name, first line), whatever code objects it had. Code is of the library
 * when its file is frozen (<frozen …>) or made by a library (<__array_function__ …>), or lies in
 * site-packages or dist-packages, or in the standard library (lib/pythonX.Y, pythonXY.zip). Everything
 * else is the user's own, what was typed or passed as text too (<stdin>, <string>, cells). */
#ifndef ANALYZE_CODE_FRAMES_H
#define ANALYZE_CODE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

struct stack_function {
	const char *name, *file; /* one pointer per distinct text; "" file for synthetic ones */
	uint32_t first_line;
	bool is_synthetic; /* [cut] and its like, and C functions: there is no source */
	bool is_builtin;   /* a C function */
	bool is_library;
};

/* Stacks that no row has: time in which a thread was there and nobody looked. */
enum { FRAMES_LATE = UINT32_MAX, FRAMES_STOPPED = UINT32_MAX - 1 };

struct stack_frame {
	const char *name, *file; /* as in its function */
	uint32_t first_line;
	int line;               /* −1: none */
	int column, end_column; /* bytes of that line; −1: not known, or it ends on another line */
	bool is_synthetic, is_library;
	uint32_t function; /* number, from 0 on */
	uint32_t line_id;  /* number of (file, line), from 0 on; none for synthetic ones */
};

/* Lives in the arena; borrows the tables. */
struct frames *frames_new(struct arena *a, struct tables *t);

/* Of a row of the frame table; of an instruction of a row of the code table (leaves of samples). */
struct stack_frame frames_get(struct frames *f, uint32_t frame_row);
struct stack_frame frames_of_code(struct frames *f, uint32_t code_row, uint32_t offset_bytes);
/* The number of its function alone, without looking for a line. */
uint32_t frames_code_function(struct frames *f, uint32_t code_row);
/* A C function by its name, a row of the string table, as cProfile has it: "<built-in method builtins.len>"
 * is shown in braces instead. It has no file, and counts as the library's. */
struct stack_frame frames_of_builtin(struct frames *f, uint32_t name);
/* Of a function by its number: without a line. */
struct stack_frame frames_of_function(const struct frames *f, uint32_t function);
/* The frames that stand for code that is not shown, and for those that a stack is too deep for. */
struct stack_frame frames_library(struct frames *f);
struct stack_frame frames_left_out(struct frames *f);
/* The frame that stands for imports (imports.h). */
struct stack_frame frames_imports(struct frames *f);

/* "[sampler late]" or "[stopped]" of one of those stacks. */
struct stack_frame frames_unseen(struct frames *f, uint32_t stack);
static inline bool frames_is_unseen(uint32_t stack)
{
	return stack >= FRAMES_STOPPED;
}
/* The function a sample with these ends in (rows and bytes, as in rec_sample). */
uint32_t frames_leaf(struct frames *f, uint32_t stack, uint32_t leaf_code, uint32_t leaf_offset);

size_t frames_n_functions(const struct frames *f);
const struct stack_function *frames_function(const struct frames *f, uint32_t function);

bool frames_is_library(const char *file);
/* The path from the folder on that Python looks modules up in: "torch/nn/modules/module.py"; the path
 * itself where it is the user's own. */
const char *frames_module_path(const char *file);

#endif
