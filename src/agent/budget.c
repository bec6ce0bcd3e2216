/* SPDX-License-Identifier: MIT
 * See budget.h. A thread of our own, which runs no Python code, keeps the time: it asks for windows (a pending call of the
 * interpreter, or the next event of any thread, opens one) and sums up what they saw. The events in a window end it: our
 * thread would be late where the machine is busy. */
#include "agent/budget.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/budget_table.h"
#include "agent/calls_c.h"
#include "agent/link.h"
#include "agent/seed.h"
#include "agent/tree.h"

enum {
	TICK_US = 40000, /* of CPU time between two windows, in the mean, at least; … */
	TICKS_MOST = 8,  /* … and so many times that at most */
	WINDOW_US = 2000,
	SETTLE_US = 400,      /* before it: code is instrumented anew, nothing is counted */
	LONGEST_US = 100000,  /* of either, where no event ends it */
	WAIT_MS = 200,        /* for a window to open: the program may wait, too */
	CALLS_LEAST = 4096,   /* a function that was called less is not off … */
	CALLS_AT_ONCE = 2048, /* … unless in one tick it was called so often */
	FRAMES_MOST = 64,
	QUOTA_LEAST = 512,
	/* Of the budget, in percent: what calls outside of windows may use up, and those in windows. The rest is for the start, and
	 * for what instructions cost until the interpreter has specialised them again. */
	OUTSIDE_SHARE = 25,
	WINDOWS_SHARE = 25,
	FUNCTION_SHARE = 1, /* … and one function, as long as all together are within theirs */
	REAL_COST = 2,      /* times what was calibrated: see estimate.h */
	OPENING_US = 150,   /* what a window costs beside its events */
};

/* Of a window. TURNING: somebody is at it. */
enum phase { CLOSED, SETTLING, TURNING, COUNTING };

static struct {
	unsigned percent;
	uint64_t call_cost, builtin_cost, other_cost; /* ticks × 256 */
	const struct monitor *monitor;
	PyObject *missing; /* borrowed */
	pthread_t thread;
	bool has_thread;
	_Atomic bool is_due, is_over;
	_Atomic enum phase phase; /* but for CLOSED nothing is switched off */
	uint64_t opened_at;       /* when counting began, in the session's clock */
	_Atomic uint64_t ends_at; /* the phase, likewise */
	uint64_t settle_ticks, window_ticks;
	struct budget_window window; /* the last one, or the one that is open */
	uint64_t settle_cost;        /* before it */
	_Atomic uint32_t tick;
	_Atomic uint32_t quota; /* events of one function in one tick … */
	uint32_t quota_most;    /* … at most */
	uint64_t n_calls, n_builtins,
		n_others;    /* watched since the last sum, in or out of a window */
	uint64_t n_last;     /* of them in this tick, those of functions that are off now */
	uint64_t tick_began; /* CPU time of the process, ns */
} budget;

static bool open_window(void);

/* ---- costs ----------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What was watched since it was last asked, in ns, as calibrated. */
static uint64_t cost_ns(void)
{
	return tree_ns(
		(budget.n_calls * budget.call_cost + budget.n_builtins * budget.builtin_cost +
			budget.n_others * budget.other_cost) >>
		8);
}

static uint64_t take_cost(void)
{
	uint64_t cost = cost_ns();

	budget.n_calls = budget.n_builtins = budget.n_others = 0;
	return cost;
}

/* ---- the phases of a window ------------------------------------------------------------------ */

/* One of those who find that a phase is over ends it. */
static void end_phase(enum phase from, uint64_t now)
{
	if (from != SETTLING && from != COUNTING)
		return;
	if (!atomic_compare_exchange_strong(&budget.phase, &from, TURNING))
		return;
	if (from == SETTLING) {
		budget.settle_cost = take_cost();
		budget.window.began = cpu_ns();
		budget.opened_at = now;
		budget.ends_at = now + budget.window_ticks;
		atomic_store(&budget.phase, COUNTING);
	} else {
		budget.window.ended = cpu_ns();
		budget.window.cost = take_cost();
		atomic_store(&budget.phase, CLOSED);
	}
}

/* ---- the stack ------------------------------------------------------------------------------- */

static bool is_off(const void *key)
{
	const struct budgeted *b = key ? budget_table_find(key) : NULL;

	return b && b->entry;
}

/* Functions were switched off since this thread looked. */
static void recount(struct tracer *t)
{
	t->n_off = 0;
	t->off_seen = budget_table_n_off();
	for (struct shadow *s = t->top; s > t->bottom; s--)
		t->n_off += is_off(s->key);
}

/* Outside windows what runs in functions that are off is the nearest caller's that is on. */
static void strip(struct tracer *t)
{
	while (t->n_off && t->top > t->bottom && is_off(t->top->key)) {
		t->top--;
		t->n_off--;
	}
}

