/* SPDX-License-Identifier: MIT
 * See selection.h. */
#include "analyze/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/arguments.h"
#include "analyze/calls/exact.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/calls/opcode_counts.h"
#include "analyze/calls/timeline.h"
#include "analyze/diff/time_blocks.h"
#include "analyze/recording.h"
#include "analyze/samples/crash_stacks.h"
#include "analyze/samples/flametree.h"
#include "analyze/samples/inverted_tree.h"
#include "analyze/samples/parted_tree.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/probes.h"
#include "analyze/samples/tasks.h"
#include "analyze/samples/thread_select.h"
#include "analyze/samples/thread_states.h"
#include "analyze/stretch.h"
#include "analyze/torch/results.h"
#include "analyze/torch/subset.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

/* ---- what is meant --------------------------------------------------------------------------- */

const char *const choice_states[] = { [STACKS_WALL] = "wall",
	[STACKS_CPU] = "cpu",
	[STACKS_GIL] = "gil",
	[STACKS_WAIT] = "wait",
	[STACKS_RUNNABLE] = "runnable",
	NULL };

static bool folds_idle(const struct choice *c)
{
	return !c->idle && !c->threads && c->state == STACKS_WALL;
}

/* Patterns and names come from the user: they are made printable. */
static void add_words(struct buf *to, const char *before, const char *text)
{
	buf_printf(to, "%s%s", to->n ? ", " : "", before);
	text_add_printable(to, text, strlen(text));
}

static const char *const memory_words[] = { [MEMORY_PEAK] = "at the peak",
	[MEMORY_GROWTH] = "growth",
	[MEMORY_LEAKS] = "not released",
	[MEMORY_CHURN] = "allocated in all" };

void choice_describe(const struct choice *c, struct buf *to)
{
	static const char *const words[] = { "", "on a CPU", "holding the GIL", "not running",
		"ready to run, without a CPU" };
	char from[UNITS_TEXT], until[UNITS_TEXT];

	if (c->memory)
		add_words(to, "memory ", memory_words[c->memory]);
	if (c->state != STACKS_WALL)
		add_words(to, "", words[c->state]);
	if (c->only_mine)
		add_words(to, "", "only mine");
	if (c->idle && c->state == STACKS_WALL)
		add_words(to, "", "with idle threads");
	if (c->imports)
		add_words(to, "", "with imports");
	if (c->phase)
		add_words(to, "", c->phase);
	if (c->threads)
		add_words(to, "thread ", c->threads);
	if (c->processes)
		add_words(to, "process ", c->processes);
	if (c->from_s > 0 || c->to_s > 0) {
		units_format(from, UNIT_SECONDS, c->from_s);
		units_format(until, UNIT_SECONDS, c->to_s);
		buf_printf(to, "%s%s to %s", to->n ? ", " : "", c->from_s > 0 ? from : "start",
			c->to_s > 0 ? until : "end");
	}
	for (size_t i = 0; i < c->shape.keep.n; i++)
		add_words(to, "stacks with ", c->shape.keep.v[i]);
}

