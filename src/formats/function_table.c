/* SPDX-License-Identifier: MIT
 * See function_table.h. */
#include "formats/function_table.h"

#include <string.h>

#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "formats/spans.h"
#include "base/banned.h"

/* A table that grows. */
struct adding {
	uint32_t *functions, *index;
	size_t n;
};

static void add(struct adding *to, uint32_t function)
{
	if (to->index[function] != UINT32_MAX)
		return;
	to->index[function] = (uint32_t)to->n;
	to->functions[to->n++] = function;
}

static struct adding add_paths(struct arena *a, const struct stacks *s)
{
	size_t n_all = frames_n_functions(s->frames);
	struct adding to = { arena_new_n(a, uint32_t, n_all + 1),
		arena_new_n(a, uint32_t, n_all + 1), 0 };

	memset(to.index, 0xff, (n_all + 1) * sizeof *to.index);
	for (size_t i = 1; i < s->paths->n; i++)
		add(&to, s->paths->v[i].function);
	return to;
}

struct function_table function_table_build(struct arena *a, const struct stacks *s)
{
	struct adding to = add_paths(a, s);

	return (struct function_table){ to.n, to.functions, to.index };
}

static void open_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	(void)t_ns;
	add(ctx, function);
}

static void close_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	(void)ctx;
	(void)function;
	(void)t_ns;
}

/* Where part of a time line is missing, calls have other callers in it than their contexts have, so what is chosen by callers may
 * differ. */
struct function_table function_table_build_spans(struct arena *a, const struct spans *s)
{
	struct adding to = add_paths(a, s->stacks);
	const struct spans_replay replay = { &to, open_call, close_call };

	for (size_t i = 0; s->timeline && i < s->stacks->n_threads; i++)
		if (s->stacks->only_mine || s->stacks->shape)
			spans_replay(s, i, &replay);
	return (struct function_table){ to.n, to.functions, to.index };
}
