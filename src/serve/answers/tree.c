/* SPDX-License-Identifier: MIT
 * Answers "tree" and "sandwich": slices of flame trees as columns. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/inverted_tree.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/thread_states.h"
#include "base/err.h"
#include "json/values.h"
#include "serve/answers/answer.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "base/banned.h"

struct slice {
	const struct flametree *tree;
	struct inverted_tree *turned; /* what the tree is of; NULL: it is whole */
	struct flametree_box *v;
	size_t n;
	uint32_t node;
	bool has_calls;
};

/* ---- columns --------------------------------------------------------------------------------- */

enum column {
	COLUMN_ID,
	COLUMN_F,
	COLUMN_D,
	COLUMN_X,
	COLUMN_W,
	COLUMN_S,
	COLUMN_N,
	COLUMN_C,
	COLUMN_H,
	COLUMNS
};

static void cell(const struct slice *s, const struct flametree_box *b, enum column column,
	struct json_writer *w)
{
	const struct flametree *t = s->tree;

	switch (column) {
	case COLUMN_ID:
		json_u64(w, b->node);
		break;
	case COLUMN_F:
		json_u64(w, t->function[b->node]);
		break;
	case COLUMN_D:
		json_u64(w, t->depth[b->node] - t->depth[s->node]);
		break;
	case COLUMN_X:
		short_json(t->x[b->node], w);
		break;
	case COLUMN_W:
		short_json(t->total[b->node], w);
		break;
	case COLUMN_S:
		short_json(t->self[b->node], w);
		break;
	case COLUMN_N:
		json_u64(w, t->n_samples[b->node]);
		break;
	case COLUMN_C:
		if (s->has_calls)
			json_u64(w, t->n_calls[b->node]);
		else
			json_null(w);
		break;
	case COLUMN_H:
		json_u64(w, b->n_hidden);
		break;
	case COLUMNS:
		break;
	}
}

/* The root is no function and has no box. */
static void write_boxes(
	const struct slice *s, const char *key, struct mentioned *m, struct json_writer *w)
{
	static const char *const names[COLUMNS] = { "id", "f", "d", "x", "w", "s", "n", "c", "h" };

	json_key(w, key);
	json_object_begin(w);
	for (enum column c = 0; c < COLUMNS; c++) {
		json_key(w, names[c]);
		json_array_begin(w);
		for (size_t i = s->v[0].node == 0; i < s->n; i++)
			cell(s, &s->v[i], c, w);
		json_array_end(w);
	}
	json_object_end(w);
	for (size_t i = s->v[0].node == 0; i < s->n; i++)
		mention(m, s->tree->function[s->v[i].node]);
}

static void cut(struct slice *s, double at_least, struct flametree_window window)
{
	size_t most = s->turned || s->tree->n > ANSWER_BOXES ? ANSWER_BOXES : s->tree->n;

	s->v = xcalloc(most, sizeof *s->v);
	if (s->turned) {
		s->n = inverted_tree_slice(s->turned, s->node, at_least, s->v, most);
		s->tree = inverted_tree_nodes(s->turned);
	} else {
		s->n = flametree_slice(s->tree, s->node, at_least, window, s->v, most);
	}
}