int row_order_parse(
	const char *option, const char *key, bool has_calls, struct row_order *ret, struct err *e)
{
	static const struct {
		const char *key;
		struct row_order of;
	} keys[] = { { "self", { PROFILE_SELF, "internal time" } },
		{ "tottime", { PROFILE_SELF, "internal time" } },
		{ "time", { PROFILE_SELF, "internal time" } },
		{ "total", { PROFILE_TOTAL, "cumulative time" } },
		{ "cumulative", { PROFILE_TOTAL, "cumulative time" } },
		{ "cumtime", { PROFILE_TOTAL, "cumulative time" } },
		{ "calls", { PROFILE_CALLS, "call count" } },
		{ "ncalls", { PROFILE_CALLS, "call count" } },
		{ "pcalls", { PROFILE_PRIMITIVE, "primitive call count" } },
		{ "name", { PROFILE_NAME, "function name" } },
		{ "nfl", { PROFILE_NAME, "name/file/line" } },
		{ "stdname", { PROFILE_FILE, "standard name" } },
		{ "filename", { PROFILE_FILE, "file name" } },
		{ "file", { PROFILE_FILE, "file name" } },
		{ "module", { PROFILE_FILE, "file name" } },
		{ "line", { PROFILE_LINE, "line number" } } };

	key = key && *key ? key : "self";
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (!has_calls && keys[i].of.order >= PROFILE_CALLS)
			return err_set(e, ERR_UNSUPPORTED,
				"%s %s: samples do not count calls; leadline run --trace does",
				option, key);
		*ret = keys[i].of;
		return 0;
	}
	return err_set(e, ERR_USAGE,
		"%s wants self, total, calls, name, or pstats' tottime, cumtime, ncalls, pcalls, "
		"filename, line, stdname, nfl, not '%.100s'",
		option, key);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static void add_text(struct buf *key, char kind, const char *text)
{
	if (text) /* \1 and \2 part what a text might look like */
		buf_printf(key, "%c\1%s\2", kind, text);
}

static void add_patterns(struct buf *key, char kind, const struct stack_filter_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		add_text(key, kind, p->v[i]);
}

static char *key_of(const struct choice *c)
{
	struct buf key = BUF_INIT;
	char *text;

	buf_printf(&key, "%d %d %a %a %d%d%d%d%d ", (int)c->memory, (int)c->state, c->from_s,
		c->to_s, c->only_mine, c->idle, c->imports, c->shape.collapse, c->by_time);
	add_text(&key, 'P', c->phase);
	add_text(&key, 't', c->threads);
	add_text(&key, 'p', c->processes);
	add_patterns(&key, 'f', &c->shape.focus);
	add_patterns(&key, 'd', &c->shape.drop);
	add_patterns(&key, 'm', &c->shape.merge);
	add_patterns(&key, 'k', &c->shape.keep);
	text = xstrdup(buf_str(&key));
	buf_done(&key);
	return text;
}

/* Operators tell the phases, and samples have their clock. */
static int resolve_phase(struct selection *s, const struct choice *c, struct err *e)
{
	struct recording *r = s->recording;
	struct torch *torch = c->phase ? recording_torch(r) : NULL;

	if (!c->phase)
		return 0;
	if (!torch)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(r,
				"its phases are unknown: PyTorch operators tell them (leadline run "
				"--torch)"));
	if (r->origin.is_foreign)
		return err_set(e, ERR_UNSUPPORTED,
			"phases select samples, and a trace has none: see its operators (--ops)");
	return torch_phase_find(
		torch, c->phase, &s->arena, &s->options.within, &s->options.n_within, e);
}

/* All that was allocated: which threads there are, and in which order. */
static struct stacks_options all_of_memory(struct arena *a, const struct memory *m)
{
	const struct memory_part *p =
		memory_choose(a, m, &(struct memory_options){ .view = MEMORY_CHURN });

	return (struct stacks_options){
		.weights = p->v, .n_weights = p->n, .weights_unit = UNIT_BYTES
	};
}

static int refuse_memory(struct recording *r, const struct choice *c, struct err *e)
{
	if (!recording_memory(r))
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(r,
				"allocations were not recorded: leadline run --memory records "
				"them"));
	if (c->state != STACKS_WALL)
		return err_set(e, ERR_UNSUPPORTED,
			"memory is the same whatever a thread does: --state does not apply to it");
	if (c->phase)
		return err_set(e, ERR_UNSUPPORTED,
			"--phase does not apply to memory: choose times with --from and --to");
	if (c->idle)
		return err_set(
			e, ERR_UNSUPPORTED, "--idle does not apply to memory: all threads count");
	return 0;
}

