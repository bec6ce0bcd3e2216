/* SPDX-License-Identifier: MIT
 *
 * The sampler: the Python stacks of every thread of every interpreter of the tree, by remote reads.
 * The target is never stopped and never written to.
 *
 * A look at one thread is thread.c, the threads of a process process.c, what the kernel says of
 * them state.c, when to look sample_schedule.c, what is recorded record.c; here is who is looked at.
 *
 * The recording can be held against the kernel's clock: a thread's samples lie between the marks that it came and is
 * gone, a look without Python frames is a sample of a named row, looks that came too late are told, and so are each
 * process's CPU time and how many of its threads were seen (records 39 … 41). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/doctor/checks.h"
#include "collect/collector.h"
#include "collect/samples/code.h"
#include "collect/samples/sample_schedule.h"
#include "collect/samples/process.h"
#include "collect/samples/record.h"
#include "collect/samples/sampler.h"
#include "collect/samples/search.h"
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
	ASLEEP_MS = 50,   /* between samples of a thread that sleeps */
	STOPPED_MS = 50,  /* between questions whether a process was stopped */
	ACCOUNT_MS = 100, /* between two entries in its books */
	YOUNG_MS = 200,   /* so long its clock is read at each look: it may end at any moment */
	AGAIN_MS = 10, /* after an interpreter's end another one is looked for; then twice that … */
	LATE_LOOKS = 4, /* a look is late when so many others could have been made … */
	LATE_MS = 4,    /* … and it is overdue by this */
};

static const uint64_t MS = 1000000;
static const uint64_t STATE_NS = 250000; /* what the kernel says of a thread is at most so old */
static const uint64_t ALONG_NS = 50000;  /* … and what the interpreter does of the GIL */

struct sampler {
	struct collect_context c;
	struct py_record record;
	uint64_t n_continued; /* that lateness has been told of */
	VEC(struct py_process *) processes;
	struct py_search *search;
	struct sample_schedule pace;
	uint64_t look_for_ns;
	uint64_t begun_ns;
	uint64_t n_lost, n_ticks;
	uint64_t told_lost;
	uint64_t first_ns, last_ns;
	uint64_t n_lines; /* what looks cost (cost.h) */
};

/* ---- one look at one thread ------------------------------------------------------------------ */

