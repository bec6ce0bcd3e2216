/* SPDX-License-Identifier: MIT
 * Answers "table" (functions, lines, callers, callees) and "search". */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/samples/neighbours.h"
#include "analyze/code/pattern.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/functions.h"
#include "json/lines.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "base/banned.h"

enum { ROWS = 200, ROWS_MOST = 5000 };

size_t answer_n_lines(const struct selection *s, const struct profile *p)
{
	return s->exact_lines ? answer_n_counted(s->exact_lines) : p->n_lines;
}

/* ---- callers and callees --------------------------------------------------------------------- */

static int table_of_neighbours(const struct selection *s, const struct params *p, bool is_callers,
	size_t limit, struct json_writer *w, struct err *e)
{
	struct arena a = ARENA_INIT;
	const struct neighbours *of;
	uint32_t function;

	if (answer_function(s, p, &function, e) < 0)
		return -(int)e->code;
	of = s->exact ? exact_neighbours(&a, s->exact, function)
		      : neighbours_build(&a, s->stacks, s->profile->lost_share, function);
	json_kv_u64(w, "function_id", function);
	json_kv_u64(w, "n", is_callers ? of->n_callers : of->n_callees);
	json_kv_double(w, "value", of->total);
	json_key(w, "rows");
	neighbours_json_rows(of, is_callers, limit, s->recording->frames, w);
	arena_done(&a);
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int table_of_rows(struct selection *s, const struct params *p, bool is_lines, size_t first,
	size_t limit, struct json_writer *w, struct err *e)
{
	const char *filter = params_find(p, "filter");
	struct arena a = ARENA_INIT;
	const struct profile *rows = s->profile;
	struct pattern *pattern = NULL;
	struct row_order sort;

	if (filter && *filter && pattern_new(&pattern, filter, e) < 0)
		return -(int)e->code;
	if (is_lines && s->exact_lines) {
		answer_counted_table(s->exact_lines, p, pattern, first, limit, w, e);
		pattern_free(pattern);
		return -(int)e->code;
	}
	if (row_order_parse("sort", params_find(p, "sort"), s->exact != NULL, &sort, e) < 0) {
		pattern_free(pattern);
		return -(int)e->code;
	}
	if (sort.order != PROFILE_SELF)
		rows = profile_sorted(&a, rows, sort.order);
	if (pattern)
		rows = pattern_rows(&a, rows, pattern);
	json_kv_u64(w, "n", is_lines ? rows->n_lines : rows->n_functions);
	json_key(w, "rows");
	if (is_lines)
		lines_json_rows(rows, first, limit, w);
	else
		functions_json_rows(rows, s->exact, s->recording->frames,
			&(struct json_rows){ .first = first, .n = limit }, w);
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
	return err_set(e, ERR_USAGE, "what must be functions, lines, callers or callees");
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Text as it is, unless it is to be a regular expression. */
static int search_pattern(const struct params *p, struct pattern **ret, struct err *e)
{
	const char *text = params_find(p, "q");
	struct buf escaped = BUF_INIT;
	int status;

	if (!text || !*text)
		return err_set(e, ERR_USAGE, "q needs a text to search for");
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
	functions_json_rows(
		found, s->exact, s->recording->frames, &(struct json_rows){ .n = limit }, w);
	pattern_free(pattern);
	arena_done(&a);
	return 0;
}
