/* SPDX-License-Identifier: MIT
 * See stacks_idle.h. */
#include "analyze/samples/stacks_idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* Of a thread's time: at most, at least. */
static const double IDLE_CPU = 0.05, IDLE_WAIT = 0.95;
enum { IDLE_SAMPLES = 4 }; /* before a thread is called idle */

/* Where the standard library and launchers of PyTorch wait for others: the end of the file's path, and last words of qualified
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
	/* torchrun looks after its workers between sleeps. */
	{ "/torch/distributed/elastic/agent/server/api.py", { "_invoke_run" } },
	{ "/torch/distributed/elastic/multiprocessing/api.py", { "wait" } },
};

bool stacks_is_wait(const char *file, const char *qualname)
{
	const char *dot = strrchr(qualname, '.'), *name = dot ? dot + 1 : qualname;

	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		if (!text_ends_with(file, waits[i].file) || !frames_is_library(file))
			continue;
		for (size_t k = 0; k < 8 && waits[i].names[k]; k++)
			if (strcmp(name, waits[i].names[k]) == 0)
				return true;
	}
	return false;
}

static uint32_t leaf_function(const struct stacks *s, const struct stack_place *p)
{
	return frames_leaf(s->frames, p->stack, p->leaf_code, p->leaf_offset);
}

/* What is_wait says of each function, asked once: 0 not yet, 1 yes, 2 no. */
typedef signed char *answers;

static bool is_wait(const struct stack_function *f)
{
	return stacks_is_wait(f->file, f->name);
}

static bool waits_at(
	const struct stacks *s, const struct stack_place *p, uint32_t leaf, answers known)
{
	if (!known[leaf])
		known[leaf] = is_wait(frames_function(s->frames, leaf)) ? 1 : 2;
	return p->is_off_cpu && known[leaf] == 1;
}

/* CPU time by process: of its threads, and of those of the processes it started. */
struct cpu_used {
	double own_s, children_s;
};

struct function_table {
	struct map index; /* pid → v */
	VEC(struct cpu_used) v;
};

static size_t used_by(struct function_table *u, uint32_t pid)
{
	uint64_t at;

	if (!map_find(&u->index, pid, &at)) {
		at = u->v.n;
		map_put(&u->index, pid, at);
		vec_push(&u->v, (struct cpu_used){ 0 });
	}
	return at;
}

/* A main thread waits for work where others do it: then it used less CPU time than they. Its waits are the program's else. */
static bool is_waited_for(struct function_table *u, const struct stack_thread *t)
{
	size_t at = used_by(u, t->pid);
	double running_s = t->cpu_s + t->runnable_s;

	return t->tid != t->pid || u->v.v[at].own_s - running_s + u->v.v[at].children_s > running_s;
}

static void judge(struct function_table *u, struct stack_thread *t, double top_s)
{
	bool is_main = t->tid == t->pid;

	t->folds_waits = is_waited_for(u, t);
	t->is_idle = t->folds_waits && t->n_samples >= IDLE_SAMPLES &&
		t->cpu_s + t->runnable_s <= IDLE_CPU * t->all &&
		(t->waiting_s >= IDLE_WAIT * t->all || (!is_main && top_s >= IDLE_WAIT * t->all));
}

void stacks_find_idle(const struct stacks *s, struct stack_thread *threads)
{
	struct map index = MAP_INIT; /* thread, leaf function → its time in seconds[] */
	struct function_table used = { 0 };
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
	for (size_t i = 0; i < s->n_threads; i++) {
		double running_s = threads[i].cpu_s + threads[i].runnable_s;

		size_t own = used_by(&used, threads[i].pid),
		       parent = used_by(&used, threads[i].parent_pid);

		used.v.v[own].own_s += running_s;
		used.v.v[parent].children_s += running_s;
	}
	for (size_t i = 0; i < s->n_threads; i++)
		judge(&used, &threads[i], top_s[i]);
	map_done(&used.index);
	vec_done(&used.v);
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
	units_format(share, UNIT_SHARE, s->folded / (s->value + s->folded));
	if (s->n_idle_threads)
		buf_printf(to, "%zu idle %s and waits for work", s->n_idle_threads,
			s->n_idle_threads == 1 ? "thread" : "threads");
	else
		buf_adds(to, "threads that wait for work");
	buf_printf(to, ", %s of all sampled time", share);
}

/* Only waits: time on a CPU, with the GIL or that nobody saw always counts. */
static bool is_folded(const struct stacks *s, const struct stack_place *p, answers known)
{
	const struct stack_thread *t = &s->threads[p->thread];

	if (!p->is_off_cpu || frames_is_unseen(p->stack) || !t->folds_waits)
		return false;
	return waits_at(s, p, leaf_function(s, p), known) || (t->is_idle && t->tid != t->pid);
}

void stacks_fold_idle(struct stacks *s, struct stack_place *places)
{
	answers known = xcalloc(frames_n_functions(s->frames), sizeof *known);
	bool *folded = xcalloc(s->n + 1, sizeof *folded);
	uint64_t n_folded = 0;
	size_t kept = 0;
	bool remains = false; /* anything but waits */

	for (size_t i = 0; i < s->n; i++) {
		folded[i] = is_folded(s, &places[i], known);
		n_folded += folded[i] ? places[i].n_samples : 0;
		remains |=
			!folded[i] && !waits_at(s, &places[i], leaf_function(s, &places[i]), known);
	}
	if (remains) {
		for (size_t i = 0; i < s->n; i++)
			if (folded[i])
				s->folded += places[i].value;
			else
				places[kept++] = places[i];
		s->n = kept;
		s->n_folded = n_folded;
	}
	free(folded);
	free(known);
}
