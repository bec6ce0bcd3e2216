/* SPDX-License-Identifier: MIT
 * See profile.h. */
#include "analyze/samples/profile.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/nodes.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/profile_sums.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "base/banned.h"

struct part { /* of a line: one range of columns that was a leaf */
	uint32_t line_id;
	int column, end_column;
	double value;
};

struct times {
	path_time self, total;
};

struct builder {
	const struct stacks *s;
	double scale;                       /* of value: the lost share is taken off */
	struct profile_function *functions; /* by number … */
	struct times *function_times;
	size_t *function_open; /* how often it is on the path at hand */
	bool *function_seen;
	VEC(struct profile_line) lines; /* by line_id … */
	VEC(struct times) line_times;
	VEC(size_t) line_open;
	/* hash of line and columns → index; the first of two equal ones wins */
	struct map part_index;
	VEC(struct part) parts;
	struct profile_sums sums; /* where the stacks have some */
};

static void add_line(struct builder *b, const struct stack_frame *f)
{
	while (b->lines.n <= f->line_id) {
		vec_push(&b->lines, (struct profile_line){ .column = -1, .end_column = -1 });
		vec_push(&b->line_times, (struct times){ 0 });
		vec_push(&b->line_open, 0);
	}
	if (!b->lines.v[f->line_id].file) {
		b->lines.v[f->line_id].file = f->file;
		b->lines.v[f->line_id].function = f->name;
		b->lines.v[f->line_id].function_id = f->function;
		b->lines.v[f->line_id].first_line = f->first_line;
		b->lines.v[f->line_id].line = f->line;
	}
}

/* A line that belongs to several functions is named after the one that is met first: leaves before their callers. */
static void find_lines(struct builder *b)
{
	const struct paths *p = b->s->paths;
	bool *is_met = xcalloc(p->n, sizeof *is_met);

	for (size_t i = 0; i < b->s->n; i++)
		for (uint32_t at = p->of_place[i]; at && !is_met[at]; at = p->v[at].parent) {
			struct stack_frame f = paths_frame(b->s, at);

			is_met[at] = true;
			if (!f.is_synthetic)
				add_line(b, &f);
		}
	free(is_met);
}

/* Recursion counts once: where the outermost of them is. */
static void charge(
	struct profile_cost *c, struct times *times, const struct path_sum *sum, size_t *open)
{
	saturated_add(&c->self_n, sum->self_n);
	times->self += sum->self;
	if ((*open)++)
		return;
	saturated_add(&c->total_n, sum->total_n);
	times->total += sum->total;
}

static void charge_part(struct builder *b, const struct stack_frame *f, double value)
{
	uint64_t key = (uint64_t)f->line_id << 32 | ((uint32_t)f->column & 0xffff) << 16 |
		((uint32_t)f->end_column & 0xffff);
	uint64_t index;

	if (f->column < 0 || f->end_column <= f->column || f->end_column > 0xffff)
		return;
	if (!map_find(&b->part_index, key, &index)) {
		index = b->parts.n;
		map_put(&b->part_index, key, index);
		vec_push(&b->parts,
			(struct part){ .line_id = f->line_id,
				.column = f->column,
				.end_column = f->end_column });
	}
	b->parts.v[index].value += value;
}

static void enter(struct builder *b, const struct stack_frame *f, const struct path_sum *sum)
{
	b->function_seen[f->function] = true;
	charge(&b->functions[f->function].cost, &b->function_times[f->function], sum,
		&b->function_open[f->function]);
	if (!f->is_synthetic)
		charge(&b->lines.v[f->line_id].cost, &b->line_times.v[f->line_id], sum,
			&b->line_open.v[f->line_id]);
}

static void put_times(const struct builder *b, const struct paths_sums *sums,
	const struct times *from, struct profile_cost *to)
{
	to->self_value = paths_value(sums, from->self) * b->scale;
	to->total_value = paths_value(sums, from->total) * b->scale;
}