/* What the stacks are of; the processes are chosen before the peak is looked for, the threads after. */
static int resolve_memory(struct selection *s, const struct choice *c,
	const struct stacks_options *all, const struct thread_rows *rows, struct err *e)
{
	struct recording *r = s->recording;
	struct thread_rows of = { 0 };
	struct memory_options o = { .view = c->memory,
		.from_s = c->from_s,
		.to_s = c->to_s,
		.threads = rows->v,
		.n_threads = rows->n };
	uint32_t *processes;

	if (c->processes &&
		threads_choose(&s->arena, r->tables, all, NULL, c->processes, &of, e) < 0)
		return -(int)e->code;
	processes = arena_new_n(&s->arena, uint32_t, of.n + 1);
	for (size_t i = 0; i < of.n; i++) {
		const struct rec_thread *t = tables_row(r->tables, RECORD_thread, of.v[i]);

		processes[i] = t ? t->process : 0;
	}
	o.processes = processes;
	o.n_processes = of.n;
	s->memory = memory_choose(&s->arena, recording_memory(r), &o);
	return 0;
}

static int resolve(struct selection *s, const struct choice *c, struct err *e)
{
	struct recording *r = s->recording;
	struct thread_rows rows = { 0 };
	struct stacks_options all = { 0 };

	if (c->memory && refuse_memory(r, c, e) < 0)
		return -(int)e->code;
	if (c->memory)
		all = all_of_memory(&s->arena, recording_memory(r));
	if ((c->threads || c->processes) &&
		threads_choose(&s->arena, r->tables, &all, c->threads, c->processes, &rows, e) < 0)
		return -(int)e->code;
	if (c->memory && resolve_memory(s, c, &all, &rows, e) < 0)
		return -(int)e->code;
	if (stack_filter_new(&s->shape, &s->arena, r->frames, &c->shape, e) < 0)
		return -(int)e->code;
	if (c->by_time && !c->memory)
		s->blocks = xcalloc(1, sizeof *s->blocks);
	s->options = (struct stacks_options){ .state = c->state,
		.from_s = c->from_s,
		.to_s = c->to_s,
		.threads = rows.v,
		.n_threads = rows.n,
		.fold_idle = folds_idle(c) && !c->memory,
		.imports = c->imports ? IMPORTS_WHOLE : IMPORTS_FOLDED,
		.only_mine = c->only_mine,
		.blocks = s->blocks,
		.frames = r->frames,
		.shape = s->shape };
	if (c->memory) {
		s->options.weights = s->memory->v;
		s->options.n_weights = s->memory->n;
		s->options.weights_unit = UNIT_BYTES;
	}
	return resolve_phase(s, c, e);
}

/* What the file cannot say. */
static int refuse(const struct selection *s, struct err *e)
{
	const struct recording *r = s->recording;
	const struct stacks_options *o = &s->options;

	if (r->origin.is_foreign && o->state != STACKS_WALL)
		return err_set(e, ERR_UNSUPPORTED,
			"a %s file does not say which samples were on a CPU or held the GIL",
			r->origin.format);
	if (!s->exact && !s->stacks->has_times && (o->from_s > 0 || o->to_s > 0))
		return err_set(e, ERR_UNSUPPORTED,
			"a %s file does not say when its samples were taken", r->origin.format);
	if (s->exact && o->state != STACKS_WALL)
		return err_set(e, ERR_UNSUPPORTED,
			"traced calls are sums over the whole run: states need samples");
	if ((s->exact || s->exact_lines) && (o->from_s > 0 || o->to_s > 0) &&
		!s->stacks->nodes->is_window)
		return err_set(e, ERR_UNSUPPORTED,
			"traced calls are sums over the whole run: ranges of time need samples, or "
			"a timeline of all calls (run --trace=timeline)");
	if ((s->exact || s->exact_lines) && o->within)
		return err_set(e, ERR_UNSUPPORTED,
			"traced calls are sums over the whole run: phases need samples");
	if (s->exact && !s->exact->has_contexts && (o->only_mine || s->shape))
		return err_set(e, ERR_UNSUPPORTED,
			"that needs whole stacks, and this kind of file only says who called whom");
	return 0;
}

