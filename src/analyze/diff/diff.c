/* SPDX-License-Identifier: MIT
 * See diff.h. */
#include "analyze/diff/diff.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/diff/time_blocks.h"
#include "analyze/diff/diff_lines.h"
#include "analyze/diff/diff_match.h"
#include "analyze/diff/diff_sums.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/calls/nodes.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/trie.h"
#include "base/vec.h"
#include "base/banned.h"

enum { BLOCKS_LEAST = 8 }; /* below, the number of samples tells more than their times */

static const double Z95 = 1.959963984540054, FALSE_SHARE = 0.01, SAMPLES_LEAST = 4,
		    SHARE_LEAST = 0.01;

struct context {
	uint32_t parent; /* row + 1 */
	size_t pair;
};

struct last_row { /* of a line, for the function it was last asked of */
	uint32_t pair, row;
};

struct builder {
	const struct diff_side *sides[2];
	const struct diff_options *o;
	struct diff_pairs pairs;
	uint32_t *pair_of[2]; /* by function number; UINT32_MAX: none */
	struct diff_sums functions, lines, paths;
	struct diff_sum all[2];
	double sample_squared[2]; /* of the mean sample's value; 0: not sampled */
	struct diff_lines line_rows;
	VEC(struct last_row) line_of[2]; /* by line_id */
	struct trie path_of;             /* keys are pairs; row + 1 */
	VEC(struct context) path_rows;
	bool is_timed[2];
	struct stack_frame *frames;
	uint32_t lost; /* row of functions; UINT32_MAX: none */
};

/* ---- charging -------------------------------------------------------------------------------- */

static void match_functions(struct arena *a, struct builder *b)
{
	b->pairs = diff_match(a,
		(struct diff_list){
			b->sides[0]->profile->functions, b->sides[0]->profile->n_functions },
		(struct diff_list){
			b->sides[1]->profile->functions, b->sides[1]->profile->n_functions });
	for (int side = 0; side < 2; side++) {
		size_t n = frames_n_functions(b->sides[side]->stacks->frames);

		b->pair_of[side] = arena_new_n(a, uint32_t, n + 1);
		for (size_t i = 0; i <= n; i++)
			b->pair_of[side][i] = UINT32_MAX;
	}
	for (size_t i = 0; i < b->pairs.n; i++) {
		diff_sums_row(&b->functions);
		for (int side = 0; side < 2; side++)
			if (b->pairs.v[i].of[side])
				b->pair_of[side][b->pairs.v[i].of[side]->function] = (uint32_t)i;
	}
}

static uint32_t line_row(struct builder *b, int side, uint32_t pair, int line)
{
	uint32_t row = diff_lines_row(&b->line_rows, side, &b->pairs.v[pair], pair, line);

	if (row == b->lines.cells.n)
		diff_sums_row(&b->lines);
	return row;
}

/* The same of a frame: there are millions of them, and few lines. */
static uint32_t frame_row(struct builder *b, int side, uint32_t pair, const struct stack_frame *f)
{
	struct last_row *last;

	while (b->line_of[side].n <= f->line_id)
		vec_push(&b->line_of[side], (struct last_row){ .pair = UINT32_MAX });
	last = &b->line_of[side].v[f->line_id];
	if (last->pair != pair)
		*last = (struct last_row){ pair, line_row(b, side, pair, f->line) };
	return last->row;
}

static uint32_t path_row(struct builder *b, uint32_t parent, uint32_t pair)
{
	uint32_t node = trie_find(&b->path_of, parent, pair);

	if (node)
		return node - 1;
	vec_push(&b->path_rows, (struct context){ .parent = parent, .pair = pair });
	trie_add(&b->path_of, parent, pair);
	return diff_sums_row(&b->paths);
}