static void tell_sleep(struct sampler *s, const struct py_process *p, struct sampled *t)
{
	if (t->sleep == SLEEP_SURE && !t->is_awake && p->sleepers.still_ns > t->recorded.t_ns &&
		p->sleepers.still_ns > t->slept_ns)
		t->slept_ns = p->sleepers.still_ns;
	if (t->slept_ns && t->is_marked && t->segment == writer_segment(s->c.writer))
		py_record_again(&s->record, t, t->slept_ns);
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
		py_record_again(&s->record, t, now_ns);
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

static enum py_bare what_is_bare(const struct py_process *p, const struct sampled *t)
{
	if (!p->has_run)
		return PY_BARE_STARTING;
	return t->tid == (uint32_t)p->pid && py_process_is_finalizing(p) ? PY_BARE_ENDING
									 : PY_BARE_NONE;
}

/* It is there, and has no frames. */
static void take_bare(struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	look_at_state(t, now_ns);
	if (t->kernel.is_gone)
		return;
	t->is_bare = true;
	py_record_bare(&s->record, p, t, what_is_bare(p, t), py_record_state(p, t), now_ns);
}

static void doubt(struct py_process *p, struct sampled *t, enum doubt what)
{
	t->doubt = what;
	p->n_doubts++;
}

static void look_at_thread(
	struct sampler *s, struct py_process *p, struct sampled *t, uint64_t now_ns)
{
	if (t->is_dead || is_asleep(s, p, t, now_ns))
		return;
	p->is_looked_at = true;
	t->is_new = false;
	t->doubt = DOUBT_NO; /* of the look before, which ended with it */
	switch (py_thread_look(&t->image, &p->view, &s->record.walk)) {
	case PY_LOOK_STACK:
		look_at_state(t, now_ns);
		if (t->kernel.is_gone) {
			doubt(p, t, DOUBT_GONE);
			break;
		}
		t->is_bare = false;
		py_record_sample(&s->record, p, t, now_ns);
		break;
	case PY_LOOK_NONE:
		if (t->is_bare)
			take_bare(s, p, t, now_ns);
		else
			doubt(p, t, DOUBT_BARE);
		break;
	case PY_LOOK_LOST:
		s->n_lost++;
		break;
	case PY_LOOK_FAILED:
		doubt(p, t, DOUBT_FAILED);
		break;
	}
	if (t->kernel.is_gone && t->doubt == DOUBT_NO)
		doubt(p, t, DOUBT_GONE);
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
			py_record_again(&s->record, t, now_ns);
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

/* ---- threads that come and go ------------------------------------------------------------------ */

static void take_ended(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	vec_each (&p->ended, t) {
		tell_sleep(s, p, *t);
		py_record_gone(&s->record, p, *t, now_ns, false);
		py_process_free_thread(*t);
	}
	vec_clear(&p->ended);
}

/* What was doubtful is told now that the threads were listed anew, and those that came are looked at. */
static void settle_doubts(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	p->n_doubts = 0;
	for (size_t i = 0; i < p->threads.n; i++) {
		struct sampled *t = p->threads.v[i];
		enum doubt was = t->doubt;

		t->doubt = DOUBT_NO;
		if (was == DOUBT_BARE)
			take_bare(s, p, t, now_ns);
		s->n_lost += was == DOUBT_FAILED;
		if (was == DOUBT_GONE || t->kernel.is_gone) {
			t->is_dead = true;
			tell_sleep(s, p, t);
			py_record_gone(&s->record, p, t, now_ns, false);
		} else if (t->is_new) {
			look_at_thread(s, p, t, now_ns);
		}
	}
}

/* ---- a process ---------------------------------------------------------------------------------- */

static void write_account(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	const struct tree_process *t = tree_find(s->c.tree, p->pid);

	if (t && t->serial == p->serial)
		p->n_forked = t->n_forked - p->n_forked_before;
	p->account_ns = now_ns + ACCOUNT_MS * MS;
	py_record_account(&s->record, p, tree_hears(s->c.tree), now_ns);
}

static void keep_books(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	uint64_t cpu_ns;

	if (now_ns < p->account_ns && now_ns - p->begun_ns > YOUNG_MS * MS)
		return;
	cpu_ns = tree_cpu_ns(p->pid);
	if (cpu_ns != PROC_UNKNOWN)
		p->cpu_ns = cpu_ns;
	if (now_ns >= p->account_ns)
		write_account(s, p, now_ns);
}

/* From its beginning to the first look: what the kernel's clock says of it was on a CPU. */
static void tell_starting(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	struct sampled *t = NULL;
	uint64_t from_ns = p->begun_ns < now_ns ? p->begun_ns : now_ns, cpu_ns = p->cpu_ns;

	p->has_begun = true;
	vec_each (&p->threads, it)
		if ((*it)->tid == (uint32_t)p->pid)
			t = *it;
	vec_each (&p->threads, it)
		(*it)->bound_ns = from_ns;
	if (!t || p->was_running) {
		if (t)
			t->is_bound_exact = true;
		return;
	}
	t->is_bound_exact = true;
	if (!p->has_execed)
		return; /* a fork begins with a stack */
	if (cpu_ns > now_ns - from_ns)
		cpu_ns = now_ns - from_ns;
	py_record_bare(&s->record, p, t, PY_BARE_STARTING, SAMPLE_ON_CPU | SAMPLE_CLOCKED, from_ns);
	py_record_bare(&s->record, p, t, PY_BARE_STARTING, SAMPLE_ON_CPU | SAMPLE_CLOCKED,
		from_ns + cpu_ns);
	py_record_bare(&s->record, p, t, PY_BARE_STARTING, 0, from_ns + cpu_ns);
	py_record_bare(&s->record, p, t, PY_BARE_STARTING, 0, now_ns);
}

static bool is_anyone_awake(struct py_process *p)
{
	vec_each (&p->threads, t)
		if ((*t)->sleep != SLEEP_SURE && !(*t)->is_dead)
			return true;
	return false;
}

/* A stopped process sleeps, too; its time has a name of its own. */
static void look_for_stop(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	if (is_anyone_awake(p)) {
		p->is_stopped = false;
		return;
	}
	if (now_ns < p->stop_ns)
		return;
	p->stop_ns = now_ns + STOPPED_MS * MS;
	if (!py_state_is_stopped(p->pid)) {
		p->is_stopped = false;
		return;
	}
	if (p->is_stopped)
		return;
	p->is_stopped = true;
	vec_each (&p->threads, it) {
		struct sampled *t = *it;

		if (t->is_dead || !t->is_marked)
			continue;
		tell_sleep(s, p, t);
		py_record_bare(&s->record, p, t, PY_BARE_STOPPED, 0, now_ns);
	}
}

/* Its interpreter is no more; the process is. */
static void look_at_ending(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	struct sampled *t = py_process_bare(p);

	py_state_look(&t->kernel, now_ns, STATE_NS);
	if (!t->kernel.is_gone)
		py_record_bare(&s->record, p, t, p->has_run ? PY_BARE_ENDING : PY_BARE_STARTING,
			t->kernel.is_running ? SAMPLE_ON_CPU : 0, now_ns);
}

static void look_at_process(struct sampler *s, struct py_process *p, uint64_t now_ns)
{
	p->view.now_ns = now_ns;
	p->view.is_along_fresh = now_ns - p->along_ns < ALONG_NS;
	if (!p->view.is_along_fresh)
		p->along_ns = now_ns;
	py_codes_tick(p->codes, now_ns);
	keep_books(s, p, now_ns);
	py_process_list(p, now_ns);
	if (!p->has_begun)
		tell_starting(s, p, now_ns);
	take_ended(s, p, now_ns);
	if (p->is_ending) {
		look_at_ending(s, p, now_ns);
		p->looked_ns = now_ns;
		return;
	}
	p->is_looked_at = p->target.layout.flags & PY_HEAP_FRAMES &&
		mem_readv(&p->target.mem, p->view.along_to, p->view.along_from, p->view.n_along) >
			0;
	look_at_threads(s, p, now_ns);
	if (p->n_doubts || py_process_has_changed(p)) {
		py_process_list_now(p, now_ns);
		take_ended(s, p, now_ns);
		settle_doubts(s, p, now_ns);
	}
	look_for_stop(s, p, now_ns);
	p->looked_ns = now_ns;
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct py_process *process_find(struct sampler *s, uint64_t serial)
{
	vec_each (&s->processes, p)
		if ((*p)->serial == serial)
			return *p;
	return NULL;
}

/* A child that was forked runs Python from its first moment: there is nothing to search for. */
static bool is_fork(struct sampler *s, const struct tree_process *t, struct py_target *ret)
{
	vec_each (&s->processes, it) {
		const struct py_process *p = *it;

		if (p->pid == t->parent && !t->has_execed && !p->is_ending &&
			py_target_fork(ret, &p->target, t->pid, p->interp))
			return true;
	}
	return false;
}

static int search_process(struct sampler *s, const struct tree_process *t, struct py_process *p,
	uint64_t now_ns, struct err *e)
{
	if (!is_fork(s, t, &p->target)) {
		p->has_execed = t->serial == 0 || t->has_execed || !t->is_image_exact;
		return py_search_try(s->search, t, &p->target, now_ns, e);
	}
	py_search_found(s->search, t, now_ns);
	return 0;
}

static void try_process(struct sampler *s, const struct tree_process *t, uint64_t now_ns)
{
	struct py_process *p = xcalloc(1, sizeof *p);
	struct err e = ERR_INIT;
	int status = search_process(s, t, p, now_ns, &e);

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
	p->was_running = t->was_running;
	p->sched_files = s->c.sched_files;
	p->n_forked_before = t->n_forked;
	p->cpu_ns = tree_cpu_ns(t->pid);
	p->begun_ns = t->was_running ? now_ns : t->image_ns;
	if (!t->is_image_exact && !t->has_execed && !t->was_running && p->cpu_ns != PROC_UNKNOWN &&
		now_ns - p->cpu_ns < p->begun_ns) /* it was there for so long at least */
		p->begun_ns = now_ns - p->cpu_ns;
	py_process_begin(p, now_ns);
	s->pace.has_heap_frames |= (p->target.layout.flags & PY_HEAP_FRAMES) != 0;
	if (s->c.sources) {
		p->source = sources_process(s->c.sources, p->pid, p->start_ns, false);
		py_codes_tell_sources(p->codes, s->c.sources, p->source);
	}
	vec_push(&s->processes, p);
	writer_meta(s->c.writer, "interpreter", p->interpreter);
	log_debug(1, "%d: %s", (int)t->pid, p->interpreter);
}

/* Beside agents nobody is sampled before it is clear that none comes: after a second. */
static bool is_wanted(const struct sampler *s, uint64_t now_ns)
{
	return !s->c.is_standby || (!*s->c.has_agents && now_ns > s->begun_ns + STANDBY_MS * MS);
}

/* Where the kernel does not tell of it, an exec looks like the end of the interpreter. */
static bool runs_another(struct py_process *p, uint64_t now_ns)
{
	struct py_target target;
	struct err e = ERR_INIT;
	bool is_first = !p->again_wait_ns;
	int status;

	if (!p->is_ending || now_ns < p->again_ns)
		return false;
	p->again_wait_ns = is_first ? AGAIN_MS * MS : 2 * p->again_wait_ns;
	p->again_ns = now_ns + p->again_wait_ns;
	if (is_first)
		return false;
	status = py_target_try(&target, p->pid, &e);
	py_target_close(&target);
	return status == 0;
}

static void look_for_exec(struct sampler *s, uint64_t now_ns)
{
	for (size_t i = s->processes.n; i-- > 0;)
		if (runs_another(s->processes.v[i], now_ns))
			tree_exec(s->c.tree, s->processes.v[i]->pid, now_ns);
}

static void look_for_interpreters(struct sampler *s, uint64_t now_ns)
{
	const struct tree_process *all;
	size_t n;

	s->look_for_ns = now_ns + LOOK_FOR_MS * MS;
	look_for_exec(s, now_ns);
	all = tree_processes(s->c.tree, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].is_alive && py_search_is_due(s->search, &all[i], now_ns))
			try_process(s, &all[i], now_ns);
}

static void free_process(struct sampler *s, struct py_process *p)
{
	s->n_lines += py_process_lines(p);
	if (s->c.sources)
		sources_process_ended(s->c.sources, p->source);
	py_process_free(p);
}

/* The last of it. exact: it ended, or began another program, at this very time. */
static void end_process(struct sampler *s, struct py_process *p, uint64_t now_ns, bool is_exact)
{
	take_ended(s, p, now_ns);
	vec_each (&p->threads, t) {
		tell_sleep(s, p, *t);
		py_record_gone(&s->record, p, *t, now_ns, is_exact);
	}
	if (p->bare)
		py_record_gone(&s->record, p, p->bare, now_ns, is_exact);
	write_account(s, p, now_ns);
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
	struct py_process *p = process_find(s, ev->process->serial);
	uint64_t cpu_ns;

	if (ev->kind != TREE_FORK) { /* ended, or runs another program now */
		if (p) {
			cpu_ns = ev->kind == TREE_REAPED ? ev->end->cpu_ns : tree_cpu_ns(p->pid);
			if (cpu_ns != PROC_UNKNOWN)
				p->cpu_ns = cpu_ns;
			p->n_forked = ev->process->n_forked - p->n_forked_before;
			end_process(s, p, ev->t_ns > p->looked_ns ? ev->t_ns : p->looked_ns, true);
		}
		drop_process(s, ev->process->serial);
	}
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

/* Whether this look comes so late that what ran meanwhile is not known. */
static void tell_late(struct sampler *s, uint64_t stamp_ns, uint64_t now_ns)
{
	uint64_t due_ns = s->pace.interval_ns ? s->pace.next_ns : s->last_ns,
		 may_ns = LATE_LOOKS * (uint64_t)((double)s->pace.interval_ns * s->pace.stretch);

	if (may_ns < LATE_MS * MS)
		may_ns = LATE_MS * MS;
	if (!s->n_ticks || now_ns < due_ns + may_ns)
		return;
	writer_add(s->c.writer, RECORD_late,
		&(struct rec_late){ .t_ns = stamp_ns,
			.since_ns = due_ns,
			.was_stopped = *s->c.n_continued != s->n_continued });
	s->n_continued = *s->c.n_continued;
}

static uint64_t sample_drain(void *state, uint64_t now_ns)
{
	struct sampler *s = state;
	uint64_t stamp_ns = sample_schedule_stamp(&s->pace, now_ns);

	if (!is_wanted(s, now_ns))
		return now_ns + STANDBY_MS / 10 * MS;
	if (s->processes.n)
		tell_late(s, stamp_ns, now_ns);
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
	if (sample_schedule_is_cap_due(&s->pace, now_ns))
		sample_schedule_keep_below_cap(&s->pace, now_ns, own_cpu_ns());
	return sample_schedule_next(&s->pace, now_ns);
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
	s->record.writer = c->writer;
	s->search = py_search_new();
	s->begun_ns = clock_monotonic_ns();
	sample_schedule_init(&s->pace, c->rate_hz, (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL));
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
	if (!s->record.n_samples)
		writer_meta(s->c.writer, "no_python", py_search_reason(s->search));
	meta_number(s->c.writer, "samples", (double)s->record.n_samples);
	meta_number(s->c.writer, "samples_lost", (double)s->n_lost);
	meta_number(s->c.writer, "samples_shortened", (double)s->record.n_shortened);
	meta_number(s->c.writer, "probes", (double)s->record.n_probes);
	meta_number(s->c.writer, "probes_dropped", (double)s->record.n_probes_dropped);
	if (s->pace.stretch_most > 1)
		meta_number(s->c.writer, "rate_lowered_by", s->pace.stretch_most);
	meta_number(s->c.writer, "ticks_missed", (double)s->pace.n_missed);
}

static void sample_stop(void *state)
{
	struct sampler *s = state;
	bool is_told;

	vec_each (&s->processes, p) {
		uint64_t cpu_ns = tree_cpu_ns((*p)->pid);

		if (cpu_ns != PROC_UNKNOWN)
			(*p)->cpu_ns = cpu_ns;
		end_process(s, *p, clock_monotonic_ns(), true);
	}
	is_told = !s->c.is_standby || (s->record.n_samples && !*s->c.has_agents);
	if (is_told)
		tell_all(s);
	vec_each (&s->processes, p)
		free_process(s, *p);
	if (is_told && s->record.on_cpu_ns)
		meta_number(s->c.writer, "slowdown_est",
			(double)s->n_lines * PY_COST_LINE_NS / (double)s->record.on_cpu_ns);
	vec_done(&s->processes);
	py_search_free(s->search);
	free(s);
}

const struct collector collector_sample = {
	.name = "sample/remote",
	.what = COLLECT_SAMPLES,
	.sees = "Python stacks of every thread, by reading the program's memory without stopping it",
	.probe = sample_probe,
	.start = sample_start,
	.drain = sample_drain,
	.on_event = sample_event,
	.stop = sample_stop,
};
