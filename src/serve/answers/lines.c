/* SPDX-License-Identifier: MIT
 * Rows of lines that were counted one by one: chosen, put in order, written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/code/pattern.h"
#include "base/err.h"
#include "json/lines.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "base/banned.h"

struct counted {
	const struct exact_lines_function *f;
	const struct exact_line *l;
};

enum order { SELF, TOTAL, HITS, NAME, PLACE };

static double self_of(const struct exact_line *l)
{
	return isnan(l->own_s) ? l->total_s : l->own_s;
}

/* Larger first; what is not known last. */
static int falling(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return a > b ? -1 : a < b;
}

static int by_place(const struct counted *x, const struct counted *y)
{
	int by_file = strcmp(x->f->file, y->f->file);

	return by_file ? by_file : x->l->line < y->l->line ? -1 : x->l->line > y->l->line;
}

static int compare(const void *a, const void *b, void *order)
{
	const struct counted *x = a, *y = b;
	int result = 0;

	switch (*(const enum order *)order) {
	case SELF:
		result = falling(self_of(x->l), self_of(y->l));
		break;
	case TOTAL:
		result = falling(x->l->total_s, y->l->total_s);
		break;
	case HITS:
		result = falling((double)x->l->hits, (double)y->l->hits);
		break;
	case NAME:
		result = strcmp(x->f->name, y->f->name);
		break;
	case PLACE:
		break;
	}
	return result ? result : by_place(x, y);
}

static int parse_order(const struct params *p, enum order *ret, struct err *e)
{
	static const struct {
		const char *word;
		enum order order;
	} words[] = { { "", PLACE }, { "self", SELF }, { "total", TOTAL }, { "hits", HITS },
		{ "calls", HITS }, { "name", NAME }, { "file", PLACE }, { "line", PLACE } };
	const char *word = params_find(p, "sort");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word ? word : "", words[i].word) == 0) {
			*ret = words[i].order;
			return 0;
		}
	return err_set(e, ERR_USAGE, "sort must be self, total, hits, name, file or line");
}

size_t answer_n_counted(const struct exact_lines *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_functions; i++)
		n += l->functions[i].n_lines;
	return n;
}

int answer_counted_table(const struct exact_lines *l, const struct params *p,
	const struct pattern *pattern, size_t first, size_t n, struct json_writer *w, struct err *e)
{
	struct counted *v;
	enum order order;
	size_t n_rows = 0;

	if (parse_order(p, &order, e) < 0)
		return -(int)e->code;
	v = xcalloc(answer_n_counted(l) + 1, sizeof *v);
	for (size_t i = 0; i < l->n_functions; i++) {
		const struct exact_lines_function *f = &l->functions[i];

		for (size_t k = 0; k < f->n_lines; k++)
			if (!pattern ||
				pattern_matches(pattern, f->name, f->file, f->lines[k].line))
				v[n_rows++] = (struct counted){ f, &f->lines[k] };
	}
	qsort_r(v, n_rows, sizeof *v, compare, &order);
	json_kv_string(w, "note", exact_lines_note(l));
	json_kv_u64(w, "n", n_rows);
	json_key(w, "rows");
	json_array_begin(w);
	for (size_t i = first; i < n_rows && i - first < n; i++)
		counted_lines_json_row(l, v[i].f, v[i].l, w);
	json_array_end(w);
	free(v);
	return 0;
}