static int fill(struct selection *s, const struct choice *c, struct err *e)
{
	struct recording *r = s->recording;
	struct buf what = BUF_INIT;

	choice_describe(c, &what);
	s->what = arena_strdup(&s->arena, buf_str(&what));
	buf_done(&what);
	if (resolve(s, c, e) < 0)
		return -(int)e->code;
	s->stacks = stacks_build(&s->arena, r->tables, &s->options);
	if (c->memory) {
		s->profile = profile_build(&s->arena, s->stacks);
		return 0;
	}
	s->exact = exact_build(&s->arena, r->tables, r->frames, s->stacks->nodes);
	s->exact_lines = exact_lines_build(
		&s->arena, r->tables, r->frames, s->options.threads, s->options.n_threads);
	if (refuse(s, e) < 0)
		return -(int)e->code;
	if (!s->exact && !s->exact_lines && !s->stacks->n && !s->stacks->n_threads)
		return 0;
	if (s->shape)
		s->exact = NULL;
	s->profile =
		s->exact ? exact_profile(&s->arena, s->exact) : profile_build(&s->arena, s->stacks);
	s->probes = probes_build(&s->arena, s->stacks, selection_lost_share(s));
	return 0;
}

void selection_free(struct selection *s)
{
	if (!s)
		return;
	stack_filter_free(s->shape);
	inverted_tree_free(s->inverted);
	arena_done(&s->arena);
	if (s->blocks)
		time_blocks_done(s->blocks);
	free(s->blocks);
	free(s->key);
	free(s);
}

/* Where the one goes that was not asked for longest. */
static struct selection **slot_for(struct recording *r)
{
	struct selection **oldest = &r->selections[0];

	for (size_t i = 0; i < RECORDING_SELECTIONS; i++) {
		if (!r->selections[i])
			return &r->selections[i];
		if (r->selections[i]->last_used < (*oldest)->last_used)
			oldest = &r->selections[i];
	}
	return oldest;
}

static struct selection *find(struct recording *r, const char *key)
{
	for (size_t i = 0; i < RECORDING_SELECTIONS; i++)
		if (r->selections[i] && strcmp(r->selections[i]->key, key) == 0)
			return r->selections[i];
	return NULL;
}

int recording_select(
	struct recording *r, const struct choice *c, struct selection **ret, struct err *e)
{
	struct selection *s, **slot;
	char *key;

