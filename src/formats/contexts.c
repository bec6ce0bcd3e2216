/* SPDX-License-Identifier: MIT
 * See contexts.h. */
#include "formats/contexts.h"

#include <stdlib.h>

#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "formats/spans.h"
#include "base/banned.h"

static uint32_t child_of(struct contexts *c, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, number;

	if (map_find(&c->children, key, &number))
		return (uint32_t)number;
	vec_push(&c->v,
		(struct context){ parent, function, parent ? c->v.v[parent - 1].depth + 1 : 1 });
	map_put(&c->children, key, c->v.n);
	return (uint32_t)c->v.n;
}

/* Those of its callers are made first, from the root on. */
static uint32_t context_of_path(struct contexts *c, const struct paths *p, uint32_t path)
{
	uint32_t at = path;

	if (!c->of_path)
		c->of_path = xcalloc(p->n, sizeof *c->of_path);
	vec_clear(&c->pending);
	for (; at && !c->of_path[at]; at = p->v[at].parent)
		vec_push(&c->pending, at);
	while (c->pending.n) {
		uint32_t next = c->pending.v[--c->pending.n];

		c->of_path[next] = child_of(c, c->of_path[p->v[next].parent], p->v[next].function);
	}
	return c->of_path[path];
}

uint32_t contexts_of(struct contexts *c, const struct spans *s, const struct span *x)
{
	const struct paths *p = s->stacks->paths;

	return context_of_path(c, p, p->of_place[x->place]);
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
	vec_done(&c->pending);
	free(c->of_path);
}
