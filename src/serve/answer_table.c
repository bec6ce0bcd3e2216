/* SPDX-License-Identifier: MIT
 * Answers "table" (functions, lines, callers, callees) and "search". */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/exact.h"
#include "analyze/exact_lines.h"
#include "analyze/neighbours.h"
#include "analyze/pattern.h"
#include "analyze/profile.h"
#include "analyze/paths.h"
#include "analyze/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/answer_parts.h"
#include "serve/library.h"
#include "serve/params.h"
#include "base/banned.h"

enum { ROWS = 200, ROWS_MOST = 5000 };

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_cost(const struct profile *p, const struct profile_cost *c, struct json_writer *w)
{
	json_kv_double(w, "self", c->self_value);
	json_kv_double(w, "total", c->total_value);
	json_kv_double(w, "self_low", c->self.low * p->value);
	json_kv_double(w, "self_high", c->self.high * p->value);
	json_kv_double(w, "total_low", c->total.low * p->value);
	json_kv_double(w, "total_high", c->total.high * p->value);
	json_kv_double(w, "self_samples", p->is_exact ? UNITS_UNKNOWN : (double)c->self_n);
	json_kv_double(w, "total_samples", p->is_exact ? UNITS_UNKNOWN : (double)c->total_n);
}

static void write_counted(const struct exact *x, uint32_t index, struct json_writer *w)
{
	const struct exact_function *f = x ? &x->functions[index] : NULL;

	json_kv_double(w, "calls", f ? (double)f->cost.calls : UNITS_UNKNOWN);
	json_kv_double(w, "primitive_calls", f ? (double)f->cost.primitive_calls : UNITS_UNKNOWN);
	json_kv_double(
		w, "resumes", f && x->has_contexts ? (double)f->cost.resumes : UNITS_UNKNOWN);
}

void answer_function_rows(const struct selection *s, const struct profile *p, size_t first,
	size_t n, struct json_writer *w)
{
	json_array_begin(w);
	for (size_t i = first; i < p->n_functions && i - first < n; i++) {
		const struct profile_function *f = &p->functions[i];

		json_object_begin(w);
		json_kv_u64(w, "f", f->function);
		json_kv_string(w, "name", f->name);
		json_kv_string(w, "file", f->file);
		json_kv_u64(w, "line", f->first_line);
		json_kv_u64(w, "kind", answer_kind(s->recording->frames, f->function));
		write_cost(p, &f->cost, w);
		write_counted(s->exact, f->exact, w);
		json_object_end(w);
	}
	json_array_end(w);
}

/* Lines know their function by name, file and first line; kept sorted so that each is found quickly. */
static int by_identity(const void *a, const void *b)
{
	const struct profile_function *x = *(const struct profile_function *const *)a,
				      *y = *(const struct profile_function *const *)b;
	int order = strcmp(x->file, y->file);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : (x->first_line > y->first_line) - (x->first_line < y->first_line);
}

const struct by_place *answer_index(struct selection *s)
{
	const struct profile *p = s->profile;
	struct by_place *x;

	if (s->by_place)
		return s->by_place;
	x = arena_new(&s->arena, struct by_place);
	x->n = p->n_functions;
	x->v = arena_new_n(&s->arena, const struct profile_function *, x->n + 1);
	for (size_t i = 0; i < p->n_functions; i++)
		x->v[i] = &p->functions[i];
	qsort(x->v, x->n, sizeof *x->v, by_identity);
	return s->by_place = x;
}

int64_t answer_line_function(const struct by_place *x, const struct profile_line *l)
{
	struct profile_function wanted = {
		.name = l->function, .file = l->file, .first_line = l->first_line
	};
	const struct profile_function *key = &wanted;
	const struct profile_function **found =
		bsearch(&key, x->v, x->n, sizeof *x->v, by_identity);

	return found ? (int64_t)(*found)->function : -1;
}

static void write_line(const struct by_place *functions, const struct profile *p,
	const struct profile_line *l, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_i64(w, "f", answer_line_function(functions, l));
	json_kv_string(w, "function", l->function);
	json_kv_string(w, "file", l->file);
	json_kv_i64(w, "line", l->line);
	write_cost(p, &l->cost, w);
	json_kv_double(w, "hits", UNITS_UNKNOWN);
	json_key(w, "hottest");
	if (l->column < 0) {
		json_null(w);
	} else {
		json_object_begin(w);
		json_kv_i64(w, "column", l->column);
		json_kv_i64(w, "end_column", l->end_column);
		json_kv_double(w, "share", l->column_share);
		json_object_end(w);
	}
	json_object_end(w);
}

