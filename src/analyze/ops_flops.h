/* SPDX-License-Identifier: MIT
 *
 * Floating-point operations of an operator call, from the shapes of what it was given: torch's own formulas, for the
 * operators torch has them for. */
#ifndef ANALYZE_OPS_FLOPS_H
#define ANALYZE_OPS_FLOPS_H

#include <stddef.h>
#include <stdint.h>

/* shapes: as the trace has them, "[[8, 16], [16, 4]]"; for aten::conv2d the arguments follow after a NUL. 0: not known. */
uint64_t ops_flops(const char *name, const char *shapes, size_t n);

#endif
