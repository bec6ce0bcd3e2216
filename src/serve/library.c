/* SPDX-License-Identifier: MIT
 * See library.h. */
#include "serve/library.h"

#include <stdio.h>
#include <string.h>

#include "analyze/torch/results.h"
#include "base/err.h"
#include "formats/format.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "base/banned.h"

void library_done(struct library *l)
{
	vec_each (&l->recordings, r)
		recording_free(*r);
	vec_done(&l->recordings);
	comparison_free(l->comparison);
	ranks_free(l->ranks);
	vec_done(&l->results);
	arena_done(&l->arena);
}

int library_find(
	const struct library *l, const struct params *p, struct recording **ret, struct err *e)
{
	uint32_t number = 0;

	if (params_u32(p, "r", UINT32_MAX, &number, e) < 0)
		return -(int)e->code;
	if (!l->recordings.n)
		return err_set(e, ERR_UNSUPPORTED, "only benchmark results are open, no recording");
	if (number >= l->recordings.n)
		return err_set(e, ERR_NO_FILE, "there is no recording %u; %zu %s open", number,
			l->recordings.n, l->recordings.n == 1 ? "is" : "are");
	*ret = l->recordings.v[number];
	return 0;
}

/* ---- selections ------------------------------------------------------------------------------ */

static int parse_state(const struct params *p, enum stacks_state *ret, struct err *e)
{
	const char *word = params_find(p, "state");

	if (!word || !*word)
		return 0;
	for (size_t i = 0; choice_states[i]; i++) {
		if (strcmp(word, choice_states[i]) != 0)
			continue;
		*ret = (enum stacks_state)i;
		return 0;
	}
	return err_set(e, ERR_USAGE, "state must be wall, cpu, gil or wait, not '%.100s'", word);
}

static int parse_memory(const struct params *p, enum memory_view *ret, struct err *e)
{
	const char *word = params_find(p, "memory");

	if (!word || !*word)
		return 0;
	for (int i = MEMORY_PEAK; i < MEMORY_VIEWS_; i++) {
		if (strcmp(word, memory_views[i]) != 0)
			continue;
		*ret = (enum memory_view)i;
		return 0;
	}
	return err_set(
		e, ERR_USAGE, "memory expects peak, growth, leaks or churn, not '%.100s'", word);
}

static const char *text_of(const struct params *p, const char *name)
{
	const char *text = params_find(p, name);

	return text && *text ? text : NULL;
}

static int parse_choice(
	struct params *p, enum library_filter filter, struct choice *ret, struct err *e)
{
	*ret = (struct choice){ .phase = text_of(p, "phase"),
		.threads = text_of(p, "thread"),
		.processes = text_of(p, "process"),
		.only_mine = params_is_set(p, "only_mine"),
		.idle = params_is_set(p, "idle"),
		.imports = params_is_set(p, "imports"),
		.shape.collapse = params_is_set(p, "collapse"),
		.by_time = filter == LIBRARY_BLOCKS };
	ret->shape.focus.n = params_all(p, "focus", &ret->shape.focus.v);
	ret->shape.drop.n = params_all(p, "drop", &ret->shape.drop.v);
	ret->shape.merge.n = params_all(p, "merge", &ret->shape.merge.v);
	if (filter == LIBRARY_STACKS || filter == LIBRARY_WHOLE_TIME)
		ret->shape.keep.n = params_all(p, "filter", &ret->shape.keep.v);
	if (parse_state(p, &ret->state, e) < 0 || parse_memory(p, &ret->memory, e) < 0 ||
		params_number(p, "from", 0, 1e9, &ret->from_s, e) < 0 ||
		params_number(p, "to", 0, 1e9, &ret->to_s, e) < 0)
		return -(int)e->code;
	if (filter == LIBRARY_WHOLE_TIME) {
		ret->from_s = ret->to_s = 0;
		ret->memory = MEMORY_NONE; /* these answers are of time */
	}
	return 0;
}

int library_select(struct library *l, struct params *p, enum library_filter filter,
	struct selection **ret, struct err *e)
{
	struct recording *r;
	struct choice c;

	if (library_find(l, p, &r, e) < 0 || parse_choice(p, filter, &c, e) < 0)
		return -(int)e->code;
	return recording_select(r, &c, ret, e);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* As calls in each other, spans of many millions take far longer than as operators, and pictures of them tell less. */
enum { LARGE_TRACE = 1000000 };

/* Makes what every page begins with, so that the first answer is quick, and functions have the same numbers whatever
 * is asked first. */
static int prepare(struct recording *r, struct err *e)
{
	struct selection *s;

	struct err none = ERR_INIT;
	struct torch *torch = recording_torch(r);

	if ((torch && torch->x.v.n > LARGE_TRACE) || (torch && recording_run(r, &none) < 0)) {
		r->is_trace = false;
		return 0;
	}
	if (recording_select(r, &(struct choice){ 0 }, &s, e) < 0)
		return -(int)e->code;
	r->n_places = s->stacks->n;
	selection_tree(s);
	recording_strips(r);
	return 0;
}

static int open_results(struct library *l, const char *path, struct err *e)
{
	struct results r;

	if (results_load(&l->arena, path, &r, e) < 0)
		return -(int)e->code;
	vec_push(&l->results, r);
	return 0;
}

int library_open(struct library *l, const char *path, struct err *e)
{
	struct recording *r;

	if (results_are_in(path))
		return open_results(l, path, e);
	if (format_load(&r, path, e) < 0)
		return -(int)e->code;
	if (prepare(r, e) < 0) {
		recording_free(r);
		return err_note(e, "%s", path);
	}
	vec_push(&l->recordings, r);
	return 0;
}
