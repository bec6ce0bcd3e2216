/* SPDX-License-Identifier: MIT
 * See line_calls.h. */
#include "agent/lines/line_calls.h"

#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"

/* Own time of the context up to now, whichever of the two hooks was told of this event first. */
static uint64_t self_now(const struct trace_node *node, uint64_t now)
{
	const struct tracer *t = tree_mine;

	return node->self + (t && t->top->node == node && now > t->last ? now - t->last : 0);
}

/* Contexts that had to be folded run more than one activation and are of no use. */
static void open(struct lines_frame *f, uint64_t now)
{
	const struct tracer *t = tree_mine;

	f->node = NULL;
	if (!t || t->top->key != compat_code_of_key(f->key) || t->top->node->recursive_calls)
		return;
	f->node = t->top->node;
	f->seen = self_now(f->node, now);
}

static uint64_t ran(struct lines_frame *f, uint64_t now)
{
	uint64_t self = self_now(f->node, now), before = f->seen;

	f->seen = self;
	return self > before ? self - before : 0;
}

const struct lines_calls *line_calls(void)
{
	static const struct lines_calls traced = { open, ran };

	return leadline_link_options().calls == AGENT_CALLS_TIMED ? &traced : NULL;
}
