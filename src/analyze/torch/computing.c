/* SPDX-License-Identifier: MIT
 * See computing.h. */
#include "analyze/torch/computing.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyze/torch/processes.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/tree.h"
#include "base/xalloc.h"
#include "base/banned.h"

static void add(struct op_moments *to, int64_t start_ns, int64_t end_ns, int32_t change)
{
	vec_push(&to->v, (struct op_moment){ start_ns, change });
	vec_push(&to->v, (struct op_moment){ end_ns, -change });
}

static bool *communicating_names(const struct op_events *x)
{
	bool *v = xcalloc(x->names.items.n + 1, sizeof *v);

	for (size_t i = 0; i < x->names.items.n; i++)
		v[i] = op_is_communication(op_events_name(x, (uint32_t)i));
	return v;
}

struct op_moments op_computing_find(
	const struct ops_tree *t, const struct op_processes *of, uint32_t process)
{
	struct op_moments to = { .v = VEC_INIT };
	bool *communicates = communicating_names(t->x);
	bool *computes = xcalloc(t->n_events + t->extra.n + 1, sizeof *computes); /* by node */

	for (size_t i = 0; i < t->n; i++) { /* callers come before their calls, and last longer */
		uint32_t node = t->order[i], up = t->parent[node];
		const struct op_event *e = ops_node(t, node);
		bool outer = up != OPS_NONE && computes[up];

		computes[node] = outer;
		if (op_is_device(e) || node >= t->n_events || !e->duration_ns ||
			(of && of->of_track[e->track] != process))
			continue;
		if (communicates[e->name])
			computes[node] = false;
		else if (e->category == OP_CPU)
			computes[node] = true;
		if (computes[node] != outer)
			add(&to, e->start_ns, e->start_ns + e->duration_ns, outer ? -1 : 1);
	}
	free(communicates);
	free(computes);
	return to;
}
