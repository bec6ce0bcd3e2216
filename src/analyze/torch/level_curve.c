/* SPDX-License-Identifier: MIT
 * See level_curve.h. */
#include "analyze/torch/level_curve.h"

#include <math.h>

#include "base/banned.h"

void op_pen_set(struct op_pen *pen, double level)
{
	pen->curve[0] = pen->level = level;
}

void op_pen_draw(struct op_pen *pen, int64_t t_ns, double level)
{
	double span = (double)(pen->last_ns - pen->first_ns);
	double at = span > 0 ? (double)(t_ns - pen->first_ns) / span * OP_CURVE : 0;
	size_t i = at < 0 ? 0 : at >= OP_CURVE ? OP_CURVE - 1 : (size_t)at;

	while (pen->at < i)
		pen->curve[++pen->at] = pen->level;
	pen->curve[i] = fmax(pen->curve[i], level);
	pen->level = level;
}