static enum phase phase(void)
{
	return atomic_load_explicit(&budget.phase, memory_order_relaxed);
}

static bool is_window(void)
{
	return phase() != CLOSED;
}

static bool is_counting(void)
{
	return phase() == COUNTING;
}

/* The time since the last event is the top's. `top` is what is known of it, NULL: to be looked up. */
static uint64_t charge(struct tracer *t, struct budgeted *top)
{
	uint64_t before = t->last, now = tree_charge(t);

	if (unlikely(t->off_seen != budget_table_n_off()))
		recount(t);
	if (likely(!is_window())) {
		strip(t);
		return now;
	}
	/* What is called that often runs no longer than that: the CPU was another program's. */
	if (t->n_off && is_counting() && before >= budget.opened_at &&
		now - before < budget.settle_ticks) {
		top = top ? top : budget_table_find(t->top->key);
		if (top && top->entry)
			top->window_self += now - before;
	}
	if (unlikely(now >= budget.ends_at))
		end_phase(phase(), now);
	return now;
}

/* ---- events ---------------------------------------------------------------------------------- */

static PyObject *disable(void)
{
	Py_INCREF(budget.monitor->disable);
	return budget.monitor->disable;
}

static bool switch_off(struct budgeted *b, const struct function *f)
{
	uint64_t now = cpu_ns(), cost = cost_ns();
	uint64_t span = now > budget.tick_began ? now - budget.tick_began : 1;
	double net = span > cost + span / 5 ? (double)(span - cost) : (double)span / 5;

	budget.n_last += b->in_tick;
	return budget_table_off(b, f, now, b->in_tick / net);
}

/* One more event of a function that is on. True when that was one too many. */
static bool is_too_often(struct budgeted *b)
{
	uint32_t tick = atomic_load_explicit(&budget.tick, memory_order_relaxed);

	if (b->tick != tick) {
		b->tick = tick;
		b->in_tick = 0;
	}
	b->n_seen++;
	return ++b->in_tick > atomic_load_explicit(&budget.quota, memory_order_relaxed) &&
		(b->n_seen > CALLS_LEAST || b->in_tick > CALLS_AT_ONCE) && !is_window();
}

static void push(struct tracer *t, struct budgeted *b, void *callable, bool resumes, uint64_t now)
{
	struct trace_node *node = tree_find(t, t->top->node, b->key, callable);

	if (resumes)
		node->resumes++;
	else
		node->calls++;
	tree_add_cost(t, node,
		resumes            ? &t->costs.resume
			: callable ? &t->costs.builtin
				   : &t->costs.call);
	if (b->entry) {
		t->n_off++;
		b->window_resumes += is_counting() && resumes;
		b->window_calls += is_counting() && !resumes;
	}
	tree_push(t, node, b->key, now);
}

/* NULL or a reference for the interpreter: the site is to be switched off. */
static PyObject *begin(struct tracer *t, const void *key, void *callable, bool resumes)
{
	struct budgeted *b = budget_table_get(key);
	uint64_t now;

	if (unlikely(atomic_load_explicit(&budget.is_due, memory_order_relaxed)))
		open_window();
	now = charge(t, NULL);
	if (!b)
		return NULL;
	if (unlikely(b->entry && !is_window()))
		return disable();
	if (callable)
		budget.n_builtins++;
	else
		budget.n_calls++;
	if (unlikely(!b->entry && is_too_often(b)) && switch_off(b, codes_get(key, callable)))
		return disable();
	push(t, b, callable, resumes, now);
	return NULL;
}

/* The activation on top ends, or is suspended. */
static void end_top(struct tracer *t, const struct budgeted *b, uint64_t now, bool is_over)
{
	if (is_over)
		tree_count_duration(t->top->node, now - t->top->entered + t->top->ran);
	t->n_off -= b && b->entry && t->n_off;
	t->top--;
}

static PyObject *end(struct tracer *t, const void *key, bool is_over)
{
	struct budgeted *b = budget_table_find(key);
	uint64_t now = charge(t, t->top->key == key ? b : NULL);

	if (b && b->entry) { /* only the top can be meant: many of them were never seen to begin */
		if (t->top->key == key)
			end_top(t, b, now, is_over);
		return is_window() ? NULL : disable();
	}
	if (t->top->key == key || tree_resync(t, key)) {
		end_top(t, b, now, is_over);
		if (t->n_off)
			recount(t);
	}
	return NULL;
}