size_t answer_n_lines(const struct selection *s, const struct profile *p)
{
	return s->exact_lines ? answer_n_counted(s->exact_lines) : p->n_lines;
}

static void write_lines(
	struct selection *s, const struct profile *p, size_t first, size_t n, struct json_writer *w)
{
	const struct by_place *functions = answer_index(s);

	json_array_begin(w);
	for (size_t i = first; i < p->n_lines && i - first < n; i++)
		write_line(functions, p, &p->lines[i], w);
	json_array_end(w);
}

void answer_line_rows(struct selection *s, const struct profile *p, size_t n, struct json_writer *w)
{
	if (s->exact_lines)
		answer_counted_rows(s->exact_lines, n, w);
	else
		write_lines(s, p, 0, n, w);
}

/* ---- callers and callees --------------------------------------------------------------------- */

static void write_neighbours(const struct selection *s, const struct neighbours *of,
	bool is_callers, size_t limit, struct json_writer *w)
{
	const struct neighbour *v = is_callers ? of->callers : of->callees;
	size_t n = is_callers ? of->n_callers : of->n_callees;

	json_kv_u64(w, "n", n);
	json_kv_double(w, "value", of->total);
	json_key(w, "rows");
	json_array_begin(w);
	for (size_t i = 0; i < n && i < limit; i++) {
		const struct stack_function *f =
			v[i].is_none ? NULL : frames_function(s->recording->frames, v[i].function);

		json_object_begin(w);
		json_kv_i64(w, "f", f ? (int64_t)v[i].function : -1);
		json_kv_string(w, "name", f ? f->name : NULL);
		json_kv_string(w, "file", f ? f->file : "");
		json_kv_u64(w, "line", f ? f->first_line : 0);
		json_kv_double(w, "value", v[i].value);
		json_kv_u64(w, "n", v[i].n);
		json_kv_double(w, "share", of->total > 0 ? v[i].value / of->total : 0);
		json_object_end(w);
	}
	json_array_end(w);
}

static int table_of_neighbours(const struct selection *s, const struct params *p, bool is_callers,
	size_t limit, struct json_writer *w, struct err *e)
{
	struct arena a = ARENA_INIT;
	uint32_t function;

	if (answer_function(s, p, &function, e) < 0)
		return -(int)e->code;
	json_kv_u64(w, "function", function);
	write_neighbours(s,
		s->exact ? exact_neighbours(&a, s->exact, function)
			 : neighbours_build(&a, s->stacks, s->profile->lost_share, function),
		is_callers, limit, w);
	arena_done(&a);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int parse_sort(
	const struct selection *s, const struct params *p, enum profile_order *ret, struct err *e)
{
	static const char *const words[] = { [PROFILE_SELF] = "self",
		[PROFILE_TOTAL] = "total",
		[PROFILE_NAME] = "name",
		[PROFILE_FILE] = "file",
		[PROFILE_LINE] = "line",
		[PROFILE_CALLS] = "calls",
		[PROFILE_PRIMITIVE] = "pcalls" };
	const char *word = params_find(p, "sort");

	*ret = PROFILE_SELF;
	if (!word || !*word)
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = (enum profile_order)i;
		return i >= PROFILE_CALLS && !s->exact
			? err_set(e, ERR_UNSUPPORTED,
				  "samples do not count calls; leadline run --trace does")
			: 0;
	}
	return err_set(e, ERR_USAGE, "sort wants self, total, name, file, line, calls or pcalls");
}

