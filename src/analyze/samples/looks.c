/* SPDX-License-Identifier: MIT
 * See looks.h. */
#include "analyze/samples/looks.h"

#include <stddef.h>

#include "base/banned.h"

/* Always the same, so that sums are, too; who makes looks meet in one slot makes intervals a little too narrow. */
static size_t slot_of(uint64_t t_ns)
{
	return (t_ns * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (LOOKS_OPEN - 1);
}

void looks_add(struct looks *l, uint64_t t_ns, double value)
{
	__auto_type x = &l->open[slot_of(t_ns)];

	if (x->t_ns != t_ns) {
		l->squares += x->value * x->value;
		x->t_ns = t_ns;
		x->value = 0;
	}
	x->value += value;
}

double looks_squares(const struct looks *l)
{
	double sum = l->squares;

	for (size_t i = 0; i < LOOKS_OPEN; i++)
		sum += l->open[i].value * l->open[i].value;
	return sum;
}