static void write_rest(const struct slice *s, struct json_writer *w)
{
	uint64_t n = 0;
	double value = 0;

	for (size_t i = 0; i < s->n; i++) {
		n += s->v[i].n_hidden;
		value += s->v[i].n_hidden ? s->v[i].hidden : 0;
	}
	json_key(w, "left_out");
	json_object_begin(w);
	json_kv_u64(w, "boxes", n);
	json_key(w, "value");
	short_json(value, w);
	json_object_end(w);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* A number, or a key (16 hexadecimal digits). */
static int parse_node(
	const struct selection *s, struct slice *x, const struct params *p, struct err *e)
{
	const char *text = params_find(p, "node");
	uint64_t key;
	char *end;

	if (text && strlen(text) == 16) {
		key = strtoull(text, &end, 16);
		if (*end)
			return err_set(e, ERR_USAGE, "node must be a number or a key");
		x->node = x->turned ? inverted_tree_find(x->turned, s->stacks, key)
				    : flametree_find(x->tree, s->stacks, key);
		x->tree = x->turned ? inverted_tree_nodes(x->turned) : x->tree;
		return 0;
	}
	if (params_u32(p, "node", UINT32_MAX, &x->node, e) < 0)
		return -(int)e->code;
	if (x->node >= x->tree->n)
		return err_set(e, ERR_NO_FILE, "the tree has no node %u", x->node);
	return 0;
}

static void write_path(const struct slice *s, struct mentioned *m, struct json_writer *w)
{
	VEC(uint32_t) path = VEC_INIT;

	for (uint32_t node = s->node; node; node = s->tree->parent[node])
		vec_push(&path, node);
	json_key(w, "path");
	json_array_begin(w);
	json_array_begin(w);
	json_u64(w, 0);
	json_i64(w, -1);
	json_array_end(w);
	while (path.n) {
		uint32_t node = path.v[--path.n];

		mention(m, s->tree->function[node]);
		json_array_begin(w);
		json_u64(w, node);
		json_u64(w, s->tree->function[node]);
		json_array_end(w);
	}
	json_array_end(w);
	vec_done(&path);
}

static void write_tree(const struct selection *s, const struct slice *x, const char *direction,
	struct json_writer *w)
{
	struct mentioned m = { 0 };
	char key[20];

	snprintf(key, sizeof key, "%016" PRIx64, flametree_key(x->tree, s->stacks, x->node));
	answer_total(s, w);
	json_kv_string(w, "direction", direction);
	json_kv_string(w, "note", selection_is_parted(s) ? SELECTION_PARTED : "");
	json_key(w, "n_nodes");
	if (x->turned)
		json_null(w);
	else
		json_u64(w, x->tree->n - 1);
	json_kv_u64(w, "node", x->node);
	json_kv_string(w, "key", x->node ? key : "0");
	json_key(w, "value");
	short_json(x->tree->total[x->node], w);
	json_key(w, "x");
	short_json(x->tree->x[x->node], w);
	write_path(x, &m, w);
	write_boxes(x, "boxes", &m, w);
	write_rest(x, w);
	answer_functions(&m, s->recording->frames, w);
}

static int parse_width(const struct params *p, double *ret, struct err *e)
{
	*ret = 1200;
	return params_number(p, "width", 1, 1e6, ret, e);
}

static int answer_by_time(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct slice x = { 0 };
	struct flametree_window window = { 0 };
	struct selection *s;
	double width, at_least;
	size_t number;
	char thread[24];

	if (parse_width(p, &width, e) < 0 ||
		params_number(p, "from", 0, 1e9, &window.from, e) < 0 ||
		params_number(p, "to", 0, 1e9, &window.to, e) < 0 ||
		library_select(l, p, LIBRARY_WHOLE_TIME, &s, e) < 0)
		return -(int)e->code;
	x.tree = selection_time_tree(s, &number);
	if (!x.tree)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(s->recording,
				"it does not keep the order of calls: samples do, and so does leadline run --trace=timeline; other tools' totals do not"));
	x.has_calls = s->stacks->nodes->n > 0;
	if (parse_node(s, &x, p, e) < 0)
		return -(int)e->code;
	if (window.from > 0 && window.to <= 0)
		window.to = 1e9;
	at_least = window.to > 0 && window.to - window.from < x.tree->total[x.node]
		? window.to - window.from
		: x.tree->total[x.node];
	cut(&x, at_least / width / 2, window);
	snprintf(thread, sizeof thread, "#%zu", number);
	json_kv_string(w, "thread", thread);
	write_tree(s, &x, "time", w);
	free(x.v);
	return 0;
}

int answer_tree(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const char *direction = params_find(p, "direction");
	bool is_inverted = direction && strcmp(direction, "inverted") == 0;
	struct selection *s;
	struct slice x = { 0 };
	double width;

	if (direction && strcmp(direction, "time") == 0)
		return answer_by_time(l, p, w, e);
	if (direction && *direction && !is_inverted && strcmp(direction, "left-heavy") != 0)
		return err_set(e, ERR_USAGE, "direction must be left-heavy, inverted or time");
	if (answer_stacks(l, p, &s, e) < 0 || parse_width(p, &width, e) < 0)
		return -(int)e->code;
	x.turned = is_inverted ? selection_inverted(s) : NULL;
	x.tree = is_inverted ? inverted_tree_nodes(x.turned) : selection_tree(s);
	x.has_calls = s->stacks->nodes->n && !is_inverted;
	if (parse_node(s, &x, p, e) < 0)
		return -(int)e->code;
	cut(&x, x.tree->total[x.node] / width / 2, (struct flametree_window){ 0 });
	write_tree(s, &x, is_inverted ? "inverted" : "left-heavy", w);
	free(x.v);
	return 0;
}

/* ---- sandwich -------------------------------------------------------------------------------- */

static void write_half(struct selection *s, const char *key, uint32_t function, double width,
	enum inverted_tree_direction direction, struct mentioned *m, struct json_writer *w)
{
	struct slice x = { .turned = inverted_tree_new(selection_tree(s), direction, function),
		.has_calls = s->stacks->nodes->n && direction == INVERTED_TREE_CALLEES_OF };

	x.tree = inverted_tree_nodes(x.turned);
	x.node = x.tree->n > 1; /* the function itself */
	cut(&x, x.tree->total[x.node] / width / 2, (struct flametree_window){ 0 });
	write_boxes(&x, key, m, w);
	free(x.v);
	inverted_tree_free(x.turned);
}

int answer_sandwich(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct mentioned m = { 0 };
	struct selection *s;
	uint32_t function;
	double width, value = 0, self = 0;

	if (answer_stacks(l, p, &s, e) < 0 || parse_width(p, &width, e) < 0 ||
		answer_function(s, p, &function, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < s->profile->n_functions; i++) {
		if (s->profile->functions[i].function != function)
			continue;
		value = s->profile->functions[i].cost.total_value;
		self = s->profile->functions[i].cost.self_value;
	}
	answer_total(s, w);
	json_kv_u64(w, "function_id", function);
	json_kv_double(w, "value", value);
	json_kv_double(w, "self", self);
	mention(&m, function);
	write_half(s, "callers", function, width, INVERTED_TREE_CALLERS_OF, &m, w);
	write_half(s, "callees", function, width, INVERTED_TREE_CALLEES_OF, &m, w);
	answer_functions(&m, s->recording->frames, w);
	return 0;
}