static int table_of_rows(struct selection *s, const struct params *p, bool is_lines, size_t first,
	size_t limit, struct json_writer *w, struct err *e)
{
	const char *filter = params_find(p, "filter");
	struct arena a = ARENA_INIT;
	const struct profile *rows = s->profile;
	struct pattern *pattern = NULL;
	enum profile_order order;

	if (filter && *filter && pattern_new(&pattern, filter, e) < 0)
		return -(int)e->code;
	if (is_lines && s->exact_lines) {
		answer_counted_table(s->exact_lines, p, pattern, first, limit, w, e);
		pattern_free(pattern);
		return -(int)e->code;
	}
	if (parse_sort(s, p, &order, e) < 0) {
		pattern_free(pattern);
		return -(int)e->code;
	}
	if (order != PROFILE_SELF)
		rows = profile_sorted(&a, rows, order);
	if (pattern)
		rows = pattern_rows(&a, rows, pattern);
	json_kv_u64(w, "n", is_lines ? rows->n_lines : rows->n_functions);
	json_key(w, "rows");
	if (is_lines)
		write_lines(s, rows, first, limit, w);
	else
		answer_function_rows(s, rows, first, limit, w);
	pattern_free(pattern);
	arena_done(&a);
	return 0;
}

int answer_table(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const char *what = params_find(p, "what");
	uint32_t first = 0, limit = ROWS;
	struct selection *s;

	what = what && *what ? what : "functions";
	if (answer_profile(l, p, &s, e) < 0 || params_u32(p, "offset", UINT32_MAX, &first, e) < 0 ||
		params_u32(p, "limit", ROWS_MOST, &limit, e) < 0)
		return -(int)e->code;
	json_kv_string(w, "what", what);
	answer_total(s, w);
	if (strcmp(what, "functions") == 0 || strcmp(what, "lines") == 0)
		return table_of_rows(s, p, *what == 'l', first, limit, w, e);
	if (strcmp(what, "callers") == 0 || strcmp(what, "callees") == 0)
		return table_of_neighbours(s, p, strcmp(what, "callers") == 0, limit, w, e);
	return err_set(e, ERR_USAGE, "what wants functions, lines, callers or callees");
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Text as it is, unless it is to be a regular expression. */
static int search_pattern(const struct params *p, struct pattern **ret, struct err *e)
{
	const char *text = params_find(p, "q");
	struct buf escaped = BUF_INIT;
	int status;

	if (!text || !*text)
		return err_set(e, ERR_USAGE, "q: what is searched for?");
	for (const char *c = text; *c; c++) {
		if (strchr("\\^$.[]|()*+?{}", *c) && !params_is_set(p, "regex"))
			buf_addc(&escaped, '\\');
		buf_addc(&escaped, *c);
	}
	status = pattern_new(ret, buf_str(&escaped), e);
	buf_done(&escaped);
	return status;
}

/* Time of the stacks that hold one of them at least. */
static double time_of_any(const struct selection *s, const bool *is_found)
{
	const struct paths *p = s->stacks->paths;
	bool *has_any = xcalloc(p->n, sizeof *has_any);
	double value = 0;

	for (size_t i = 1; i < p->n; i++)
		has_any[i] = has_any[p->v[i].parent] || is_found[p->v[i].function];
	for (size_t i = 0; i < s->stacks->n; i++)
		value += has_any[p->of_place[i]] ? s->stacks->v[i].value : 0;
	free(has_any);
	return value * (1 - selection_lost_share(s));
}

int answer_search(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct pattern *pattern = NULL;
	const struct profile *found;
	struct selection *s;
	uint32_t limit = 50;
	bool *is_found;

	if (answer_profile(l, p, &s, e) < 0 || params_u32(p, "limit", ROWS_MOST, &limit, e) < 0 ||
		search_pattern(p, &pattern, e) < 0)
		return -(int)e->code;
	found = profile_sorted(&a, pattern_rows(&a, s->profile, pattern), PROFILE_TOTAL);
	is_found = arena_new_n(&a, bool, frames_n_functions(s->recording->frames) + 1);
	answer_total(s, w);
	json_kv_u64(w, "n", found->n_functions);
	json_key(w, "ids");
	json_array_begin(w);
	for (size_t i = 0; i < found->n_functions; i++) {
		is_found[found->functions[i].function] = true;
		if (i < ROWS_MOST)
			json_u64(w, found->functions[i].function);
	}
	json_array_end(w);
	json_kv_double(w, "value", time_of_any(s, is_found));
	json_key(w, "functions");
	answer_function_rows(s, found, 0, limit, w);
	pattern_free(pattern);
	arena_done(&a);
	return 0;
}
