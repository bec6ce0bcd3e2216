/* SPDX-License-Identifier: MIT
 * See profile_sums.h. */
#include "analyze/samples/profile_sums.h"

#include <stdint.h>
#include <stdlib.h>

#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* Of each path alone, and with all below it. */
static struct profile_sum *sums_of_paths(const struct stacks *s)
{
	const struct paths *p = s->paths;
	struct profile_sum *v = xcalloc(p->n, sizeof *v);

	for (size_t i = 0; i < s->n; i++)
		sampled_sum_merge(&v[p->of_place[i]].self, &s->sums[s->v[i].number], 1);
	for (size_t i = p->n; i-- > 1;) {
		sampled_sum_merge(&v[i].total, &v[i].self, 1);
		sampled_sum_merge(&v[p->v[i].parent].total, &v[i].total, 1);
	}
	return v;
}

/* Of recursion, the outermost has it all. */
static void charge(struct profile_sum *to, const struct profile_sum *sum, size_t *open)
{
	sampled_sum_merge(&to->self, &sum->self, 1);
	if (!(*open)++)
		sampled_sum_merge(&to->total, &sum->total, 1);
}

struct profile_sums profile_sums_build(const struct stacks *s, size_t n_lines)
{
	size_t n = frames_n_functions(s->frames);
	struct profile_sums to = { xcalloc(n + 1, sizeof *to.functions),
		xcalloc(n_lines + 1, sizeof *to.lines) };
	struct profile_sum *of_path = sums_of_paths(s);
	size_t *function_open = xcalloc(n + 1, sizeof *function_open),
	       *line_open = xcalloc(n_lines + 1, sizeof *line_open);
	struct paths_walk w = paths_walk(s->paths);

	for (uint32_t at; paths_next(&w, &at);) {
		struct stack_frame f = paths_frame(s, at);
		bool has_line = !f.is_synthetic && f.line_id < n_lines;

		if (w.is_entering) {
			charge(&to.functions[f.function], &of_path[at], &function_open[f.function]);
			if (has_line)
				charge(&to.lines[f.line_id], &of_path[at], &line_open[f.line_id]);
			continue;
		}
		function_open[f.function]--;
		if (has_line)
			line_open[f.line_id]--;
	}
	paths_walk_done(&w);
	free(of_path);
	free(function_open);
	free(line_open);
	return to;
}

void profile_sums_done(struct profile_sums *p)
{
	free(p->functions);
	free(p->lines);
}
