/* SPDX-License-Identifier: MIT
 * A level over time as a row of points, each the highest of its stretch of time: memory in use, the length of a queue. */
#ifndef ANALYZE_TORCH_LEVEL_CURVE_H
#define ANALYZE_TORCH_LEVEL_CURVE_H

#include <stddef.h>
#include <stdint.h>

enum { OP_CURVE = 240 }; /* points */

struct op_pen {                    /* draws a curve, from the left to the right */
	double *curve;             /* OP_CURVE points, zero at first */
	int64_t first_ns, last_ns; /* what the curve spans */
	size_t at;
	double level;
};

/* The level at the begin. */
void op_pen_set(struct op_pen *pen, double level);
/* Until that time it stayed as it was, then it is `level`. */
void op_pen_draw(struct op_pen *pen, int64_t t_ns, double level);

#endif