	if (recording_run(r, e) < 0)
		return -(int)e->code;
	key = key_of(c);
	*ret = find(r, key);
	if (*ret) {
		free(key);
		(*ret)->last_used = ++r->n_asked;
		return 0;
	}
	s = xcalloc(1, sizeof *s);
	*s = (struct selection){ .recording = r, .key = key, .last_used = ++r->n_asked };
	if (fill(s, c, e) < 0) {
		selection_free(s);
		return -(int)e->code;
	}
	slot = slot_for(r);
	selection_free(*slot);
	*ret = *slot = s;
	return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

double selection_lost_share(const struct selection *s)
{
	return s->exact || !s->profile ? 0 : s->profile->lost_share;
}

bool selection_is_parted(const struct selection *s)
{
	return s->exact && !s->exact->has_contexts;
}

const struct flametree *selection_tree(struct selection *s)
{
	if (!s->tree)
		s->tree = selection_is_parted(s)
			? parted_tree_build(&s->arena, s->exact)
			: flametree_build(&s->arena, s->stacks, selection_lost_share(s));
	return s->tree;
}

struct inverted_tree *selection_inverted(struct selection *s)
{
	if (!s->inverted)
		s->inverted = inverted_tree_new(selection_tree(s), INVERTED_TREE_CALLERS, 0);
	return s->inverted;
}

/* Of traced calls: of the chosen thread with most of them. Calls are shown as they were, so no shape can be asked for. */
static const struct flametree *tree_of_calls(struct selection *s, size_t *ret_number)
{
	struct recording *r = s->recording;
	const struct timeline *t = NULL;
	size_t best = SIZE_MAX;

	if (!s->shape && !s->stacks->only_mine)
		t = timeline_build(&s->arena, r->tables, r->frames);
	for (size_t i = 0; t && i < t->n_threads; i++)
		for (size_t k = 0; k < s->stacks->n_threads; k++)
			if (t->threads[i].row == s->stacks->threads[k].row &&
				(best == SIZE_MAX ||
					t->threads[i].n_calls > t->threads[best].n_calls)) {
				best = i;
				*ret_number = k + 1;
			}
	return best == SIZE_MAX ? NULL
				: flametree_of_calls(&s->arena, t, t->threads[best].row,
					  r->reader->begun_monotonic_ns);
}

/* The strip of the chosen thread that was sampled longest without being idle. */
const struct flametree *selection_time_tree(struct selection *s, size_t *ret_number)
{
	const struct thread_states *t = recording_strips(s->recording);
	const struct stack_thread *best = NULL;

	if (s->memory)
		return NULL; /* blocks live side by side */
	if (s->stacks->nodes->n) {
		if (!s->time_tree)
			s->time_tree = tree_of_calls(s, &s->time_thread);
		*ret_number = s->time_thread;
		return s->time_tree;
	}
	for (size_t i = 0; i < s->stacks->n_threads; i++) {
		const struct stack_thread *x = &s->stacks->threads[i];

		if (!best || x->value > best->value)
			best = x;
	}
	for (size_t i = 0; best && i < t->n_threads; i++) {
		if (t->threads[i].row != best->row || !t->threads[i].n)
			continue;
		*ret_number = i + 1;
		if (!s->time_tree)
			s->time_tree = flametree_of_time(&s->arena, s->stacks, &t->threads[i]);
		return s->time_tree;
	}
	return NULL;
}

const struct opcode_counts *selection_opcodes(struct selection *s)
{
	if (!s->has_opcodes)
		s->opcodes = opcode_counts_build(&s->arena, s->recording->tables,
			s->recording->frames, s->options.threads, s->options.n_threads);
	s->has_opcodes = true;
	return s->opcodes;
}

const struct arguments *selection_arguments(struct selection *s)
{
	if (!s->arguments)
		s->arguments = arguments_build(
			&s->arena, s->recording->tables, s->recording->frames, s->exact);
	return s->arguments;
}

const struct tasks *selection_tasks(struct selection *s)
{
	if (!s->tasks)
		s->tasks = tasks_build(&s->arena, s->recording->tables, s->stacks);
	return s->tasks;
}

/* Of the time chosen, stretch by stretch where it is of a phase. */
static void sum_strip(
	const struct selection *s, const struct state_thread *x, double to[STRIP_STATES_])
{
	uint64_t zero_ns = s->recording->reader->begun_monotonic_ns;
	uint64_t from_ns = (uint64_t)(s->options.from_s * 1e9);
	uint64_t to_ns = s->options.to_s > 0 ? (uint64_t)(s->options.to_s * 1e9) : UINT64_MAX;

	if (!s->options.within) {
		thread_states_sums(x, from_ns, to_ns, to);
		return;
	}
	memset(to, 0, STRIP_STATES_ * sizeof *to);
	for (size_t i = 0; i < s->options.n_within; i++) {
		const struct stretch *w = &s->options.within[i];
		uint64_t begin =
			(uint64_t)w->start_ns > zero_ns ? (uint64_t)w->start_ns - zero_ns : 0;
		uint64_t end = (uint64_t)w->end_ns > zero_ns ? (uint64_t)w->end_ns - zero_ns : 0;
		double one[STRIP_STATES_];

		begin = begin > from_ns ? begin : from_ns;
		end = end < to_ns ? end : to_ns;
		if (end <= begin)
			continue;
		thread_states_sums(x, begin, end, one);
		for (size_t k = 0; k < STRIP_STATES_; k++)
			to[k] += one[k];
	}
}

struct state_sums selection_states(struct selection *s)
{
	const struct thread_states *t = recording_strips(s->recording);
	struct state_sums sum = { .is_known = t->has_states && t->n_threads && !s->memory };
	uint64_t at;
	double one[STRIP_STATES_], ready_s;
	struct map strips = MAP_INIT;