/* A call site of something that is neither a C function nor, as yet, a Python function of ours. */
static PyObject *pass(struct tracer *t, PyObject *callable)
{
	const void *key = PyType_Check(callable) ? (void *)callable : (void *)Py_TYPE(callable);
	struct budgeted *b;

	if (Py_TYPE(callable) == &PyFunction_Type)
		key = ((PyFunctionObject *)callable)->func_code;
	if (!is_python_function(callable)) {
		t->top->node->cost += t->costs.other;
		budget.n_others++;
	}
	b = budget_table_get(key);
	if (!b || is_window())
		return NULL;
	if (Py_TYPE(callable) != &PyFunction_Type && !b->is_passed && is_too_often(b))
		b->is_passed = true;
	return b->entry || b->is_passed ? disable() : NULL;
}

#define CALLBACK(name, begins, ...)                                                      \
	static PyObject *name(                                                           \
		PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) \
	{                                                                                \
		struct tracer *t = tree_mine;                                            \
		PyObject *answer = NULL;                                                 \
                                                                                         \
		(void)self;                                                              \
		(void)nargsf;                                                            \
		(void)kwnames;                                                           \
		if (likely(t != NULL) || (t = seed_attach_at(begins))) {                 \
			__VA_ARGS__;                                                     \
		}                                                                        \
		return answer ? answer : Py_None;                                        \
	}

CALLBACK(on_start, true, answer = begin(t, args[0], NULL, false))
CALLBACK(on_resume, true, answer = begin(t, args[0], NULL, true))
CALLBACK(on_return, false, answer = end(t, args[0], true))
CALLBACK(on_yield, false, answer = end(t, args[0], false))

/* These two cannot be switched off before 3.15. */
CALLBACK(on_throw, true, Py_XDECREF(begin(t, args[0], NULL, true)))
CALLBACK(on_unwind, false, Py_XDECREF(end(t, args[0], true)))

CALLBACK(on_c_call, false, {
	const PyMethodDef *def = c_function(args[2], args[3], budget.missing);
	uint32_t offset = compat_small_int(args[1]);

	answer = def ? begin(t, def, args[2], false) : pass(t, args[2]);
	if (answer)
		budget_table_site_off(args[0], offset, cpu_ns());
	else if (unlikely(def && is_window()))
		budget_table_site_seen(args[0], offset, def, args[2]);
})

CALLBACK(on_c_return, false, {
	const PyMethodDef *def = c_function(args[2], args[3], budget.missing);

	if (def)
		Py_XDECREF(end(t, def, true));
})

const struct budget_event budget_events[] = {
	{ "PY_START", on_start },
	{ "PY_RESUME", on_resume },
	{ "PY_THROW", on_throw },
	{ "PY_RETURN", on_return },
	{ "PY_YIELD", on_yield },
	{ "PY_UNWIND", on_unwind },
	{ "CALL", on_c_call },
	{ "C_RETURN", on_c_return },
	{ "C_RAISE", on_c_return },
	{ NULL, NULL },
};

/* ---- windows --------------------------------------------------------------------------------- */

/* Activations that run now and are off were not seen to begin. */
static void seed_off(struct tracer *t)
{
	PyFrameObject *frame = PyEval_GetFrame(), *back;
	const PyCodeObject *codes[FRAMES_MOST];
	int n = 0;

	Py_XINCREF(frame);
	while (frame && n < FRAMES_MOST && compat_frame_code(frame) != t->top->key) {
		codes[n++] = compat_frame_code(frame);
		back = compat_frame_back(frame);
		Py_DECREF(frame);
		frame = back;
	}
	while (frame && n--)
		if (is_off(codes[n])) {
			tree_push(t, tree_find(t, t->top->node, codes[n], NULL), codes[n], t->last);
			t->n_off++;
		}
	Py_XDECREF(frame);
}

static bool open_window(void)
{
	struct tracer *t = tree_mine;

	if (!atomic_exchange(&budget.is_due, false) || !t)
		return false;
	budget.window.outside_cost = take_cost();
	budget.ends_at = UINT64_MAX;
	atomic_store(&budget.phase, SETTLING);
	monitor_restart(budget.monitor);
	budget.ends_at = charge(t, NULL) + budget.settle_ticks;
	seed_off(t);
	return true;
}

static int on_pending(void *unused)
{
	struct compat_error error = compat_error_take();

	(void)unused;
	if (budget.monitor && budget.monitor->tool >= 0)
		open_window();
	compat_error_put(error);
	return 0;
}

