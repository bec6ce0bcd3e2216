/* SPDX-License-Identifier: MIT
 *
 * The sampler: the Python stacks of every thread of every interpreter of the tree, by remote reads.
 * The target is never stopped and never written to.
 *
 * A look at one thread is py_thread.c, the threads of a process py_process.c, what the kernel says of
 * them py_state.c, when to look py_pace.c; here are the records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/checks.h"
#include "collect/collector.h"
#include "collect/py_code.h"
#include "collect/py_probe.h"
#include "collect/py_pace.h"
#include "collect/py_process.h"
#include "collect/py_sample.h"
#include "collect/py_search.h"
#include "collect/py_tasks.h"
#include "collect/rows.h"
#include "collect/sources.h"
#include "cpython/mem.h"
#include "cpython/walk.h"
#include "store/writer.h"
#include "sys/proc.h"
#include "sys/tree.h"
#include "wire/py_layout.h"
#include "wire/clock.h"
#include "wire/records.h"

#define LOG_TOPIC "sample"
#include "base/log.h"
#include "base/banned.h"

enum {
	LOOK_FOR_MS = 2, /* interpreters */
	STANDBY_MS = 1000,
	KNOWN_STACKS_LOG2 = 13,
	ASLEEP_MS = 50, /* between samples of a thread that sleeps */
	PROBE_MS = 20,  /* between two looks at operands */
};

static const uint64_t MS = 1000000;
static const uint64_t STATE_NS = 250000; /* what the kernel says of a thread is at most so old */
static const uint64_t ALONG_NS = 50000;  /* … and what the interpreter does of the GIL */

struct known_stack { /* a row of the stack table, kept because making sure costs more */
	uint32_t segment, parent, code, offset;
	uint32_t row; /* 0: none here */
};

struct sampler {
	struct collect_context c;
	VEC(struct py_process *) processes;
	struct py_search *search;
	struct py_pace pace;
	uint64_t look_for_ns;
	uint64_t begun_ns;
	uint64_t n_samples, n_lost, n_shortened, n_ticks;
	uint64_t told_lost;
	uint64_t first_ns, last_ns;
	uint64_t n_lines, on_cpu_ns; /* what looks cost, of how much */
	uint64_t probe_ns;           /* when operands may be looked at next */
	uint64_t n_probes, n_probes_dropped;
	struct walk walk;
	struct known_stack known[1 << KNOWN_STACKS_LOG2]; /* by hash, the newest */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct sampler *s, struct py_process *p)
{
	if (p->row && p->segment == writer_segment(s->c.writer))
		return p->row;
	p->segment = writer_segment(s->c.writer);
	return p->row = rows_process(s->c.writer, p->pid, p->start_ns, p->parent);
}

static void thread_rows(struct sampler *s, struct py_process *p, struct sampled *t)
{
	bool is_known = t->segment == writer_segment(s->c.writer);
	struct rec_thread r = { .tid = t->tid };

	if (is_known && !t->is_renamed)
		return;
	r.process = process_row(s, p);
	r.name = t->name ? writer_name(s->c.writer, t->name, strlen(t->name)) : 0;
	if (!is_known)
		t->n_last = 0;
	t->segment = writer_segment(s->c.writer);
	t->row = is_known ? writer_row_again(s->c.writer, RECORD_thread, &r)
			  : writer_row(s->c.writer, RECORD_thread, &r);
	t->is_renamed = false;
}

static uint32_t stack_row(struct sampler *s, uint32_t parent, uint32_t code, uint32_t offset)
{
	struct writer *w = s->c.writer;
	uint64_t mixed = (parent * 0x9e3779b97f4a7c15u ^ code) * 0xff51afd7ed558ccdu ^ offset;
	struct known_stack *k =
		&s->known[(mixed * 0xc4ceb9fe1a85ec53u) >> (64 - KNOWN_STACKS_LOG2)];
	uint32_t frame;

	if (k->row && k->segment == writer_segment(w) && k->parent == parent && k->code == code &&
		k->offset == offset)
		return k->row;
	frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_PY, .code = code, .position = offset });
	*k = (struct known_stack){ .segment = writer_segment(w),
		.parent = parent,
		.code = code,
		.offset = offset,
		.row = writer_row(
			w, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame }) };
	return k->row;
}