	for (size_t i = 0; i < t->n_threads; i++)
		map_put(&strips, t->threads[i].row, i);
	for (size_t i = 0; sum.is_known && i < s->stacks->n_threads; i++) {
		const struct stack_thread *x = &s->stacks->threads[i];
		const struct state_thread *strip =
			map_find(&strips, x->row, &at) ? &t->threads[at] : NULL;
		double left_out = x->all - x->value;

		if (!strip || x->value <= 0)
			continue;
		sum_strip(s, strip, one);
		ready_s = units_is_known(x->runnable_s) ? x->runnable_s : 0;
		sum.runnable_s += fmin(ready_s, one[STRIP_RUNNING]);
		one[STRIP_RUNNING] = fmax(one[STRIP_RUNNING] - ready_s, 0);
		if (s->stacks->n_folded && left_out > 0)
			one[STRIP_WAITING] = fmax(one[STRIP_WAITING] - left_out, 0);
		for (size_t k = 0; k < STRIP_STATES_; k++)
			sum.s[k] += one[k];
	}
	map_done(&strips);
	return sum;
}

const struct crash_stacks *selection_crashes(struct selection *s, size_t *ret_n)
{
	if (!s->crashes && !s->memory)
		s->crashes = crash_stacks_build(
			&s->arena, s->recording->tables, s->stacks, &s->n_crashes);
	*ret_n = s->n_crashes;
	return s->crashes;
}

const struct stacks *selection_stacks_on_cpu(struct selection *s)
{
	struct stacks_options o = s->options;

	o.state = STACKS_CPU;
	o.fold_idle = false; /* what they did on a CPU was work */
	o.blocks = NULL;
	return stacks_build(&s->arena, s->recording->tables, &o);
}

const struct stacks *selection_stacks_of_imports(struct selection *s)
{
	struct stacks_options o = s->options;

	o.imports = IMPORTS_ALONE;
	o.only_mine = false;
	o.shape = NULL;
	o.blocks = NULL;
	return stacks_build(&s->arena, s->recording->tables, &o);
}

void selection_describe(const struct selection *s, struct buf *to)
{
	buf_adds(to, s->what);
	if (s->stacks->paths->imports.value > 0)
		buf_adds(to, to->n ? "; imports in one row" : "imports in one row");
	if (!s->stacks->n_folded)
		return;
	buf_adds(to, to->n ? "; left out: " : "left out: ");
	stacks_describe_idle(s->stacks, to);
}

static bool is_within(const struct stacks *s, size_t frames_most)
{
	const struct paths *p = s->paths;
	uint32_t *depth = xcalloc(p->n + 1, sizeof *depth);
	bool is = true;
	size_t sum = 0;

	for (size_t i = 1; i < p->n; i++)
		depth[i] = depth[p->v[i].parent] + 1;
	for (size_t i = 0; i < s->n && is; i++) {
		sum += depth[p->of_place[i]];
		is = sum <= frames_most && depth[p->of_place[i]] < STACKS_DEPTH;
	}
	free(depth);
	return is;
}

const struct stacks *selection_stacks_within(struct selection *s, size_t frames_most)
{
	struct stacks_options o = s->options;

	if (is_within(s->stacks, frames_most))
		return s->stacks;
	o.frames_most = frames_most;
	o.blocks = NULL;
	return stacks_build(&s->arena, s->recording->tables, &o);
}