static void sleep_us(uint64_t us)
{
	struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

/* Until the process has used up so much CPU time, or for `most` times as long. */
static void sleep_cpu_us(uint64_t us, unsigned most)
{
	uint64_t until = cpu_ns() + us * 1000, now;

	for (uint64_t slept = 0;
		(now = cpu_ns()) < until && slept < us * most && !budget.is_over;) {
		uint64_t left = (until - now) / 1000 + 20;

		sleep_us(left);
		slept += left;
	}
}

/* The window has been opened; false: nobody ran Python code, or the program ends. */
static bool wait_for_window(void)
{
	for (int i = 0; i < WAIT_MS * 5 && !budget.is_over; i++) {
		if (!budget.is_due)
			return true;
		sleep_us(200);
	}
	return false;
}

/* Until events, or the want of them, have ended the window. False: the program ends. */
static bool wait_for_end(void)
{
	enum phase seen = CLOSED;

	for (uint64_t us = WINDOW_US, waited = 0; is_window(); us = WINDOW_US / 4) {
		if (budget.is_over)
			return false;
		sleep_us(us);
		waited = seen == phase() ? waited + us : 0;
		seen = phase();
		if (waited > LONGEST_US)
			end_phase(seen, clock_read(tree_clock));
	}
	return true;
}

static void new_tick(void)
{
	budget.tick_began = cpu_ns();
	budget.n_last = 0;
	budget.tick++;
}

/* What is on costs more than the budget allows: each function may use up less of it; and more again when that is far from
 * being so. */
static void steer(void)
{
	uint64_t now = cpu_ns(), span = now - budget.tick_began, all = cost_ns();
	uint64_t last = tree_ns(budget.n_last * budget.call_cost >> 8);
	uint64_t cost = (all > last ? all - last : 0) * REAL_COST * 100 * 100;
	uint64_t most = span * budget.percent * OUTSIDE_SHARE;
	uint32_t quota = budget.quota;

	if (cost > most && quota > QUOTA_LEAST)
		budget.quota = quota - quota / 4;
	else if (cost < most / 4 && quota < budget.quota_most)
		budget.quota = quota + quota / 8;
	budget_table_last(now);
	new_tick();
}

/* CPU time until the next window, in the mean: so much that the last one was within its share. */
static uint64_t tick_us(void)
{
	uint64_t cost_us =
		(budget.settle_cost + budget.window.cost) * REAL_COST / 1000 + OPENING_US;
	uint64_t us = cost_us * 100 * 100 / (budget.percent * WINDOWS_SHARE);

	return us < TICK_US ? TICK_US : us < TICK_US * TICKS_MOST ? us : TICK_US * TICKS_MOST;
}

static void *keep_time(void *unused)
{
	unsigned seed = (unsigned)clock_read(tree_clock);
	uint64_t us = TICK_US;

	(void)unused;
	while (!budget.is_over) {
		sleep_cpu_us(us / 2 + (unsigned)rand_r(&seed) % us, 1000);
		if (budget.is_over || compat_is_finalizing() || !leadline_link_is_live())
			break;
		steer();
		if (!budget_table_n_off())
			take_cost();
		if (!budget_table_n_off())
			continue;
		atomic_store(&budget.is_due, true);
		Py_AddPendingCall(on_pending, NULL);
		if (wait_for_window() && wait_for_end()) {
			budget_table_sum(&budget.window);
			us = tick_us();
			new_tick();
		}
	}
	return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

void budget_set(unsigned percent, const struct trace_cost *cost)
{
	budget.percent = percent;
	budget.call_cost = cost->call_inside + cost->call_outside;
	budget.builtin_cost = cost->builtin_inside + cost->builtin_outside;
	budget.other_cost = cost->other_outside;
	if (!budget.call_cost)
		budget.call_cost = budget.builtin_cost = 200 << 8;
	if (budget.call_cost > 3 * budget.builtin_cost) /* measured while others had the CPU */
		budget.call_cost = 2 * budget.builtin_cost;
}

bool budget_is_set(void)
{
	return budget.percent > 0;
}

static void at_exit(void)
{
	budget.is_over = true;
	budget_table_last(cpu_ns());
}

/* Its thread takes no signals: they are the program's. */
static void start_thread(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	budget.has_thread = pthread_create(&budget.thread, NULL, keep_time, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void budget_start(const struct monitor *m, PyObject *missing)
{
	static bool is_registered;
	uint64_t tick = ((uint64_t)TICK_US * 1000 << 32) / tree_ns_per_tick;

	budget.monitor = m;
	budget.missing = missing;
	budget.is_over = false;
	budget.tick_began = cpu_ns();
	budget.settle_ticks = tick * SETTLE_US / TICK_US;
	budget.window_ticks = tick * WINDOW_US / TICK_US;
	budget.quota_most = (uint32_t)(tick * budget.percent / 100 * FUNCTION_SHARE / 100 * 256 /
		budget.call_cost);
	budget.quota = budget.quota_most;
	if (!is_registered)
		is_registered = Py_AtExit(at_exit) == 0;
	if (is_registered && !budget.has_thread)
		start_thread();
}

void budget_stop(void)
{
	budget.is_over = true;
	if (budget.has_thread)
		pthread_detach(budget.thread);
	budget.has_thread = false;
}

void budget_forget(void)
{
	budget_table_forget();
	budget.has_thread = false;
	if (budget.percent && budget.monitor)
		start_thread();
}