/* The stack row of frames[0 … n-1] as callers. Rows of the same beginning as last time are reused. */
static uint32_t caller_stack(struct sampler *s, struct py_process *p, struct sampled *t, size_t n)
{
	const struct walk_frame *frames = s->walk.frames;
	struct writer *w = s->c.writer;
	size_t same = 0;

	if (t->code_changes != py_codes_changes(p->codes)) {
		t->code_changes = py_codes_changes(p->codes);
		t->n_last = 0;
	}
	while (same < n && same < t->n_last && frames[same].code == t->last[same].code &&
		frames[same].offset == t->last[same].offset)
		same++;
	for (size_t i = same; i < n; i++) {
		t->rows[i] = stack_row(s, i ? t->rows[i - 1] : 0,
			py_codes_row(p->codes, frames[i].code, w), frames[i].offset);
		t->last[i] = frames[i];
	}
	t->n_last = n;
	return n ? t->rows[n - 1] : 0;
}

static uint32_t cut_stack(struct sampler *s, uint32_t callers)
{
	struct writer *w = s->c.writer;
	uint32_t frame = writer_row(w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_SYNTH, .name = writer_string(w, "[cut]") });

	return writer_row(
		w, RECORD_stack, &(struct rec_stack){ .parent = callers, .frame = frame });
}

/* ---- one look at one thread ------------------------------------------------------------------ */

/* Whoever waits for the GIL sleeps on a futex inside its struct. */
static bool is_at_gil(const struct py_process *p, uint64_t futex)
{
	const struct py_layout *l = &p->target.layout;
	uint64_t gil = l->runtime_gil != PY_NONE ? p->target.runtime + l->runtime_gil : p->gil;

	return gil && futex >= gil && futex - gil < l->gil_sizeof;
}

static uint16_t state_bits(const struct py_process *p, const struct sampled *t, bool is_shortened)
{
	const struct interpreter *i = &p->interpreter_now;
	bool holds_gil = i->locked == 1 && i->holder == t->image.address;
	uint16_t bits = 0;

	if (t->kernel.is_running)
		bits |= SAMPLE_ON_CPU;
	if (holds_gil)
		bits |= SAMPLE_HOLDS_GIL;
	else if (is_at_gil(p, t->kernel.futex))
		bits |= SAMPLE_WANTS_GIL;
	if (holds_gil && py_process_is_collecting(p))
		bits |= SAMPLE_IN_GC;
	if (is_shortened)
		bits |= SAMPLE_SHORTENED;
	return bits;
}

