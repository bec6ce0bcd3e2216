/* SPDX-License-Identifier: MIT
 * Answers "diff" and "difftree": two of the recordings compared, with the numbers of `leadline diff --json`. The last
 * comparison is kept: the page asks for both answers, and for parts of the tree. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/diff_source.h"
#include "analyze/diff/diff_tree.h"
#include "analyze/host/usage.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "json/diff.h"
#include "json/values.h"
#include "serve/answers/answer.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "base/banned.h"

enum { ROWS = 500, MOST_ROWS = 5000, QUICK_PLACES = 100000 };

struct comparison {
	char *key; /* what was asked, as text; owned */
	struct arena arena;
	const struct diff *diff;
	struct diff_name names[2];
	double noise;
	const struct diff_tree *trees[2]; /* by side; NULL until asked for */
};

static const char *const normalizations[] = { "absolute", "run", "unit" }; /* diff_normalize */

void comparison_free(struct comparison *c)
{
	if (!c)
		return;
	arena_done(&c->arena);
	free(c->key);
	free(c);
}

/* ---- which two, and how ---------------------------------------------------------------------- */

static int parse_word(const struct params *p, const char *name, const char *const *words, size_t n,
	size_t *ret, struct err *e)
{
	const char *word = params_find(p, name);

	if (!word || !*word)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return err_set(e, ERR_USAGE, "%s cannot be '%.100s'", name, word);
}

static int parse_options(const struct params *p, struct diff_options *o, struct err *e)
{
	static const char *const orders[] = { "self", "total" };
	size_t normalize = DIFF_ABSOLUTE, order = 0;

	*o = (struct diff_options){ .noise = DIFF_NOISE };
	if (parse_word(p, "normalize", normalizations, 3, &normalize, e) < 0 ||
		parse_word(p, "sort", orders, 2, &order, e) < 0 ||
		params_number(p, "noise", 0, 10, &o->noise, e) < 0)
		return -(int)e->code;
	o->normalize = (enum diff_normalize)normalize;
	o->by_total = order == 1;
	return 0;
}

void params_of_other(const struct params *p, struct params *ret)
{
	const char *with = params_find(p, "with");

	*ret = (struct params){ 0 };
	params_add(ret, "r", with && *with ? with : "1");
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].name, "r") != 0)
			params_add(ret, p->v[i].name, p->v[i].value);
}

static int select_other(
	struct library *l, const struct params *p, struct selection **ret, struct err *e)
{
	struct params other;
	int status;

	params_of_other(p, &other);
	status = library_select(l, &other, LIBRARY_BLOCKS, ret, e);
	params_done(&other);
	return status;
}

bool comparison_is_large(const struct library *l, const struct params *p)
{
	struct recording *r[2] = { NULL, NULL };
	struct err e = ERR_INIT;
	struct params other;
	bool is_large;

	params_of_other(p, &other);
	is_large = library_find(l, p, &r[0], &e) == 0 && library_find(l, &other, &r[1], &e) == 0 &&
		r[0]->n_places + r[1]->n_places > QUICK_PLACES;
	params_done(&other);
	return is_large;
}

static struct diff_name name_of(struct arena *a, const struct diff_source *s, struct recording *r)
{
	struct buf made = BUF_INIT;
	struct diff_name name = { .file = r->path,
		.damage = recording_damage(r),
		.command = r->usage->command,
		.wall_s = r->origin.is_foreign ? UNITS_UNKNOWN : r->usage->wall_s };

	diff_source_made(s, &made);
	name.made = arena_strdup(a, buf_str(&made));
	buf_done(&made);
	return name;
}

static int build(struct comparison *c, struct library *l, struct params *p, struct err *e)
{
	const char *unit = params_find(p, "unit");
	struct selection *s[2];
	struct diff_source sources[2];
	struct diff_side sides[2];
	struct diff_options o;

	if (parse_options(p, &o, e) < 0 || library_select(l, p, LIBRARY_BLOCKS, &s[0], e) < 0 ||
		select_other(l, p, &s[1], e) < 0)
		return -(int)e->code;
	if (s[0]->recording == s[1]->recording)
		return err_set(e, ERR_USAGE, "both sides are the same recording");
	for (int i = 0; i < 2; i++) {
		sources[i] = diff_source_of(s[i], s[i]->recording->name);
		c->names[i] = name_of(&c->arena, &sources[i], s[i]->recording);
	}
	if (s[0]->stacks->unit == UNIT_BYTES)
		o.noise = 0;
	c->noise = o.noise;
	if (diff_sides(&c->arena, sources, &o, unit && *unit ? unit : NULL, sides, e) < 0) {
		/* Not a wrong parameter: these two cannot be compared so. */
		e->code = ERR_UNSUPPORTED;
		return -(int)e->code;
	}
	c->diff = diff_build(&c->arena, &sides[0], &sides[1], &o);
	return 0;
}

