/* SPDX-License-Identifier: MIT
 * See labels.h. */
#include "formats/labels.h"

#include "analyze/host/usage.h"
#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "analyze/selection.h"
#include "base/arena.h"
#include "base/banned.h"

const char *label_command(const struct selection *s)
{
	return s->recording->usage->command;
}

const char *label_thread(struct arena *a, const struct stacks *s, size_t thread)
{
	const struct stack_thread *t = &s->threads[thread];

	if (*t->name)
		return t->tid ? arena_printf(a, "%s (%u)", t->name, t->tid) : t->name;
	return t->tid == t->pid && t->tid ? arena_printf(a, "main thread (%u)", t->tid)
					  : arena_printf(a, "thread %u", t->tid);
}

size_t label_first_thread(const struct stacks *s)
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