/* Root first; a function that calls itself is one step. Charges the path's last row; raise_paths those above it. */
static void charge_path(struct builder *b, int side, int half, size_t n, double value)
{
	uint32_t at = 0, last = UINT32_MAX;

	for (size_t i = n; i-- > 0;) {
		uint32_t pair = b->pair_of[side][b->frames[i].function];

		if (pair == UINT32_MAX || pair == last)
			continue;
		at = path_row(b, at, pair) + 1;
		last = pair;
	}
	diff_sums_piece(&b->paths);
	if (at)
		diff_sums_add(&b->paths, at - 1, half, true, value);
}

static int falling(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Totals of the rows above those that were charged: each once for all pieces, however many pass through it. Parents
 * have smaller numbers, so a row is complete when its turn comes. */
static void raise_paths(struct builder *b)
{
	struct diff_sums *s = &b->paths;

	for (size_t i = 0; i < s->touched.n; i++) {
		uint32_t parent = b->path_rows.v[s->touched.v[i]].parent;

		if (parent)
			diff_sums_touch(s, parent - 1);
	}
	if (s->touched.n)
		qsort(s->touched.v, s->touched.n, sizeof *s->touched.v, falling);
	vec_each (&s->touched, row) {
		uint32_t parent = b->path_rows.v[*row].parent;

		for (int half = 0; parent && half < 2; half++)
			s->tallies.v[parent - 1].total[half] += s->tallies.v[*row].total[half];
	}
}

static void charge(struct builder *b, int side, int half, size_t place, double value)
{
	size_t n = stacks_frames(b->sides[side]->stacks, place, b->frames);

	diff_sums_piece(&b->functions);
	diff_sums_piece(&b->lines);
	for (size_t i = 0; i < n; i++) {
		const struct stack_frame *f = &b->frames[i];
		uint32_t pair = b->pair_of[side][f->function];

		if (pair == UINT32_MAX)
			continue;
		if (!b->sides[side]->has_calls)
			diff_sums_add(&b->functions, pair, half, i == 0, value);
		if (!f->is_synthetic && !b->sides[side]->has_calls)
			diff_sums_add(&b->lines, frame_row(b, side, pair, f), half, i == 0, value);
	}
	charge_path(b, side, half, n, value);
}

/* ---- by pairs of blocks, or place by place --------------------------------------------------- */

static void flush_pair(struct builder *b, int side, const double all[2])
{
	double d = all[0] - all[1];

	raise_paths(b);
	diff_sums_flush(&b->functions, side, d);
	diff_sums_flush(&b->lines, side, d);
	diff_sums_flush(&b->paths, side, d);
	b->all[side].var += d * d;
}

static void charge_blocks(struct builder *b, int side)
{
	const struct stacks *s = b->sides[side]->stacks;
	struct time_blocks *blocks = b->sides[side]->blocks;
	uint32_t pair = 0;
	double all[2] = { 0 };
	struct map place_of = MAP_INIT; /* by number: those left out have none */

	for (size_t i = 0; i < s->n; i++)
		map_put(&place_of, s->v[i].number, i);
	time_blocks_sort(blocks);
	vec_each (&blocks->v, x) {
		uint64_t place;

		if (x->block / 2 != pair) {
			flush_pair(b, side, all);
			all[0] = all[1] = 0;
			pair = x->block / 2;
		}
		if (!map_find(&place_of, x->place, &place))
			continue;
		charge(b, side, x->block % 2, (size_t)place, x->value);
		all[x->block % 2] += x->value;
	}
	flush_pair(b, side, all);
	map_done(&place_of);
}

/* What the places of each path, and of all below it, add up to. Pieces are independent of each other: their variances
 * add up as their times do. */
struct piece {
	struct diff_sum self, total;
};

static struct diff_sum both(struct diff_sum x, struct diff_sum y)
{
	return (struct diff_sum){ x.x + y.x, x.var + y.var, x.cross + y.cross };
}

static struct piece *pieces_of(const struct stacks *s)
{
	const struct paths *p = s->paths;
	struct piece *v = xcalloc(p->n, sizeof *v);

	for (size_t i = 0; i < s->n; i++) {
		struct piece *x = &v[p->of_place[i]];
		struct diff_sum sum = { s->v[i].value, s->v[i].squares, s->v[i].squares };

		x->total = both(x->total, sum);
		if (sum.x != 0)
			x->self = both(x->self, sum);
	}
	for (size_t i = p->n; i-- > 1;)
		v[p->v[i].parent].total = both(v[p->v[i].parent].total, v[i].total);
	return v;
}

/* However often a row recurs on a path, its total is what is below the first. */
static void charge_cell(struct diff_cell *c, int side, const struct piece *x, bool is_first)
{
	c->self[side] = both(c->self[side], x->self);
	if (is_first)
		c->total[side] = both(c->total[side], x->total);
}

static void charge_rows(struct builder *b, int side, const struct piece *pieces)
{
	const struct stacks *s = b->sides[side]->stacks;
	struct paths_walk w = paths_walk(s->paths);
	uint32_t *rows = xcalloc(s->paths->n, sizeof *rows); /* of lines, + 1 */
	VEC(uint32_t) lines_open = VEC_INIT;
	uint32_t *open = xcalloc(b->pairs.n + 1, sizeof *open);

	for (uint32_t at; paths_next(&w, &at);) {
		struct stack_frame f = paths_frame(s, at);
		uint32_t pair = b->pair_of[side][f.function];

		if (pair == UINT32_MAX)
			continue;
		if (!w.is_entering) {
			open[pair]--;
			if (rows[at])
				lines_open.v[rows[at] - 1]--;
			continue;
		}
		charge_cell(&b->functions.cells.v[pair], side, &pieces[at], open[pair]++ == 0);
		if (f.is_synthetic)
			continue;
		rows[at] = frame_row(b, side, pair, &f) + 1;
		while (lines_open.n < rows[at])
			vec_push(&lines_open, 0);
		charge_cell(&b->lines.cells.v[rows[at] - 1], side, &pieces[at],
			lines_open.v[rows[at] - 1]++ == 0);
	}
	paths_walk_done(&w);
	vec_done(&lines_open);
	free(rows);
	free(open);
}

/* As charge_path, from callers to callees: a path that ends in the same pair as its caller's is that one. */
static void charge_contexts(struct builder *b, int side, const struct piece *pieces)
{
	const struct paths *p = b->sides[side]->stacks->paths;
	uint32_t *rows = xcalloc(p->n, sizeof *rows), *last = xcalloc(p->n, sizeof *last);

	last[0] = UINT32_MAX;
	for (size_t i = 1; i < p->n; i++) {
		uint32_t parent = p->v[i].parent, pair = b->pair_of[side][p->v[i].function];
		bool is_same = pair == UINT32_MAX || pair == last[parent];

		rows[i] = is_same ? rows[parent] : path_row(b, rows[parent], pair) + 1;
		last[i] = is_same ? last[parent] : pair;
		if (rows[i])
			charge_cell(&b->paths.cells.v[rows[i] - 1], side, &pieces[i],
				rows[i] != rows[parent]);
	}
	free(rows);
	free(last);
}

static void charge_places(struct builder *b, int side)
{
	const struct stacks *s = b->sides[side]->stacks;
	struct piece *pieces = pieces_of(s);

	if (!b->sides[side]->has_calls)
		charge_rows(b, side, pieces);
	charge_contexts(b, side, pieces);
	free(pieces);
	b->all[side].var += s->squares;
}

/* ---- what was counted ------------------------------------------------------------------------ */

static void take_calls(struct builder *b, int side)
{
	const struct profile *p = b->sides[side]->profile;

	for (size_t i = 0; i < p->n_functions; i++) {
		uint32_t pair = b->pair_of[side][p->functions[i].function];

		b->functions.cells.v[pair].self[side].x = p->functions[i].cost.self_value;
		b->functions.cells.v[pair].total[side].x = p->functions[i].cost.total_value;
	}
}

static void take_lines(struct builder *b, int side)
{
	const struct exact_lines *l = b->sides[side]->exact_lines;

	for (size_t i = 0; l && i < l->n_functions; i++) {
		const struct exact_lines_function *f = &l->functions[i];
		uint32_t pair = b->pair_of[side][f->function];

		for (size_t k = 0; pair != UINT32_MAX && k < f->n_lines; k++) {
			uint32_t row = line_row(b, side, pair, (int)f->lines[k].line);
			struct diff_cell *c = &b->lines.cells.v[row];

			c->total[side].x += f->lines[k].total_s;
			c->self[side].x += l->has_own ? f->lines[k].own_s : f->lines[k].total_s;
		}
	}
}

static void add_lost(struct builder *b, int side)
{
	const struct profile *p = b->sides[side]->profile;
	double x = p->value * p->lost_share, mean = sqrt(b->sample_squared[side]);

	if (p->is_exact || !(x > 0))
		return;
	if (b->lost == UINT32_MAX)
		b->lost = diff_sums_row(&b->functions);
	/* Scaled as all rows are when they become values. */
	x /= 1 - p->lost_share;
	b->functions.cells.v[b->lost].self[side] =
		(struct diff_sum){ .x = x, .var = x * mean, .cross = 0 };
	b->functions.cells.v[b->lost].total[side] = b->functions.cells.v[b->lost].self[side];
}

static void charge_side(struct builder *b, int side)
{
	const struct diff_side *x = b->sides[side];
	const struct stacks *s = x->stacks;

	b->all[side].x = x->profile->value;
	if (s->n_samples)
		b->sample_squared[side] = s->squares / (double)s->n_samples;
	b->is_timed[side] = x->blocks && x->blocks->last + 1 >= BLOCKS_LEAST;
	if (b->is_timed[side])
		charge_blocks(b, side);
	else
		charge_places(b, side);
	if (x->has_calls)
		take_calls(b, side);
	take_lines(b, side);
	if (x->profile->lost_share < 1)
		add_lost(b, side);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The sum as a value, and its variance. */
static double value_of(const struct builder *b, int side, const struct diff_sum *s, double *ret_var)
{
	const struct diff_side *x = b->sides[side];
	double scale = x->profile->is_exact ? 1 : 1 - x->profile->lost_share,
	       per = b->o->normalize == DIFF_UNIT ? x->units : 1, total = b->all[side].x,
	       share = total > 0 ? s->x * scale / total : 0, var = s->var, noise;

	if (b->o->normalize == DIFF_RUN) {
		var += share * (share * b->all[side].var - 2 * s->cross);
		per = total > 0 ? total : 1;
	}
	var = fmax(0, var) + b->sample_squared[side];
	noise = b->o->noise * s->x * (b->o->normalize == DIFF_RUN ? 1 - share : 1);
	*ret_var = (var + noise * noise) * (scale / per) * (scale / per);
	return s->x * scale / per;
}

/* Returns how likely chance alone changes it so much. */
static double fill(const struct builder *b, const struct diff_sum sums[2], struct diff_value *ret)
{
	double var[2], error;

	ret->a = value_of(b, 0, &sums[0], &var[0]);
	ret->b = value_of(b, 1, &sums[1], &var[1]);
	ret->change = ret->b - ret->a;
	error = sqrt(var[0] + var[1]);
	ret->plus_minus = Z95 * error;
	if (error > 0)
		return erfc(fabs(ret->change) / error * M_SQRT1_2);
	return ret->change != 0 ? 0 : 1;
}

/* ---- naming ---------------------------------------------------------------------------------- */

struct test {
	double p;
	struct diff_value *value;
};

static int by_p(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

/* Of n tests those named have together at most FALSE_SHARE of false ones. */
static void name_changes(struct test *v, size_t n)
{
	size_t last = 0;

	if (!n)
		return;
	qsort(v, n, sizeof *v, by_p);
	for (size_t i = 0; i < n; i++)
		if (v[i].p <= FALSE_SHARE * (double)(i + 1) / (double)n)
			last = i + 1;
	for (size_t i = 0; i < last; i++)
		v[i].value->is_named = true;
}

/* Rows of fewer samples can show nothing, and would only make it harder for the others. Smaller ones matter to nobody,
 * and are what differs most from run to run: imports, caches. */
static bool is_tested(const struct builder *b, const struct diff_sum sums[2])
{
	for (int side = 0; side < 2; side++)
		if (sums[side].x > SAMPLES_LEAST * sqrt(b->sample_squared[side]) &&
			sums[side].x >= SHARE_LEAST * b->all[side].x)
			return true;
	return false;
}

static void fill_rows(const struct builder *b, const struct diff_sums *s, struct diff_row *rows)
{
	size_t n = s->cells.n;
	struct test *self = xcalloc(n + 1, sizeof *self), *total = xcalloc(n + 1, sizeof *total);
	size_t n_self = 0, n_total = 0;

	for (size_t i = 0; i < n; i++) {
		const struct diff_cell *c = &s->cells.v[i];
		double p = fill(b, c->self, &rows[i].self);

		if (is_tested(b, c->self))
			self[n_self++] = (struct test){ p, &rows[i].self };
		p = fill(b, c->total, &rows[i].total);
		if (is_tested(b, c->total))
			total[n_total++] = (struct test){ p, &rows[i].total };
	}
	name_changes(self, n_self);
	name_changes(total, n_total);
	for (size_t i = 0; i < n; i++)
		rows[i].is_named = b->o->by_total ? rows[i].total.is_named : rows[i].self.is_named;
	free(self);
	free(total);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int by_change(const void *a, const void *b, void *by_total)
{
	const struct diff_row *x = *(const struct diff_row *const *)a,
			      *y = *(const struct diff_row *const *)b;
	double of_x[] = { fabs(x->self.change), fabs(x->total.change) },
	       of_y[] = { fabs(y->self.change), fabs(y->total.change) };
	int first = *(const bool *)by_total;

	if (of_x[first] != of_y[first])
		return of_x[first] < of_y[first] ? 1 : -1;
	if (of_x[!first] != of_y[!first])
		return of_x[!first] < of_y[!first] ? 1 : -1;
	return x < y ? -1 : x > y;
}

static struct diff_table make_table(
	struct arena *a, const struct diff_row *rows, size_t n, bool by_total)
{
	const struct diff_row **v = arena_new_n(a, const struct diff_row *, n + 1);
	struct diff_table t = { .v = v, .n = n };

	for (size_t i = 0; i < n; i++) {
		v[i] = &rows[i];
		t.n_named += rows[i].is_named;
	}
	if (n)
		qsort_r(v, n, sizeof *v, by_change, &by_total);
	return t;
}

static struct diff_row row_of_pair(const struct builder *b, size_t pair)
{
	const struct diff_pair *p = &b->pairs.v[pair];
	const struct profile_function *f = p->of[1] ? p->of[1] : p->of[0];
	double calls[2];

	for (int side = 0; side < 2; side++)
		calls[side] = !b->sides[side]->has_calls ? UNITS_UNKNOWN
			: p->of[side]                    ? (double)p->of[side]->calls
							 : 0;
	return (struct diff_row){ .name = f->name,
		.file = f->file,
		.line = f->first_line,
		.text = "",
		.calls_a = calls[0],
		.calls_b = calls[1] };
}

static struct diff_table functions_table(struct arena *a, const struct builder *b)
{
	size_t n = b->functions.cells.n;
	struct diff_row *rows = arena_new_n(a, struct diff_row, n + 1);

	for (size_t i = 0; i < b->pairs.n; i++)
		rows[i] = row_of_pair(b, i);
	if (b->lost != UINT32_MAX)
		rows[b->lost] = (struct diff_row){ .name = "[lost]",
			.file = "",
			.text = "",
			.calls_a = UNITS_UNKNOWN,
			.calls_b = UNITS_UNKNOWN };
	fill_rows(b, &b->functions, rows);
	return make_table(a, rows, n, b->o->by_total);
}

static struct diff_table lines_table(struct arena *a, const struct builder *b)
{
	size_t n = b->lines.cells.n;
	struct diff_row *rows = arena_new_n(a, struct diff_row, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct diff_line *l = &b->line_rows.v.v[i];
		int side = l->line[1] || !l->line[0];
		const struct diff_pair *p = &b->pairs.v[l->pair];
		struct text_line text;

		if (!p->of[side])
			side = !side;
		text = diff_lines_text(
			b->line_rows.texts[side], p->of[side]->file, (int)l->line[side]);
		rows[i] = row_of_pair(b, l->pair);
		rows[i].file = p->of[side]->file;
		rows[i].line = l->line[side];
		rows[i].calls_a = rows[i].calls_b = UNITS_UNKNOWN;
		if (text.n)
			rows[i].text = arena_strndup(a, text.p, text.n);
	}
	fill_rows(b, &b->lines, rows);
	return make_table(a, rows, n, b->o->by_total);
}

static struct diff_table paths_table(struct arena *a, const struct builder *b)
{
	size_t n = b->paths.cells.n;
	struct diff_row *rows = arena_new_n(a, struct diff_row, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct context *p = &b->path_rows.v[i];

		rows[i] = row_of_pair(b, p->pair);
		rows[i].path = p->parent ? &rows[p->parent - 1] : NULL;
		rows[i].calls_a = rows[i].calls_b = UNITS_UNKNOWN;
	}
	fill_rows(b, &b->paths, rows);
	return make_table(a, rows, n, b->o->by_total);
}

/* ---- building -------------------------------------------------------------------------------- */

static void fill_total(const struct builder *b, struct diff_value *ret)
{
	struct diff_sum sums[2] = { b->all[0], b->all[1] };
	double p;

	for (int side = 0; side < 2; side++) {
		const struct profile *profile = b->sides[side]->profile;

		sums[side].cross = sums[side].var;
		if (!profile->is_exact &&
			profile->lost_share < 1) /* what value_of takes off again */
			sums[side].x /= 1 - profile->lost_share;
	}
	p = fill(b, sums, ret);
	ret->is_named = p <= FALSE_SHARE;
}

const struct diff *diff_build(struct arena *a, const struct diff_side *before,
	const struct diff_side *after, const struct diff_options *o)
{
	struct diff *d = arena_new(a, struct diff);
	struct builder b = { .sides = { before, after },
		.o = o,
		.lost = UINT32_MAX,
		.line_rows.texts = { before->texts, after->texts },
		.frames = xcalloc(STACKS_DEPTH, sizeof *b.frames) };

	trie_init(&b.path_of);
	match_functions(a, &b);
	charge_side(&b, 0);
	charge_side(&b, 1);
	d->unit = o->normalize == DIFF_RUN ? UNIT_SHARE : before->stacks->unit;
	d->by_total = o->by_total;
	d->is_timed = b.is_timed[0] && b.is_timed[1];
	fill_total(&b, &d->total);
	d->functions = functions_table(a, &b);
	d->lines = lines_table(a, &b);
	d->paths = paths_table(a, &b);
	free(b.frames);
	diff_sums_done(&b.functions);
	diff_sums_done(&b.lines);
	diff_sums_done(&b.paths);
	diff_lines_done(&b.line_rows);
	vec_done(&b.line_of[0]);
	vec_done(&b.line_of[1]);
	trie_done(&b.path_of);
	vec_done(&b.path_rows);
	return d;
}

enum { PATH_STEPS = 64 };

void diff_add_path(struct buf *to, const struct diff_row *r)
{
	const struct diff_row *steps[PATH_STEPS];
	size_t n = 0;

	for (; r && n < PATH_STEPS; r = r->path)
		steps[n++] = r;
	if (r)
		buf_adds(to, "… › ");
	while (n-- > 0)
		buf_printf(to, "%s%s", steps[n]->name, n ? " › " : "");
}
