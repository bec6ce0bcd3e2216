/* SPDX-License-Identifier: MIT
 *
 * Floating-point operations of an operator call, from the shapes of what it was given: torch's own formulas, for the
 * operators torch has them for. */
#ifndef ANALYZE_TORCH_FLOPS_H
#define ANALYZE_TORCH_FLOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* shapes: as op_events keeps them, "[[8, 16], [16, 4]]"; for aten::conv2d the arguments follow after a NUL. 0: not known. */
uint64_t ops_flops(const char *name, const char *shapes, size_t n);

/* What a product works on: the type of the first tensor it was given. */
enum ops_type { OPS_NO_TYPE, OPS_DOUBLE, OPS_FLOAT, OPS_HALF };
enum ops_type ops_type(const char *shapes, size_t n);

/* One of the last two dimensions of a matrix among them is no multiple of 8. */
bool ops_shapes_are_odd(const char *shapes, size_t n);

#endif
