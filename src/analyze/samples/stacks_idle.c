/* SPDX-License-Identifier: MIT
 * See stacks_idle.h. */
#include "analyze/stacks_idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* Of a thread's time: at most, at least. */
static const double IDLE_CPU = 0.05, IDLE_WAIT = 0.95;
enum { IDLE_SAMPLES = 4 }; /* before a thread is called idle */

/* Where the standard library waits for others: the end of the file's path, and last words of qualified
 * names (before 3.11 code objects know no more). */
static const struct {
	const char *file;
	const char *names[8];
} waits[] = {
	{ "/threading.py",
		{ "wait", "join", "_wait_for_tstate_lock", "_os_thread_join", "acquire",
			"_shutdown", "_join_os_thread" } },
	{ "/queue.py", { "get", "put", "join" } },
	{ "/selectors.py", { "select" } },
	{ "/subprocess.py", { "wait", "_wait", "_try_wait", "communicate", "_communicate" } },
	{ "/socketserver.py", { "serve_forever" } },
	{ "/concurrent/futures/thread.py", { "_worker", "_get" } },
	{ "/concurrent/futures/process.py", { "_process_worker", "wait_result_broken_or_wakeup" } },
	{ "/multiprocessing/connection.py",
		{ "wait", "_recv", "_recv_bytes", "_poll", "poll", "accept" } },
	{ "/multiprocessing/pool.py",
		{ "worker", "_handle_tasks", "_handle_results", "_wait_for_updates" } },
	{ "/multiprocessing/popen_fork.py", { "poll", "wait" } },
	{ "/multiprocessing/queues.py", { "get", "_feed" } },
	{ "/multiprocessing/synchronize.py", { "wait", "__enter__" } },
};

static bool is_wait(const struct stack_function *f)
{
	const char *dot = strrchr(f->name, '.'), *name = dot ? dot + 1 : f->name;

	for (size_t i = 0; f->is_library && i < sizeof waits / sizeof *waits; i++) {
		if (!text_ends_with(f->file, waits[i].file))
			continue;
		for (size_t k = 0; k < 8 && waits[i].names[k]; k++)
			if (strcmp(name, waits[i].names[k]) == 0)
				return true;
	}
	return false;
}

static uint32_t leaf_function(const struct stacks *s, const struct stack_place *p)
{
	const struct rec_stack *stack = tables_row(s->tables, RECORD_stack, p->stack);

	if (p->leaf_code)
		return frames_of_code(s->frames, p->leaf_code, p->leaf_offset).function;
	return frames_get(s->frames, stack ? stack->frame : 0).function;
}

/* What is_wait says of each function, asked once: 0 not yet, 1 yes, 2 no. */
typedef signed char *answers;

static bool waits_at(
	const struct stacks *s, const struct stack_place *p, uint32_t leaf, answers known)
{
	if (!known[leaf])
		known[leaf] = is_wait(frames_function(s->frames, leaf)) ? 1 : 2;
	return p->is_off_cpu && known[leaf] == 1;
}

static void judge(struct stack_thread *t, double top_s)
{
	bool is_main = t->tid == t->pid;

	t->is_idle = t->n_samples >= IDLE_SAMPLES && t->cpu_s <= IDLE_CPU * t->all &&
		(t->waiting_s >= IDLE_WAIT * t->all || (!is_main && top_s >= IDLE_WAIT * t->all));
}

void stacks_find_idle(const struct stacks *s, struct stack_thread *threads)
{
	struct map index = MAP_INIT; /* thread, leaf function → its time in seconds[] */
	double *seconds = xcalloc(s->n + 1, sizeof *seconds);
	double *top_s = xcalloc(s->n_threads + 1, sizeof *top_s);
	answers known = xcalloc(frames_n_functions(s->frames), sizeof *known);

	for (size_t i = 0; i < s->n; i++) {
		const struct stack_place *p = &s->v[i];
		uint32_t leaf = leaf_function(s, p);
		uint64_t key = (uint64_t)p->thread << 32 | leaf, at = i;

		if (waits_at(s, p, leaf, known))
			threads[p->thread].waiting_s += p->value;
		if (!map_find(&index, key, &at))
			map_put(&index, key, at);
		seconds[at] += p->value;
		if (seconds[at] >= top_s[p->thread]) {
			top_s[p->thread] = seconds[at];
			threads[p->thread].top_leaf = leaf;
		}
	}
	for (size_t i = 0; i < s->n_threads; i++)
		judge(&threads[i], top_s[i]);
	map_done(&index);
	free(seconds);
	free(top_s);
	free(known);
}

void stacks_describe_idle(const struct stacks *s, struct buf *to)
{
	char share[UNITS_TEXT];

	if (!s->n_folded)
		return;
	units_format(share, UNIT_SHARE, (double)s->n_folded / (double)(s->n_samples + s->n_folded));
	if (s->n_idle_threads)
		buf_printf(to, "%zu idle %s and waits for work", s->n_idle_threads,
			s->n_idle_threads == 1 ? "thread" : "threads");
	else
		buf_adds(to, "threads that wait for work");
	buf_printf(to, ", %s of all samples", share);
}

static bool is_folded(const struct stacks *s, const struct stack_place *p, answers known)
{
	const struct stack_thread *t = &s->threads[p->thread];

	return t->is_idle || (t->tid != t->pid && waits_at(s, p, leaf_function(s, p), known));
}

void stacks_fold_idle(struct stacks *s, struct stack_place *places)
{
	answers known = xcalloc(frames_n_functions(s->frames), sizeof *known);
	bool *folded = xcalloc(s->n + 1, sizeof *folded);
	uint64_t n_all = 0, n_folded = 0;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		folded[i] = is_folded(s, &places[i], known);
		n_all += places[i].n_samples;
		n_folded += folded[i] ? places[i].n_samples : 0;
	}
	if (n_folded < n_all) {
		for (size_t i = 0; i < s->n; i++)
			if (!folded[i])
				places[kept++] = places[i];
		s->n = kept;
		s->n_folded = n_folded;
	}
	free(folded);
	free(known);
}
