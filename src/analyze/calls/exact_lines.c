/* SPDX-License-Identifier: MIT
 * See exact_lines.h. */
#include "analyze/calls/exact_lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/samples/profile.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct row {
	uint32_t function; /* index in functions */
	struct exact_line line;
};

struct builder {
	struct arena *a;
	struct tables *t;
	struct frames *frames;
	struct map functions;   /* number → index */
	struct map rows_by_key; /* function and line → index */
	struct map latest; /* thread, code and line → index in records: a later one replaces it */
	VEC(struct rec_line_count) records;
	VEC(struct exact_lines_function) found;
	VEC(struct row) rows;
};

static bool is_chosen(const uint32_t *threads, size_t n, uint32_t row)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i] == row)
			return true;
	return !threads;
}

static uint32_t function_of(struct builder *b, uint32_t code)
{
	struct stack_frame f = frames_of_code(b->frames, code, 0);
	uint64_t index;

	if (map_find(&b->functions, f.function, &index))
		return (uint32_t)index;
	map_put(&b->functions, f.function, b->found.n);
	vec_push(&b->found,
		(struct exact_lines_function){ .name = f.name,
			.file = f.file,
			.function = f.function,
			.first_line = f.first_line });
	return (uint32_t)b->found.n - 1;
}

static double seconds(uint64_t ns)
{
	return ns == RECORD_UNKNOWN ? UNITS_UNKNOWN : (double)ns / 1e9;
}

static void add(struct builder *b, const struct rec_line_count *r)
{
	uint32_t function = function_of(b, r->code);
	uint64_t key = (uint64_t)function << 32 | r->line, index;
	struct exact_line *l;

	if (!r->line) { /* the function as a whole */
		saturated_add(&b->found.v[function].calls, r->hits);
		b->found.v[function].total_s += seconds(r->total_ns);
		return;
	}
	if (!map_find(&b->rows_by_key, key, &index)) {
		index = b->rows.n;
		map_put(&b->rows_by_key, key, index);
		vec_push(&b->rows, (struct row){ .function = function, .line.line = r->line });
	}
	l = &b->rows.v[index].line;
	saturated_add(&l->hits, r->hits);
	l->total_s += seconds(r->total_ns);
	l->own_s += seconds(r->own_ns);
	l->callees_s += seconds(r->callees_ns);
	l->max_s = r->max_ns == RECORD_UNKNOWN ? UNITS_UNKNOWN : fmax(l->max_s, seconds(r->max_ns));
}

/* Counters are written more than once, each time what they are by then: the last one counts. */
static void read_records(struct builder *b, const uint32_t *threads, size_t n_threads)
{
	struct record_iter it = record_iter(b->t, RECORD_line_count);
	struct map codes = MAP_INIT; /* thread and code → a number for the pair */

	for (const struct rec_line_count *r; (r = record_next(&it));) {
		uint64_t pair, at, key = (uint64_t)r->thread << 32 | r->code;

		if (!is_chosen(threads, n_threads, r->thread))
			continue;
		if (!map_find(&codes, key, &pair))
			map_put(&codes, key, pair = codes.n);
		if (map_find(&b->latest, pair << 32 | r->line, &at)) {
			b->records.v[at] = *r;
			continue;
		}
		map_put(&b->latest, pair << 32 | r->line, b->records.n);
		vec_push(&b->records, *r);
	}
	record_iter_done(&it);
	map_done(&codes);
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->line.line < y->line.line ? -1 : x->line.line > y->line.line;
}

static int by_place(const void *a, const void *b)
{
	const struct exact_lines_function *x = a, *y = b;
	int files = strcmp(x->file, y->file);

	if (files || x->first_line == y->first_line)
		return files ? files : strcmp(x->name, y->name);
	return x->first_line < y->first_line ? -1 : 1;
}