static void record_sample(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	const struct walk *walk = &s->walk;
	struct rec_sample r = { .t_ns = now_ns, .state = state_bits(p, t, walk->is_shortened) };

	thread_rows(s, p, t);
	r.thread = t->row;
	if (walk->is_shortened) {
		r.stack = cut_stack(s, caller_stack(s, p, t, walk->n));
		s->n_shortened++;
	} else {
		const struct walk_frame *leaf = &walk->frames[walk->n - 1];

		r.stack = caller_stack(s, p, t, walk->n - 1);
		r.leaf_code = py_codes_row(p->codes, leaf->code, s->c.writer);
		r.leaf_offset = leaf->offset;
		py_codes_leaf(p->codes, leaf->code, s->c.writer, process_row(s, p));
	}
	writer_add(s->c.writer, RECORD_sample, &r);
	if (t->kernel.is_running && t->recorded.t_ns)
		s->on_cpu_ns += now_ns - t->recorded.t_ns;
	t->recorded = r;
	t->slept_ns = 0;
	s->n_samples++;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Which asyncio task the thread runs, when that is another one than before. */
static void record_task(struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	const char *name = py_tasks_find(p->tasks, &s->walk, now_ns);
	uint32_t segment = writer_segment(s->c.writer);

	if (is_same(name, t->task) && (!name || t->task_segment == segment))
		return;
	free(t->task);
	t->task = name ? xstrdup(name) : NULL;
	t->task_segment = segment;
	writer_add(s->c.writer, RECORD_task,
		&(struct rec_task){ .t_ns = now_ns,
			.thread = t->row,
			.name = name ? writer_name(s->c.writer, name, strlen(name)) : 0 });
}

/* What the instruction the thread stands on works with. */
static void record_probe(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	struct py_probe probe;

	if (now_ns < s->probe_ns || s->walk.is_shortened)
		return;
	switch (py_probe_take(p->probes, p->codes, &s->walk, now_ns, &probe)) {
	case PY_PROBE_NONE:
		return;
	case PY_PROBE_DROPPED:
		s->n_probes_dropped++;
		break;
	case PY_PROBE_TAKEN:
		s->n_probes++;
		for (size_t i = 0; i < probe.n; i++)
			writer_add(s->c.writer, RECORD_probe,
				&(struct rec_probe){ .t_ns = now_ns,
					.thread = t->row,
					.code = t->recorded.leaf_code,
					.offset = t->recorded.leaf_offset,
					.operand = probe.v[i].number,
					.type = writer_string(s->c.writer, probe.v[i].what.type),
					.name = writer_string(s->c.writer, probe.v[i].what.name),
					.size = probe.v[i].what.size });
		break;
	}
	s->probe_ns = now_ns + PROBE_MS * MS;
}

/* The same again: the thread has not run since. */
static void record_again(struct sampler *s, struct sampled *t, uint64_t t_ns)
{
	t->recorded.t_ns = t_ns;
	t->slept_ns = 0;
	writer_add(s->c.writer, RECORD_sample, &t->recorded);
	s->n_samples++;
}

static void tell_sleep(struct sampler *s, const struct py_process *p, struct sampled *t)
{
	if (t->sleep == SLEEP_SURE && !t->is_awake && p->sleepers.still_ns > t->recorded.t_ns &&
		p->sleepers.still_ns > t->slept_ns)
		t->slept_ns = p->sleepers.still_ns;
	if (t->slept_ns && t->segment == writer_segment(s->c.writer))
		record_again(s, t, t->slept_ns);
}

/* Whether the thread sleeps as it did at the last look, so that there is nothing to look at. Its samples
 * then are 50 ms apart, and the last of them stands where it was last found asleep. */
static bool is_asleep(
	struct sampler *s, const struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	bool has_slept;

	if (t->sleep == SLEEP_NO)
		return false;
	has_slept = py_state_has_slept(&t->kernel);
	if (!has_slept || t->segment != writer_segment(s->c.writer)) {
		tell_sleep(s, p, t);
		t->sleep = SLEEP_NO;
		return false;
	}
	if (t->sleep == SLEEP_SEEN)
		return false; /* the stack seen may be of before it fell asleep: this look is sure */
	t->slept_ns = now_ns;
	if (now_ns - t->recorded.t_ns >= ASLEEP_MS * MS)
		record_again(s, t, now_ns);
	return true;
}

/* Its state after a look at its stack. */
static void look_at_state(struct sampled *t, uint64_t now_ns)
{
	if (t->sleep ==
		SLEEP_SEEN) { /* found asleep before the look, and still: the stack is its own */
		t->sleep = py_state_has_slept(&t->kernel) ? SLEEP_SURE : SLEEP_NO;
		return;
	}
	if (t->image.has_moved)
		py_state_runs(&t->kernel, now_ns);
	else
		py_state_look(&t->kernel, now_ns, STATE_NS);
	if (t->kernel.is_running)
		return;
	/* In this order: while it runs its turns stand still, too. */
	py_state_note(&t->kernel);
	py_state_look(&t->kernel, now_ns, 0);
	if (!t->kernel.is_running)
		t->sleep = SLEEP_SEEN;
}

static void look_at_thread(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	if (is_asleep(s, p, t, now_ns))
		return;
	p->is_looked_at = true;
	switch (py_thread_look(&t->image, &p->view, &s->walk)) {
	case PY_LOOK_STACK:
		look_at_state(t, now_ns);
		record_sample(s, p, t, now_ns);
		record_task(s, p, t, now_ns);
		record_probe(s, p, t, now_ns);
		break;
	case PY_LOOK_NONE:
		break;
	case PY_LOOK_LOST:
		s->n_lost++;
		break;
	case PY_LOOK_FAILED:
		t->has_failed = true; /* lost, unless the thread turns out to have ended */
		p->relist_ns = 0;
		break;
	}
}

/* Who holds the GIL runs. */
static bool holds_sleeper_gil(struct py_process *p)
{
	const struct interpreter *i = &p->interpreter_now;

	if (i->locked != 1 || !i->holder)
		return false;
	vec_each (&p->sleepers.awake, t)
		if ((*t)->image.address == i->holder)
			return false;
	return true;
}

static void read_along(struct py_process *p)
{
	if (!p->is_looked_at && p->view.n_along)
		mem_readv(&p->target.mem, p->view.along_to, p->view.along_from, p->view.n_along);
}

/* Samples of those that sleep on, as if each had been asked. */
static void tell_sleepers(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	if (now_ns - p->told_ns < ASLEEP_MS * MS)
		return;
	p->told_ns = now_ns;
	vec_each (&p->threads, it) {
		struct sampled *t = *it;

		if (!t->is_awake && now_ns - t->recorded.t_ns >= ASLEEP_MS * MS)
			record_again(s, t, now_ns);
	}
}

static void look_at_threads(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	uint32_t segment = writer_segment(s->c.writer);
	bool sleep_on = p->asked_segment == segment && py_sleepers_sleep_on(&p->sleepers, now_ns);

	if (sleep_on) {
		vec_each (&p->sleepers.awake, t)
			look_at_thread(s, p, *t, now_ns);
		read_along(p);
		if (!holds_sleeper_gil(p)) {
			tell_sleepers(s, p, now_ns);
			return;
		}
	}
	vec_each (&p->threads, t)
		if (!sleep_on || !(*t)->is_awake)
			look_at_thread(s, p, *t, now_ns);
	read_along(p);
	py_sleepers_asked(&p->sleepers, p->threads.v, p->threads.n, now_ns);
	p->asked_segment = segment;
}

static void look_at_process(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	p->view.now_ns = now_ns;
	p->view.is_along_fresh = now_ns - p->along_ns < ALONG_NS;
	if (!p->view.is_along_fresh)
		p->along_ns = now_ns;
	py_codes_tick(p->codes, now_ns);
	py_process_list(p, now_ns);
	s->n_lost += p->n_failed;
	p->n_failed = 0;
	p->is_looked_at = p->target.layout.flags & PY_HEAP_FRAMES &&
		mem_readv(&p->target.mem, p->view.along_to, p->view.along_from, p->view.n_along) >
			0;
	look_at_threads(s, p, now_ns);
	if (py_process_threads_head(p) != p->threads_head)
		p->relist_ns = 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void try_process(struct sampler *s, const struct tree_process *t, uint64_t now_ns)
{
	struct py_process *p = xcalloc(1, sizeof *p);
	struct err e = ERR_INIT;
	int status = py_search_try(s->search, t, &p->target, now_ns, &e);

	if (status == -(int)ERR_UNSUPPORTED)
		py_search_refuse(s->search, t, e.text);
	if (status != 0) {
		py_target_close(&p->target);
		free(p);
		return;
	}
	p->pid = t->pid;
	p->serial = t->serial;
	p->start_ns = t->start_ns;
	p->parent = t->parent;
	py_process_begin(p, now_ns);
	s->pace.has_heap_frames |= (p->target.layout.flags & PY_HEAP_FRAMES) != 0;
	if (s->c.sources)
		py_codes_tell_sources(p->codes, s->c.sources,
			sources_process(s->c.sources, p->pid, p->start_ns, false));
	vec_push(&s->processes, p);
	writer_meta(s->c.writer, "interpreter", p->interpreter);
	log_debug(1, "%d: %s", (int)t->pid, p->interpreter);
}

/* Beside agents nobody is sampled before it is clear that none comes: after a second. */
static bool is_wanted(const struct sampler *s, uint64_t now_ns)
{
	return !s->c.is_standby || (!*s->c.has_agents && now_ns > s->begun_ns + STANDBY_MS * MS);
}

static void look_for_interpreters(struct sampler *s, uint64_t now_ns)
{
	const struct tree_process *all;
	size_t n;

	s->look_for_ns = now_ns + LOOK_FOR_MS * MS;
	all = tree_processes(s->c.tree, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].is_alive && py_search_is_due(s->search, &all[i], now_ns))
			try_process(s, &all[i], now_ns);
}

static void free_process(struct sampler *s, struct py_process *p)
{
	s->n_lines += py_process_lines(p);
	py_process_free(p);
}

static void drop_process(struct sampler *s, uint64_t serial)
{
	py_search_forget(s->search, serial);
	for (size_t i = s->processes.n; i-- > 0;)
		if (s->processes.v[i]->serial == serial) {
			free_process(s, s->processes.v[i]);
			vec_remove_swap(&s->processes, i);
		}
}

static void sample_event(void *state, const struct tree_event *ev)
{
	struct sampler *s = state;

	if (ev->kind != TREE_FORK)
		drop_process(s, ev->process->serial); /* ended, or runs another program now */
	s->look_for_ns = 0;
}

/* ---- the collector --------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void tell_losses(struct sampler *s, uint64_t now_ns)
{
	if (s->n_lost == s->told_lost)
		return;
	writer_add(s->c.writer, RECORD_loss,
		&(struct rec_loss){ .t_ns = now_ns,
			.what = writer_string(s->c.writer, "sample"),
			.count = s->n_lost - s->told_lost });
	s->told_lost = s->n_lost;
}

static uint64_t sample_drain(void *state, uint64_t now_ns)
{
	struct sampler *s = state;
	uint64_t stamp_ns = py_pace_stamp(&s->pace, now_ns);

	if (!is_wanted(s, now_ns))
		return now_ns + STANDBY_MS / 10 * MS;
	if (now_ns >= s->look_for_ns)
		look_for_interpreters(s, now_ns);
	if (s->processes.n && !s->first_ns) {
		s->first_ns = now_ns;
		s->pace.next_ns = now_ns;
	}
	vec_each (&s->processes, p)
		look_at_process(s, *p, stamp_ns);
	if (!s->processes.n)
		return now_ns + MS;
	s->n_ticks++;
	s->last_ns = now_ns;
	if (s->n_ticks % 1024 == 0)
		tell_losses(s, now_ns);
	if (py_pace_is_cap_due(&s->pace, now_ns))
		py_pace_keep_below_cap(&s->pace, now_ns, own_cpu_ns());
	return py_pace_next(&s->pace, now_ns);
}

static void sample_probe(struct probe *ret)
{
	check_find("remote-memory")->probe(ret);
}

static int sample_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct sampler *s = xcalloc(1, sizeof *s);

	(void)e;
	s->c = *c;
	s->search = py_search_new();
	s->begun_ns = clock_monotonic_ns();
	py_pace_init(&s->pace, c->rate_hz, (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL));
	*ret_state = s;
	return 0;
}

static void meta_number(struct writer *w, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof text, "%.17g", value);
	writer_meta(w, key, text);
}

/* What the report says of it. */
static void tell_all(struct sampler *s)
{
	double seconds = s->last_ns > s->first_ns ? (double)(s->last_ns - s->first_ns) / 1e9 : 0;

	tell_losses(s, s->last_ns);
	writer_meta(s->c.writer, "engine", "sample/remote");
	meta_number(s->c.writer, "rate_asked_hz",
		s->pace.interval_ns ? 1e9 / (double)s->pace.interval_ns : 0);
	if (seconds > 0)
		meta_number(s->c.writer, "rate_reached_hz", (double)s->n_ticks / seconds);
	if (!s->n_samples)
		writer_meta(s->c.writer, "no_python", py_search_reason(s->search));
	meta_number(s->c.writer, "samples", (double)s->n_samples);
	meta_number(s->c.writer, "samples_lost", (double)s->n_lost);
	meta_number(s->c.writer, "samples_shortened", (double)s->n_shortened);
	meta_number(s->c.writer, "probes", (double)s->n_probes);
	meta_number(s->c.writer, "probes_dropped", (double)s->n_probes_dropped);
	if (s->pace.stretch_most > 1)
		meta_number(s->c.writer, "rate_lowered_by", s->pace.stretch_most);
	meta_number(s->c.writer, "ticks_missed", (double)s->pace.n_missed);
}

static void sample_stop(void *state)
{
	struct sampler *s = state;
	bool is_told;

	vec_each (&s->processes, p)
		vec_each (&(*p)->threads, t)
			tell_sleep(s, *p, *t);
	is_told = !s->c.is_standby || (s->n_samples && !*s->c.has_agents);
	if (is_told)
		tell_all(s);
	vec_each (&s->processes, p)
		free_process(s, *p);
	if (is_told && s->on_cpu_ns)
		meta_number(s->c.writer, "slowdown_est",
			(double)s->n_lines * PY_COST_LINE_NS / (double)s->on_cpu_ns);
	vec_done(&s->processes);
	py_search_free(s->search);
	free(s);
}

const struct collector collector_sample = {
	.name = "sample/remote",
	.what = COLLECT_SAMPLES,
	.sees = "Python stacks of every thread, by reading the program's memory without stopping "
		"it",
	.probe = sample_probe,
	.start = sample_start,
	.drain = sample_drain,
	.on_event = sample_event,
	.stop = sample_stop,
};
