/* SPDX-License-Identifier: MIT
 * The functions that stacks mention, numbered for a table of functions in a file. */
#ifndef FORMATS_FUNCTION_TABLE_H
#define FORMATS_FUNCTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct spans;
struct stacks;

struct function_table {
	size_t n;
	const uint32_t *functions; /* [0..n): numbers of frames.h, in order of appearance */
	const uint32_t *index;     /* by such a number: its place in functions */
};

struct function_table function_table_build(struct arena *a, const struct stacks *s);
/* Those that a replay tells, too. */
struct function_table function_table_build_spans(struct arena *a, const struct spans *s);

#endif
