/* SPDX-License-Identifier: MIT
 * See stack_filter.h. Whether a function matches is asked once: functions are numbered, stacks are many. */
#include "analyze/samples/stack_filter.h"

#include <stdint.h>
#include <string.h>

#include "analyze/code/pattern.h"
#include "analyze/samples/calltree.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/banned.h"

enum answer { NOT_ASKED, YES, NO };

struct rule {
	struct pattern *pattern;
	VEC(uint8_t) answers; /* enum answer, by function */
};

struct rules {
	struct rule *v;
	size_t n;
};

struct stack_filter {
	struct frames *frames;
	struct rules keep, focus, drop, merge;
	bool collapse;
};

static int add_rules(struct rules *to, const struct stack_filter_patterns *from, const char *name,
	struct arena *a, struct err *e)
{
	to->v = arena_new_n(a, struct rule, from->n + 1);
	for (size_t i = 0; i < from->n; i++) {
		if (pattern_new(&to->v[i].pattern, from->v[i], e) < 0)
			return err_note(e, "%s", name);
		to->n++;
	}
	return 0;
}

int stack_filter_new(struct stack_filter **ret, struct arena *a, struct frames *f,
	const struct stack_filter_options *o, struct err *e)
{
	struct stack_filter *s;

	if (!o->keep.n && !o->focus.n && !o->drop.n && !o->merge.n && !o->collapse) {
		*ret = NULL;
		return 0;
	}
	s = arena_new(a, struct stack_filter);
	s->frames = f;
	s->collapse = o->collapse;
	if (add_rules(&s->keep, &o->keep, "filter", a, e) < 0 ||
		add_rules(&s->focus, &o->focus, "focus", a, e) < 0 ||
		add_rules(&s->drop, &o->drop, "drop", a, e) < 0 ||
		add_rules(&s->merge, &o->merge, "merge", a, e) < 0) {
		stack_filter_free(s);
		return -(int)e->code;
	}
	*ret = s;
	return 0;
}

static void free_rules(struct rules *r)
{
	for (size_t i = 0; i < r->n; i++) {
		pattern_free(r->v[i].pattern);
		vec_done(&r->v[i].answers);
	}
}

void stack_filter_free(struct stack_filter *s)
{
	if (!s)
		return;
	free_rules(&s->keep);
	free_rules(&s->focus);
	free_rules(&s->drop);
	free_rules(&s->merge);
}

static bool matches(const struct stack_filter *s, struct rule *r, uint32_t function)
{
	const struct stack_function *f;

	while (r->answers.n <= function)
		vec_push(&r->answers, NOT_ASKED);
	if (r->answers.v[function] == NOT_ASKED) {
		f = frames_function(s->frames, function);
		r->answers.v[function] =
			pattern_matches(r->pattern, f->name, f->file, f->first_line) ? YES : NO;
	}
	return r->answers.v[function] == YES;
}

static bool any_matches(const struct stack_filter *s, struct rules *r, uint32_t function)
{
	for (size_t i = 0; i < r->n; i++)
		if (matches(s, &r->v[i], function))
			return true;
	return false;
}

unsigned stack_filter_step(
	struct stack_filter *s, struct stack_filter_state *state, uint32_t function)
{
	bool begins = !s->focus.n && !state->has_begun;

	state->is_kept |= s->keep.n && any_matches(s, &s->keep, function);
	state->is_dropped |= s->drop.n && any_matches(s, &s->drop, function);
	while (state->n_focused < s->focus.n &&
		matches(s, &s->focus.v[state->n_focused], function)) {
		state->n_focused++;
		begins = state->n_focused == s->focus.n;
	}
	state->has_begun |= begins;
	if (!state->has_begun)
		return 0;
	return (begins ? STACK_FILTER_BEGIN : 0) |
		(any_matches(s, &s->merge, function) ? 0 : STACK_FILTER_ADD);
}

bool stack_filter_counts(const struct stack_filter *s, const struct stack_filter_state *state)
{
	return state->has_begun && !state->is_dropped && (state->is_kept || !s->keep.n);
}

bool stack_filter_collapses(const struct stack_filter *s)
{
	return s->collapse;
}

/* How many of the innermost frames repeat those behind them. */
static size_t repeated(const struct stack_frame *frames, size_t n)
{
	uint32_t functions[2 * CALLTREE_PERIOD];

	n = n < 2 * CALLTREE_PERIOD ? n : 2 * CALLTREE_PERIOD;
	for (size_t i = 0; i < n; i++)
		functions[i] = frames[i].function;
	return calltree_repeated(functions, n);
}

size_t stack_filter_apply(struct stack_filter *s, struct stack_frame *frames, size_t n)
{
	struct stack_filter_state state = { 0 };
	struct stack_frame outermost = { 0 };
	size_t to = n; /* what is kept lies in frames[to … n) */

	for (size_t i = n; i-- > 0;) {
		unsigned step = stack_filter_step(s, &state, frames[i].function);

		if (step & STACK_FILTER_BEGIN) {
			outermost = frames[i];
			to = n;
		}
		if (step & STACK_FILTER_ADD) {
			frames[--to] = frames[i];
			to += s->collapse ? repeated(frames + to, n - to) : 0;
		}
	}
	if (!stack_filter_counts(s, &state))
		return 0;
	if (to == n)
		frames[--to] = outermost;
	memmove(frames, frames + to, (n - to) * sizeof *frames);
	return n - to;
}
