/* SPDX-License-Identifier: MIT
 * See diff_sums.h. */
#include "analyze/diff/diff_sums.h"

#include "base/banned.h"

uint32_t diff_sums_row(struct diff_sums *s)
{
	vec_push(&s->cells, (struct diff_cell){ 0 });
	vec_push(&s->tallies, (struct diff_tally){ 0 });
	return (uint32_t)s->cells.n - 1;
}

void diff_sums_piece(struct diff_sums *s)
{
	s->piece++;
}

void diff_sums_touch(struct diff_sums *s, uint32_t row)
{
	if (s->tallies.v[row].is_touched)
		return;
	s->tallies.v[row].is_touched = true;
	vec_push(&s->touched, row);
}

void diff_sums_add(struct diff_sums *s, uint32_t row, int half, bool is_leaf, double value)
{
	struct diff_tally *t = &s->tallies.v[row];

	diff_sums_touch(s, row);
	if (is_leaf)
		t->self[half] += value;
	if (t->piece != s->piece) /* however often it recurs */
		t->total[half] += value;
	t->piece = s->piece;
}

/* Two blocks that are draws of one thing: the variance of each is half the square of what they differ by, so that of
 * both together is the square. */
static void add_pair(struct diff_sum *sum, const double x[2], double difference)
{
	double d = x[0] - x[1];

	sum->x += x[0] + x[1];
	sum->var += d * d;
	sum->cross += d * difference;
}

static void forget(struct diff_sums *s)
{
	vec_each (&s->touched, row)
		s->tallies.v[*row] = (struct diff_tally){ .piece = s->tallies.v[*row].piece };
	vec_clear(&s->touched);
}

void diff_sums_flush(struct diff_sums *s, int side, double difference)
{
	vec_each (&s->touched, row) {
		add_pair(&s->cells.v[*row].self[side], s->tallies.v[*row].self, difference);
		add_pair(&s->cells.v[*row].total[side], s->tallies.v[*row].total, difference);
	}
	forget(s);
}

void diff_sums_done(struct diff_sums *s)
{
	vec_done(&s->cells);
	vec_done(&s->tallies);
	vec_done(&s->touched);
}
