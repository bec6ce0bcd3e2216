/* SPDX-License-Identifier: MIT
 * See answer.h. */
#include "serve/answers/answer.h"

#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/functions.h"
#include "json/values.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "base/banned.h"

static const struct {
	const char *name;
	answer_fn *make;
} answers[] = { /* alphabetical */
	{ "bench", answer_bench }, { "bytecode", answer_bytecode }, { "diff", answer_diff },
	{ "difftree", answer_difftree }, { "files", answer_files }, { "graph", answer_graph },
	{ "ops_diff", answer_ops_diff }, { "overview", answer_overview }, { "ranks", answer_ranks },
	{ "sandwich", answer_sandwich }, { "search", answer_search }, { "source", answer_source },
	{ "spread", answer_spread }, { "table", answer_table }, { "timeline", answer_timeline },
	{ "torch", answer_torch }, { "tree", answer_tree }
};

/* Whether an answer is about that recording: the one "r" names, the one it is compared with, or, as ranks, all. */
static bool is_about(const struct library *l, const char *name, const struct params *p,
	const struct recording *r)
{
	struct recording *asked = NULL;
	struct err ignored = ERR_INIT;
	struct params other;
	bool is;

	if (strcmp(name, "ranks") == 0)
		return r->torch != NULL;
	if (library_find(l, p, &asked, &ignored) == 0 && asked == r)
		return true;
	params_of_other(p, &other);
	is = params_find(p, "with") && library_find(l, &other, &asked, &ignored) == 0 && asked == r;
	params_done(&other);
	return is;
}

/* Nothing where all it is about are whole. */
static void write_damage(
	struct library *l, const char *name, const struct params *p, struct json_writer *w)
{
	struct buf text = BUF_INIT;

	vec_each (&l->recordings, r) {
		if (!is_about(l, name, p, *r) || !*recording_damage(*r))
			continue;
		if (text.n)
			buf_adds(&text, "; ");
		if (l->recordings.n > 1)
			buf_printf(&text, "%s: ", (*r)->name);
		buf_adds(&text, recording_damage(*r));
	}
	if (text.n)
		json_kv_string(w, "damage", buf_str(&text));
	buf_done(&text);
}

int answer_make(
	struct library *l, const char *name, struct params *p, struct buf *out, struct err *e)
{
	struct json_writer w;
	int status;

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		if (strcmp(answers[i].name, name) != 0)
			continue;
		json_init(&w, out, false);
		json_object_begin(&w);
		status = answers[i].make(l, p, &w, e);
		if (status < 0) {
			buf_clear(out);
			return status;
		}
		write_damage(l, name, p, &w);
		json_object_end(&w);
		return 0;
	}
	return err_set(e, ERR_NO_FILE, "there is nothing to ask by the name '%.100s'", name);
}

bool answer_takes_long(const struct library *l, const char *name, const struct params *p)
{
	return (strcmp(name, "diff") == 0 || strcmp(name, "difftree") == 0) &&
		!params_is_set(p, "quick") && comparison_is_large(l, p);
}

int answer_profile(struct library *l, struct params *p, struct selection **ret, struct err *e)
{
	struct selection *s;

	if (library_select(l, p, LIBRARY_ROWS, &s, e) < 0)
		return -(int)e->code;
	if (!s->profile)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(s->recording,
				"nothing was sampled or counted in it: leadline run records what fills this"));
	*ret = s;
	return 0;
}

int answer_stacks(struct library *l, struct params *p, struct selection **ret, struct err *e)
{
	struct selection *s;

	if (library_select(l, p, LIBRARY_STACKS, &s, e) < 0)
		return -(int)e->code;
	if (!s->profile)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(s->recording,
				"nothing was sampled or traced in it: leadline run records what fills this"));
	*ret = s;
	return 0;
}

int answer_function(const struct selection *s, const struct params *p, uint32_t *ret, struct err *e)
{
	uint32_t function = UINT32_MAX;

	if (params_u32(p, "function", UINT32_MAX, &function, e) < 0)
		return -(int)e->code;
	if (function >= frames_n_functions(s->recording->frames))
		return err_set(e, ERR_NO_FILE, "the recording has no such function");
	*ret = function;
	return 0;
}

void answer_total(const struct selection *s, struct json_writer *w)
{
	total_json(s->profile->unit, s->profile->value, w);
}

void mention(struct mentioned *m, uint32_t function)
{
	while (m->is_in.n <= function)
		vec_push(&m->is_in, false);
	if (!m->is_in.v[function])
		vec_push(&m->functions, function);
	m->is_in.v[function] = true;
}

void answer_functions(struct mentioned *m, const struct frames *f, struct json_writer *w)
{
	json_key(w, "functions");
	json_array_begin(w);
	vec_each (&m->functions, function) {
		const struct stack_function *x = frames_function(f, *function);

		json_array_begin(w);
		json_u64(w, *function);
		json_string(w, x->name);
		json_string(w, x->file);
		json_u64(w, x->first_line);
		json_u64(w, function_kind(f, *function));
		json_array_end(w);
	}
	json_array_end(w);
	vec_done(&m->functions);
	vec_done(&m->is_in);
}
