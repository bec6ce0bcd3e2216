/* SPDX-License-Identifier: MIT
 * See used.h. */
#include "formats/used.h"

#include <string.h>

#include "analyze/paths.h"
#include "analyze/recording.h"
#include "analyze/stacks.h"
#include "analyze/usage.h"
#include "base/arena.h"
#include "base/banned.h"

struct used used_build(struct arena *a, const struct stacks *s)
{
	size_t n_all = frames_n_functions(s->frames);
	uint32_t *functions = arena_new_n(a, uint32_t, n_all + 1),
		 *index = arena_new_n(a, uint32_t, n_all + 1);
	struct used u = { .functions = functions, .index = index };

	memset(index, 0xff, (n_all + 1) * sizeof *index);
	for (size_t i = 1; i < s->paths->n; i++) {
		uint32_t f = s->paths->v[i].function;

		if (index[f] == UINT32_MAX) {
			index[f] = (uint32_t)u.n;
			functions[u.n++] = f;
		}
	}
	return u;
}

const char *used_command(const struct selection *s)
{
	return s->recording->usage->command;
}

const char *used_thread_name(struct arena *a, const struct stacks *s, size_t thread)
{
	const struct stack_thread *t = &s->threads[thread];

	if (*t->name)
		return t->tid ? arena_printf(a, "%s (%u)", t->name, t->tid) : t->name;
	return t->tid == t->pid && t->tid ? arena_printf(a, "main thread (%u)", t->tid)
					  : arena_printf(a, "thread %u", t->tid);
}

size_t used_first_thread(const struct stacks *s)
{
	size_t first = 0;

	for (size_t i = 1; i < s->n_threads; i++) {
		const struct stack_thread *x = &s->threads[i], *y = &s->threads[first];
		double busy = s->is_foreign ? x->all : x->cpu_s;

		if (busy > (s->is_foreign ? y->all : y->cpu_s))
			first = i;
	}
	return first;
}
