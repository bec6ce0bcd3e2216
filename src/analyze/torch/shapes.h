/* SPDX-License-Identifier: MIT
 *
 * The shapes and arguments of an operator call, as traces have them, in numbers: what FLOPs are counted from. */
#ifndef ANALYZE_TORCH_SHAPES_H
#define ANALYZE_TORCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPS_LISTS = 12, OPS_DIMS = 8 };

struct ops_list {
	int64_t v[OPS_DIMS];
	size_t n;
	bool is_bad; /* a list of tensors, or longer than any of use */
};

/* All of one call; lists that are not there are empty. */
struct ops_lists {
	struct ops_list v[OPS_LISTS];
	size_t n;
};

/* The inner lists of "[[8, 16], [16, 4]]", or of the texts in ["", "[1, 1]", "1"]: a number is a list of one, True is 1 and
 * False is 0. */
struct ops_lists ops_lists_parse(const char *text, size_t n);

/* 0 where it is bad, 1 where it is empty. */
uint64_t ops_list_product(const struct ops_list *l);

/* Shapes and arguments out of an entry of op_events' shapes: arguments follow after a NUL, where they were kept. */
struct ops_lists ops_shapes(const char *entry, size_t n);
struct ops_lists ops_arguments(const char *entry, size_t n);

#endif
