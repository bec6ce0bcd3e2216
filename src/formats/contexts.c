/* SPDX-License-Identifier: MIT
 * See contexts.h. */
#include "formats/contexts.h"

#include <stdlib.h>

#include "formats/spans.h"
#include "base/banned.h"

static uint32_t child_of(struct contexts *c, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, number;

	if (map_find(&c->children, key, &number))
		return (uint32_t)number;
	vec_push(&c->v, (struct context){ parent, function });
	map_put(&c->children, key, c->v.n);
	return (uint32_t)c->v.n;
}

uint32_t contexts_of(struct contexts *c, const struct spans *s, const struct span *x)
{
	uint64_t key = (uint64_t)x->stack << 32 | x->leaf_code, number = 0;

	if (map_find(&c->of_stack, key, &number))
		return (uint32_t)number;
	if (!c->frames)
		c->frames = xcalloc(STACKS_DEPTH, sizeof *c->frames);
	for (size_t k = spans_frames(s, x, c->frames); k-- > 0;)
		number = child_of(c, (uint32_t)number, c->frames[k].function);
	map_put(&c->of_stack, key, number);
	return (uint32_t)number;
}

void contexts_fill(struct contexts *c, const struct spans *s)
{
	for (size_t i = 0; i < s->stacks->n_threads; i++) {
		struct span_iter it = spans_of(s, i);

		for (struct span x; span_next(&it, &x);)
			contexts_of(c, s, &x);
	}
}

void contexts_done(struct contexts *c)
{
	vec_done(&c->v);
	map_done(&c->children);
	map_done(&c->of_stack);
	free(c->frames);
}
