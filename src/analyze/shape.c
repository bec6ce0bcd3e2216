/* SPDX-License-Identifier: MIT
 * See shape.h. Whether a function matches is asked once: functions are numbered, stacks are many. */
#include "analyze/shape.h"

#include <stdint.h>
#include <string.h>

#include "analyze/calltree.h"
#include "analyze/pattern.h"
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

struct shape {
	struct frames *frames;
	struct rules keep, focus, drop, merge;
	bool collapse;
};

static int add_rules(struct rules *to, const struct shape_patterns *from, const char *name,
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

int shape_new(struct shape **ret, struct arena *a, struct frames *f, const struct shape_options *o,
	struct err *e)
{
	struct shape *s;

	if (!o->keep.n && !o->focus.n && !o->drop.n && !o->merge.n && !o->collapse) {
		*ret = NULL;
		return 0;
	}
	s = arena_new(a, struct shape);
	s->frames = f;
	s->collapse = o->collapse;
	if (add_rules(&s->keep, &o->keep, "filter", a, e) < 0 ||
		add_rules(&s->focus, &o->focus, "focus", a, e) < 0 ||
		add_rules(&s->drop, &o->drop, "drop", a, e) < 0 ||
		add_rules(&s->merge, &o->merge, "merge", a, e) < 0) {
		shape_free(s);
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

void shape_free(struct shape *s)
{
	if (!s)
		return;
	free_rules(&s->keep);
	free_rules(&s->focus);
	free_rules(&s->drop);
	free_rules(&s->merge);
}

static bool matches(const struct shape *s, struct rule *r, uint32_t function)
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

static bool any_matches(const struct shape *s, struct rules *r, uint32_t function)
{
	for (size_t i = 0; i < r->n; i++)
		if (matches(s, &r->v[i], function))
			return true;
	return false;
}

static bool has_any(
	const struct shape *s, struct rules *r, const struct stack_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (any_matches(s, r, frames[i].function))
			return true;
	return false;
}

/* From the outermost frame that matches on; 0: none does. */
static size_t begin_at(
	const struct shape *s, struct rule *r, const struct stack_frame *frames, size_t n)
{
	while (n && !matches(s, r, frames[n - 1].function))
		n--;
	return n;
}

/* The outermost frame stays where all match, so that their time has a place. */
static size_t merge(struct shape *s, struct stack_frame *frames, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!any_matches(s, &s->merge, frames[i].function))
			frames[kept++] = frames[i];
	if (!kept)
		frames[kept++] = frames[n - 1];
	return kept;
}

/* Leaf first as it is: repetitions are found from the root on, as the call tree does. */
static size_t collapse(struct stack_frame *frames, size_t n)
{
	size_t to = n; /* what is kept lies in frames[to … n) */

	for (size_t i = n; i-- > 0;) {
		frames[--to] = frames[i];
		to += calltree_repeated(frames + to, n - to);
	}
	memmove(frames, frames + to, (n - to) * sizeof *frames);
	return n - to;
}

size_t shape_apply(struct shape *s, struct stack_frame *frames, size_t n)
{
	if (s->keep.n && !has_any(s, &s->keep, frames, n))
		return 0;
	if (s->drop.n && has_any(s, &s->drop, frames, n))
		return 0;
	for (size_t i = 0; i < s->focus.n && n; i++)
		n = begin_at(s, &s->focus.v[i], frames, n);
	if (s->merge.n && n)
		n = merge(s, frames, n);
	if (s->collapse && n)
		n = collapse(frames, n);
	return n;
}
