/* SPDX-License-Identifier: MIT
 * See lines.h. */
#include "json/lines.h"

#include "analyze/calls/exact_lines.h"
#include "analyze/code/frames.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "json/functions.h"
#include "json/values.h"
#include "base/banned.h"

void line_json(const struct profile *p, const struct profile_line *l, struct json_writer *w)
{
	json_kv_i64(w, "line", l->line);
	json_kv_u64(w, "function_id", l->function_id);
	cost_json(p, &l->cost, w);
	json_kv_double(w, "hits", UNITS_UNKNOWN); /* sampling does not count */
	json_kv_bool(w, "is_wait", stacks_is_wait(l->file, l->function));
	json_kv_bool(w, "is_library", frames_is_library(l->file));
	json_key(w, "hottest");
	if (l->column < 0) {
		json_null(w);
		return;
	}
	json_object_begin(w);
	json_kv_i64(w, "column", l->column);
	json_kv_i64(w, "end_column", l->end_column);
	json_kv_double(w, "self_share", l->column_share);
	json_object_end(w);
}

void counted_line_json(const struct exact_lines *of, const struct exact_lines_function *f,
	const struct exact_line *l, struct json_writer *w)
{
	json_kv_u64(w, "line", l->line);
	json_kv_u64(w, "function_id", f->function);
	json_kv_double(w, "self", l->own_s);
	json_kv_double(w, "total", l->total_s);
	json_kv_double(w, "callees", l->callees_s);
	json_kv_bool(w, "self_has_callees", *exact_lines_note(of));
	json_kv_double(w, "max_s", l->max_s);
	json_kv_u64(w, "hits", l->hits);
}

static void begin_row(const char *function, const char *file, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "function", function);
	json_kv_string(w, "file", file);
}

void lines_json_rows(const struct profile *p, size_t first, size_t n, struct json_writer *w)
{
	json_array_begin(w);
	for (size_t i = first; i < p->n_lines && i - first < n; i++) {
		begin_row(p->lines[i].function, p->lines[i].file, w);
		line_json(p, &p->lines[i], w);
		json_object_end(w);
	}
	json_array_end(w);
}

void counted_lines_json_row(const struct exact_lines *of, const struct exact_lines_function *f,
	const struct exact_line *l, struct json_writer *w)
{
	begin_row(f->name, f->file, w);
	counted_line_json(of, f, l, w);
	json_object_end(w);
}

void counted_lines_json_rows(const struct exact_lines *l, size_t n, struct json_writer *w)
{
	json_array_begin(w);
	for (size_t i = 0; i < l->n_functions; i++)
		for (size_t k = 0; k < l->functions[i].n_lines && n; k++, n--)
			counted_lines_json_row(l, &l->functions[i], &l->functions[i].lines[k], w);
	json_array_end(w);
}
