/* SPDX-License-Identifier: MIT
 * See thread_select.h. */
#include "analyze/samples/thread_select.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/banned.h"

/* number: as report --threads shows it, from 1 on. */
static bool is_thread(const struct stack_thread *t, size_t number, const char *word)
{
	char text[24];

	snprintf(text, sizeof text, "%u", t->tid);
	if (strcmp(text, word) == 0)
		return true;
	snprintf(text, sizeof text, "#%zu", number);
	if (strcmp(text, word) == 0)
		return true;
	return *t->name && fnmatch(word, t->name, 0) == 0;
}

static bool is_of_process(const struct stack_thread *t, size_t number, const char *word)
{
	char text[24];

	(void)number;
	snprintf(text, sizeof text, "%u", t->pid);
	return strcmp(text, word) == 0;
}

/* Marks the threads that fit a word of the list; returns the first word that none fits, NULL: each has one. */
static const char *mark(struct arena *a, const struct stacks *s, const char *list,
	bool (*fits)(const struct stack_thread *, size_t, const char *), bool *to)
{
	char *rest = arena_strdup(a, list), *word;

	while ((word = strsep(&rest, ","))) {
		bool any = false;

		for (size_t i = 0; i < s->n_threads; i++)
			if (fits(&s->threads[i], i + 1, word))
				any = to[i] = true;
		if (!any)
			return word;
	}
	return NULL;
}

int threads_choose(struct arena *a, struct tables *t, const struct stacks_options *all,
	const char *threads, const char *processes, struct thread_rows *ret, struct err *e)
{
	struct arena own = ARENA_INIT;
	const struct stacks *s = stacks_build(&own, t, all);
	bool *by_thread = arena_new_n(&own, bool, s->n_threads + 1),
	     *by_process = arena_new_n(&own, bool, s->n_threads + 1);
	const char *wrong_thread = threads ? mark(&own, s, threads, is_thread, by_thread) : NULL;
	const char *wrong_process =
		processes ? mark(&own, s, processes, is_of_process, by_process) : NULL;
	uint32_t *rows = arena_new_n(a, uint32_t, s->n_threads + 1);
	size_t n = 0;
	int status = 0;

	for (size_t i = 0; i < s->n_threads; i++)
		if ((!threads || by_thread[i]) && (!processes || by_process[i]))
			rows[n++] = s->threads[i].row;
	if (wrong_thread)
		status = err_set(e, ERR_USAGE,
			"no sampled thread is '%s': --thread wants a tid, a number such as #1, or "
			"a name; leadline report --threads --idle FILE lists them",
			wrong_thread);
	else if (wrong_process)
		status = err_set(
			e, ERR_USAGE, "no sampled thread is of a process '%s'", wrong_process);
	else if (!n)
		status = err_set(e, ERR_USAGE, "no such thread is of such a process");
	else
		*ret = (struct thread_rows){ rows, n };
	arena_done(&own);
	return status;
}