/* All of the request but what an answer takes out of the comparison. */
static char *key_of(const struct params *p)
{
	static const char *const others[] = { "node", "width", "side", "limit", "quick", "token",
		NULL };
	struct buf key = BUF_INIT;
	char *text;

	for (size_t i = 0; i < p->n; i++) {
		size_t k = 0;

		while (others[k] && strcmp(others[k], p->v[i].name) != 0)
			k++;
		if (!others[k])
			buf_printf(&key, "%s\1%s\2", p->v[i].name, p->v[i].value);
	}
	text = xstrdup(buf_str(&key));
	buf_done(&key);
	return text;
}

static int compare(struct library *l, struct params *p, struct comparison **ret, struct err *e)
{
	char *key = key_of(p);
	struct comparison *c = l->comparison;

	if (c && strcmp(c->key, key) == 0) {
		free(key);
		*ret = c;
		return 0;
	}
	c = xcalloc(1, sizeof *c);
	c->key = key;
	/* Large recordings are compared when a user asks for it, not by the way. */
	if (params_is_set(p, "quick") && comparison_is_large(l, p))
		err_set(e, ERR_UNSUPPORTED, "comparing these takes a while: open the Diff tab");
	else
		build(c, l, p, e);
	if (!c->diff) {
		comparison_free(c);
		return -(int)e->code;
	}
	comparison_free(l->comparison);
	*ret = l->comparison = c;
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

int answer_diff(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct comparison *c;
	uint32_t limit = ROWS;
	struct diff cut;

	if (params_u32(p, "limit", MOST_ROWS, &limit, e) < 0 || compare(l, p, &c, e) < 0)
		return -(int)e->code;
	cut = *c->diff;
	json_kv_u64(w, "n_functions", cut.functions.n);
	json_kv_u64(w, "n_lines", cut.lines.n);
	json_kv_bool(w, "is_timed", cut.is_timed);
	if (cut.functions.n > limit)
		cut.functions.n = limit;
	if (cut.lines.n > limit)
		cut.lines.n = limit;
	diff_json(&cut, c->names, c->noise, false, w);
	return 0;
}

/* ---- the tree -------------------------------------------------------------------------------- */

struct slice {
	const struct diff_tree *tree;
	struct diff_box *v;
	size_t n;
	uint32_t node;
	struct intern functions; /* "name\0file\0line" → number */
};

static uint32_t function_of(struct slice *s, uint32_t node)
{
	const struct diff_row *r = s->tree->v[node].row;
	struct buf key = BUF_INIT;
	uint32_t id;

	buf_add(&key, r->name, strlen(r->name) + 1);
	buf_add(&key, r->file, strlen(r->file) + 1);
	buf_printf(&key, "%u", r->line);
	id = intern_add(&s->functions, key.data, key.n, NULL);
	buf_done(&key);
	return id;
}

static void write_functions(const struct slice *s, struct json_writer *w)
{
	json_key(w, "functions");
	json_array_begin(w);
	for (uint32_t i = 0; i < s->functions.items.n; i++) {
		const char *name = intern_get(&s->functions, i)->p;
		const char *file = name + strlen(name) + 1, *line = file + strlen(file) + 1;

		json_array_begin(w);
		json_u64(w, i);
		json_string(w, name);
		json_string(w, file);
		json_u64(w, strtoul(line, NULL, 10));
		json_u64(w, 0);
		json_array_end(w);
	}
	json_array_end(w);
}

enum column {
	COLUMN_ID,
	COLUMN_F,
	COLUMN_D,
	COLUMN_X,
	COLUMN_W,
	COLUMN_S,
	COLUMN_A,
	COLUMN_B,
	COLUMN_PLUS_MINUS,
	COLUMN_NAMED,
	COLUMN_H,
	COLUMNS
};

static void cell(struct slice *s, size_t i, int side, enum column column, struct json_writer *w)
{
	const struct diff_node *node = &s->tree->v[s->v[i].node];
	const struct diff_row *r = node->row;

	switch (column) {
	case COLUMN_ID:
		json_u64(w, s->v[i].node);
		break;
	case COLUMN_F:
		json_u64(w, function_of(s, s->v[i].node));
		break;
	case COLUMN_D:
		json_u64(w, node->depth - s->tree->v[s->node].depth);
		break;
	case COLUMN_X:
		short_json(node->x, w);
		break;
	case COLUMN_W:
		short_json(node->width, w);
		break;
	case COLUMN_S:
		short_json(side ? r->self.b : r->self.a, w);
		break;
	case COLUMN_A:
		short_json(r->total.a, w);
		break;
	case COLUMN_B:
		short_json(r->total.b, w);
		break;
	case COLUMN_PLUS_MINUS:
		short_json(r->total.plus_minus, w);
		break;
	case COLUMN_NAMED:
		json_u64(w, r->total.is_named);
		break;
	case COLUMN_H:
		json_u64(w, s->v[i].n_hidden);
		break;
	case COLUMNS:
		break;
	}
}

static void write_boxes(struct slice *s, int side, struct json_writer *w)
{
	static const char *const names[COLUMNS] = { "id", "f", "d", "x", "w", "s", "a", "b",
		"plus_minus", "named", "h" };

	json_key(w, "boxes");
	json_object_begin(w);
	for (enum column c = 0; c < COLUMNS; c++) {
		json_key(w, names[c]);
		json_array_begin(w);
		for (size_t i = s->node == 0; i < s->n; i++)
			cell(s, i, side, c, w);
		json_array_end(w);
	}
	json_object_end(w);
}

/* From the root to the node: [node, f]. */
static void write_path(struct slice *s, struct json_writer *w)
{
	uint32_t depth = s->tree->v[s->node].depth;

	json_key(w, "path");
	json_array_begin(w);
	for (uint32_t d = 0; d <= depth; d++) {
		uint32_t node = s->node;

		while (s->tree->v[node].depth > d)
			node = s->tree->v[node].parent;
		json_array_begin(w);
		json_u64(w, node);
		json_i64(w, node ? (int64_t)function_of(s, node) : -1);
		json_array_end(w);
	}
	json_array_end(w);
}

static void write_tree(const struct comparison *c, struct slice *s, int side, struct json_writer *w)
{
	const struct diff_node *node = &s->tree->v[s->node];

	json_kv_string(w, "unit", unit_json_name(c->diff->unit));
	json_kv_double(w, "total", s->tree->v[0].width);
	json_kv_string(w, "side", side ? "b" : "a");
	json_kv_u64(w, "n_nodes", s->tree->n - 1);
	json_kv_u64(w, "node", s->node);
	json_key(w, "value");
	short_json(node->width, w);
	json_key(w, "x");
	short_json(node->x, w);
	write_path(s, w);
	write_boxes(s, side, w);
	write_functions(s, w);
}

int answer_difftree(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	static const char *const sides[] = { "a", "b" };
	struct slice s = { 0 };
	double width = 1200;
	struct comparison *c;
	size_t side = 1, most;

	if (params_number(p, "width", 1, 1e6, &width, e) < 0 ||
		parse_word(p, "side", sides, 2, &side, e) < 0 ||
		params_u32(p, "node", UINT32_MAX, &s.node, e) < 0 || compare(l, p, &c, e) < 0)
		return -(int)e->code;
	if (!c->trees[side])
		c->trees[side] = diff_tree_build(&c->arena, c->diff, (int)side);
	s.tree = c->trees[side];
	if (s.node >= s.tree->n)
		return err_set(e, ERR_NO_FILE, "the tree has no node %u", s.node);
	most = s.tree->n < ANSWER_BOXES ? s.tree->n : ANSWER_BOXES;
	s.v = xcalloc(most, sizeof *s.v);
	s.n = diff_tree_slice(s.tree, s.node, s.tree->v[s.node].width / width / 2, s.v, most);
	write_tree(c, &s, (int)side, w);
	intern_done(&s.functions);
	free(s.v);
	return 0;
}