static void charge_paths(struct builder *b)
{
	struct paths_sums sums = paths_sums(b->s);
	struct paths_walk w = paths_walk(b->s->paths);

	for (uint32_t at; paths_next(&w, &at);) {
		struct stack_frame f = paths_frame(b->s, at);

		if (w.is_entering) {
			enter(b, &f, &sums.v[at]);
			continue;
		}
		b->function_open[f.function]--;
		if (!f.is_synthetic)
			b->line_open.v[f.line_id]--;
	}
	paths_walk_done(&w);
	for (size_t i = 0; i < frames_n_functions(b->s->frames); i++)
		put_times(b, &sums, &b->function_times[i], &b->functions[i].cost);
	for (size_t i = 0; i < b->lines.n; i++)
		put_times(b, &sums, &b->line_times.v[i], &b->lines.v[i].cost);
	paths_sums_done(&sums);
}

static void charge_parts(struct builder *b)
{
	for (size_t i = 0; i < b->s->n; i++) {
		uint32_t leaf = b->s->paths->of_place[i];
		struct stack_frame f;

		if (!leaf)
			continue;
		f = paths_frame(b->s, leaf);
		if (!f.is_synthetic)
			charge_part(b, &f, b->s->v[i].value * b->scale);
	}
}

static void choose_parts(struct builder *b)
{
	VEC(double) most = VEC_INIT;

	for (size_t i = 0; i < b->lines.n; i++)
		vec_push(&most, 0);
	vec_each (&b->parts, x) {
		struct profile_line *l = &b->lines.v[x->line_id];

		if (x->value <= most.v[x->line_id])
			continue;
		most.v[x->line_id] = x->value;
		l->column = x->column;
		l->end_column = x->end_column;
		/* Of one expression alone it is all: the two sums may differ in their last digit. */
		l->column_share = x->value < l->cost.self_value ? x->value / l->cost.self_value
			: l->cost.self_value > 0                ? 1
								: 0;
	}
	vec_done(&most);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int falling(double x, double y)
{
	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_cost(const struct profile_cost *x, const struct profile_cost *y, bool is_total)
{
	int self = falling(x->self_value, y->self_value),
	    total = falling(x->total_value, y->total_value);

	if (is_total)
		return total ? total : self;
	return self ? self : total;
}

static int by_place(const char *file, unsigned line, const char *other, unsigned other_line)
{
	int order = strcmp(file, other);

	return order ? order : line < other_line ? -1 : line > other_line;
}

static int compare_functions(const struct profile_function *x, const struct profile_function *y,
	enum profile_order order)
{
	int result = 0;

	if (order == PROFILE_SELF || order == PROFILE_TOTAL)
		result = by_cost(&x->cost, &y->cost, order == PROFILE_TOTAL);
	else if (order == PROFILE_NAME)
		result = strcmp(x->name, y->name);
	else if (order == PROFILE_CALLS)
		result = falling((double)x->calls, (double)y->calls);
	else if (order == PROFILE_PRIMITIVE)
		result = falling((double)x->primitive_calls, (double)y->primitive_calls);
	else if (order == PROFILE_LINE)
		result = x->first_line < y->first_line ? -1 : x->first_line > y->first_line;
	if (!result && order == PROFILE_FILE)
		result = by_place(x->file, x->first_line, y->file, y->first_line);
	if (!result)
		result = strcmp(x->name, y->name);
	return result ? result : by_place(x->file, x->first_line, y->file, y->first_line);
}

static int compare_lines(
	const struct profile_line *x, const struct profile_line *y, enum profile_order order)
{
	int result = 0;

	if (order == PROFILE_SELF || order == PROFILE_TOTAL)
		result = by_cost(&x->cost, &y->cost, order == PROFILE_TOTAL);
	else if (order == PROFILE_NAME)
		result = strcmp(x->function, y->function);
	else if (order == PROFILE_LINE)
		result = x->line - y->line;
	return result ? result : by_place(x->file, (unsigned)x->line, y->file, (unsigned)y->line);
}

static int function_order(const void *a, const void *b, void *order)
{
	return compare_functions(a, b, *(enum profile_order *)order);
}

static int line_order(const void *a, const void *b, void *order)
{
	return compare_lines(a, b, *(enum profile_order *)order);
}

const struct profile *profile_sorted(
	struct arena *a, const struct profile *p, enum profile_order order)
{
	struct profile *copy = arena_copy(a, p, sizeof *p);
	struct profile_function *functions =
		arena_copy(a, p->functions, p->n_functions * sizeof *functions);
	struct profile_line *lines = arena_copy(a, p->lines, p->n_lines * sizeof *lines);

	if (p->n_functions)
		qsort_r(functions, p->n_functions, sizeof *functions, function_order, &order);
	if (p->n_lines)
		qsort_r(lines, p->n_lines, sizeof *lines, line_order, &order);
	copy->functions = functions;
	copy->lines = lines;
	return copy;
}

/* ---- building -------------------------------------------------------------------------------- */

static struct interval profile_interval(const struct profile *p, double value)
{
	return interval_weighted(p->value > 0 ? value / p->value : 0, p->n_effective);
}

static struct interval share_of(const struct profile *p, const struct sampled_sum *s)
{
	struct interval i = sampled_sum_interval(s);

	return p->value > 0 ? (struct interval){ i.low / p->value, i.high / p->value }
			    : (struct interval){ 0, 0 };
}

/* sum: NULL where samples alone tell. */
static void add_intervals(
	const struct profile *p, const struct profile_sum *sum, struct profile_cost *c)
{
	static const struct interval unknown = { UNITS_UNKNOWN, UNITS_UNKNOWN };

	if (sum) {
		c->self = share_of(p, &sum->self);
		c->total = share_of(p, &sum->total);
		c->self_count = sum->self.count;
		c->total_count = sum->total.count;
		return;
	}
	c->self = p->is_exact ? unknown : profile_interval(p, c->self_value);
	c->total = p->is_exact ? unknown : profile_interval(p, c->total_value);
}

static void keep_functions(struct arena *a, struct profile *p, struct builder *b, size_t n)
{
	struct profile_function *to = arena_new_n(a, struct profile_function, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct stack_function *f = frames_function(b->s->frames, i);

		if (!b->function_seen[i])
			continue;
		to[p->n_functions] = b->functions[i];
		to[p->n_functions].name = f->name;
		to[p->n_functions].file = f->file;
		to[p->n_functions].first_line = f->first_line;
		to[p->n_functions].is_synthetic = f->is_synthetic;
		to[p->n_functions].function = i;
		add_intervals(p, b->sums.functions ? &b->sums.functions[i] : NULL,
			&to[p->n_functions++].cost);
	}
	p->functions = to;
}

static void keep_lines(struct arena *a, struct profile *p, struct builder *b)
{
	struct profile_line *to = arena_new_n(a, struct profile_line, b->lines.n);

	vec_each (&b->lines, l) {
		if (!l->file)
			continue;
		add_intervals(p, b->sums.lines ? &b->sums.lines[l - b->lines.v] : NULL, &l->cost);
		to[p->n_lines++] = *l;
	}
	p->lines = to;
}

const struct profile *profile_build(struct arena *a, const struct stacks *s)
{
	size_t n = frames_n_functions(s->frames);
	struct profile p = { .n_samples = s->n_samples + s->n_lost,
		.value = s->value,
		.unit = s->unit,
		.has_counts = s->sums != NULL,
		.is_exact = s->nodes->n || (s->is_foreign && s->n_samples == 0) };
	struct builder b = { .s = s,
		.functions = xcalloc(n + 1, sizeof *b.functions),
		.function_times = xcalloc(n + 1, sizeof *b.function_times),
		.function_open = xcalloc(n + 1, sizeof *b.function_open),
		.function_seen = xcalloc(n + 1, sizeof *b.function_seen) };

	p.lost_share = s->lost_share;
	p.n_effective = s->look_squares > 0 ? s->value * s->value / s->look_squares : 0;
	if (p.lost_share < 1)
		p.n_effective /= 1 - p.lost_share;
	b.scale = 1 - p.lost_share;
	find_lines(&b);
	charge_paths(&b);
	charge_parts(&b);
	choose_parts(&b);
	if (s->sums)
		b.sums = profile_sums_build(s, b.lines.n);
	keep_functions(a, &p, &b, n);
	keep_lines(a, &p, &b);
	free(b.functions);
	free(b.function_times);
	free(b.function_open);
	free(b.function_seen);
	vec_done(&b.lines);
	vec_done(&b.line_times);
	vec_done(&b.line_open);
	vec_done(&b.parts);
	map_done(&b.part_index);
	profile_sums_done(&b.sums);
	return profile_sorted(a, &p, PROFILE_SELF);
}