static struct exact_lines *finish(struct builder *b)
{
	struct exact_lines *r = arena_new(b->a, struct exact_lines);
	struct exact_line *lines = arena_new_n(b->a, struct exact_line, b->rows.n);
	struct exact_lines_function *functions;

	if (b->rows.n)
		qsort(b->rows.v, b->rows.n, sizeof *b->rows.v, by_line);
	for (size_t i = 0; i < b->rows.n; i++) {
		struct exact_lines_function *f = &b->found.v[b->rows.v[i].function];

		lines[i] = b->rows.v[i].line;
		if (!f->n_lines++)
			f->lines = &lines[i];
		f->total_s += f->calls ? 0 : lines[i].total_s;
		f->last_line = lines[i].line;
		r->has_own |= units_is_known(lines[i].own_s);
		r->is_timed |= units_is_known(lines[i].total_s);
	}
	functions = arena_copy(b->a, b->found.v, b->found.n * sizeof *b->found.v);
	if (b->found.n)
		qsort(functions, b->found.n, sizeof *functions, by_place);
	r->functions = functions;
	r->n_functions = b->found.n;
	return r;
}

/* By the clock; counts alone do not tell what callees took. */
static bool has_traced_calls(struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_meta);
	bool found = false;

	for (const struct rec_meta *m; (m = record_next(&it));)
		found |= strcmp(tables_string(t, m->key), "trace") == 0 && m->value.n == 5 &&
			memcmp(m->value.p, "calls", 5) == 0;
	record_iter_done(&it);
	return found;
}

bool exact_lines_has_any(const struct exact_lines *l)
{
	for (size_t i = 0; i < l->n_functions; i++)
		if (l->functions[i].n_lines)
			return true;
	return false;
}

static bool has_losses(struct tables *t)
{
	static const char *const kinds[] = { "agent records", "threads without room",
		"lines without room" };
	struct record_iter it = record_iter(t, RECORD_loss);
	bool found = false;

	for (const struct rec_loss *l; !found && (l = record_next(&it));)
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			found |= strcmp(tables_string(t, l->what), kinds[i]) == 0;
	record_iter_done(&it);
	return found;
}

const char *exact_lines_note(const struct exact_lines *l)
{
	return l->has_own && !l->has_all_callees
		? "own time includes callees whose lines were not counted; add --trace to tell them apart"
		: "";
}

const struct exact_lines *exact_lines_build(struct arena *a, struct tables *t, struct frames *f,
	const uint32_t *threads, size_t n_threads)
{
	struct builder b = { .a = a, .t = t, .frames = f };
	struct exact_lines *r;

	read_records(&b, threads, n_threads);
	vec_each (&b.records, record)
		add(&b, record);
	r = finish(&b);
	r->has_all_callees = has_traced_calls(t);
	r->is_incomplete = has_losses(t);
	map_done(&b.functions);
	map_done(&b.rows_by_key);
	map_done(&b.latest);
	vec_done(&b.records);
	vec_done(&b.found);
	vec_done(&b.rows);
	return r->n_functions ? r : NULL;
}

const struct profile *exact_lines_profile(struct arena *a, const struct exact_lines *l)
{
	struct profile *p = arena_new(a, struct profile);
	struct profile_function *to = arena_new_n(a, struct profile_function, l->n_functions + 1);

	*p = (struct profile){ .unit = UNIT_SECONDS,
		.is_exact = true,
		.functions = to,
		.n_functions = l->n_functions };
	for (size_t i = 0; i < l->n_functions; i++) {
		const struct exact_lines_function *f = &l->functions[i];

		to[i] = (struct profile_function){ .name = f->name,
			.file = f->file,
			.first_line = f->first_line,
			.function = f->function,
			.calls = f->calls,
			.cost.total_value = f->total_s };
		for (size_t k = 0; k < f->n_lines; k++)
			to[i].cost.self_value +=
				l->has_own ? f->lines[k].own_s : f->lines[k].total_s;
		p->value += to[i].cost.self_value;
	}
	return p;
}
