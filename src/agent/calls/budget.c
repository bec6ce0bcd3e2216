/* SPDX-License-Identifier: MIT
 * See budget.h. Events keep the time: the first one after a window is due opens it, those in a window end it and sum up what it
 * saw. There is no thread of ours in the program. Functions that are off go on to tell that they begin, and nothing more, as many as
 * have room in their share of the budget: those that are called least often. They are counted, and their events tell the time where
 * all that runs is off. */
#include "agent/calls/budget.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/calls/budget_table.h"
#include "agent/calls/calls_c.h"
#include "agent/calls/tree.h"
#include "agent/core/link.h"
#include "agent/core/stack_seed.h"

enum {
	TICK_US = 40000, /* of CPU time between two windows, in the mean, at least; … */
	TICKS_MOST = 8,  /* … and so many times that at most */
	WINDOW_US = 2000,
	SETTLE_US = 400, /* before it: code is instrumented anew, nothing is counted */
	LOOK_US =
		500, /* between two readings of the CPU time, at least: a process that ends without a word is known to have run till the last */
	CALLS_LEAST = 4096,   /* a function that was called less is not off … */
	CALLS_AT_ONCE = 2048, /* … unless in one tick it was called so often */
	FRAMES_MOST = 64,
	QUOTA_LEAST = 512,
	/* Of the budget, in percent: what calls outside of windows may use up, and those in windows. The rest is for the start, and
	 * for what instructions cost until the interpreter has specialised them again. */
	OUTSIDE_SHARE = 25,
	WINDOWS_SHARE = 25,
	FUNCTION_SHARE = 1, /* … and one function, as long as all together are within theirs */
	COUNTED_SHARE = 12, /* … and what is merely counted */
	COUNT_COST = 4, /* calibrated costs are that many times an event's that is merely counted */
	COUNT_LOOKS = 8,  /* of so many of them one reads the time */
	CLOCK_LEAST = 2,  /* calls in a window of a function that can tell the time */
	REAL_COST = 2,    /* times what was calibrated: see estimate.h */
	OPENING_US = 150, /* what a window costs beside its events */
};

/* Of a window. TURNING: somebody is at it. */
enum phase { CLOSED, SETTLING, TURNING, COUNTING };

static struct {
	unsigned percent;
	uint64_t call_cost, builtin_cost, other_cost, count_cost; /* ticks × 256 */
	const struct monitor *monitor;
	PyObject *missing;         /* borrowed */
	_Atomic bool is_looked_at; /* a thread is at `look` */
	_Atomic bool is_forked;    /* what the parent has switched off is off here, and not known */
	_Atomic uint64_t
		look_at; /* when to see whether a window is due, in the session's clock … */
	uint64_t due;    /* … by CPU time of the process, ns */
	unsigned seed;
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
	uint64_t n_counted,
		counted_since; /* events merely counted, weighted, since it was chosen which; when */
	uint64_t seen_since;   /* when the last window opened, CPU time */
} budget;

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

static uint64_t ticks_of(uint64_t us)
{
	return (uint64_t)(((unsigned __int128)us * 1000 << 32) / tree_ns_per_tick);
}

/* What an event costs that is merely counted. */
static double count_ns(void)
{
	double ns = (double)tree_ns(budget.count_cost) / 256;

	return ns > 1 ? ns : 1;
}

/* Such events for each ns of CPU time, in so many percent of the budget. */
static double counts_per_ns(unsigned percent)
{
	return (double)budget.percent / 100 * percent / 100 / count_ns();
}

static uint64_t take_cost(void)
{
	uint64_t cost = cost_ns();

	budget.n_calls = budget.n_builtins = budget.n_others = 0;
	return cost;
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
	t->off_seen = budget_table_version();
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

static void end_phase(enum phase from, uint64_t now);
static void look(struct tracer *t, uint64_t now, bool begins);

/* The time since the last event is the top's. `top` is what is known of it, NULL: to be looked up. */
static uint64_t charge(struct tracer *t, struct budgeted *top)
{
	uint64_t before = t->last, now = tree_charge(t);

	if (unlikely(t->off_seen != budget_table_version()))
		recount(t);
	if (likely(!is_window())) {
		strip(t);
		return now;
	}
	/* What is called that often runs no longer than that: the CPU was another program's. */
	if (is_counting() && before >= budget.opened_at && now - before < budget.settle_ticks) {
		top = top || !t->n_off ? top : budget_table_find(t->top->key);
		if (top && top->entry)
			top->window_self += now - before;
		else
			budget.window.others_self += now - before;
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

static bool switch_off(struct budgeted *b, const struct function *f, bool is_builtin)
{
	uint64_t now = cpu_ns(), cost = cost_ns();
	uint64_t span = now > budget.tick_began ? now - budget.tick_began : 1;
	double net = span > cost + span / 5 ? (double)(span - cost) : (double)span / 5;

	budget.n_last += b->in_tick;
	b->is_builtin = is_builtin;
	return budget_table_off(b, f, now, b->in_tick / net);
}

static void count(uint64_t *n)
{
	if (COMPAT_IS_FREE_THREADED)
		__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
	else
		++*n;
}

/* An event of a function that is off, outside of windows. */
static inline PyObject *count_off(struct tracer *t, const struct budgeted *b, bool resumes)
{
	t->top->node->cost += budget.count_cost;
	if (likely(b->is_counted))
		count(resumes ? &b->entry->counted_resumes : &b->entry->counted);
	return likely(budget_table_tells(b)) ? NULL : disable();
}

/* What is counted turns out to be too much since the last window. A tick's worth may come at once. */
static void count_less(uint64_t now)
{
	uint64_t span = tree_ns(now - budget.counted_since), least = (uint64_t)TICK_US * 1000, n;
	double most = (double)(span > least ? span : least) * counts_per_ns(COUNTED_SHARE);

	while ((double)budget.n_counted > most && (n = budget_table_uncount(cpu_ns(), span)))
		budget.n_counted -= n < budget.n_counted ? n : budget.n_counted;
}

/* Before an event outside of windows is merely counted. It may open one. */
static void tell_time(struct tracer *t, const struct budgeted *b)
{
	unsigned weight = budget_table_weight(b);
	uint64_t now;

	budget.n_counted += weight;
	if (likely(budget.n_counted % COUNT_LOOKS >= weight))
		return;
	now = clock_read(tree_clock);
	count_less(now);
	if (unlikely(now >= budget.look_at))
		look(t, charge(t, NULL), !b->is_builtin);
	if (unlikely(now >= t->check_at))
		t->check_at = detach_check(now);
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

/* b: NULL where there is no memory for one; such a function is counted and never off. */
static void push(struct tracer *t, const void *key, struct budgeted *b, void *callable,
	bool resumes, uint64_t now)
{
	struct trace_node *node = tree_find(t, t->top->node, key, callable);

	if (resumes)
		node->resumes++;
	else
		node->calls++;
	tree_add_cost(t, node,
		resumes            ? &t->costs.resume
			: callable ? &t->costs.builtin
				   : &t->costs.call);
	if (b && b->entry) {
		t->n_off++;
		b->window_resumes += is_counting() && resumes;
		b->window_calls += is_counting() && !resumes;
	}
	tree_push(t, node, key, now);
}

/* NULL or a reference for the interpreter: the site is to be switched off. */
static PyObject *begin(struct tracer *t, const void *key, void *callable, bool resumes)
{
	struct budgeted *b = budget_table_get(key);
	uint64_t now;

	if (likely(b && budget_table_tells(b) && !is_window())) {
		tell_time(t, b);
		if (likely(!is_window()))
			return count_off(t, b, resumes);
	}
	now = charge(t, NULL);
	if (unlikely(now >= atomic_load_explicit(&budget.look_at, memory_order_relaxed)))
		look(t, now, !callable);
	if (unlikely(now >= t->check_at))
		t->check_at = detach_check(now);
	if (unlikely(b && b->entry && !is_window()))
		return count_off(t, b, resumes);
	if (callable)
		budget.n_builtins++;
	else
		budget.n_calls++;
	if (unlikely(b && !b->entry && is_too_often(b)) &&
		switch_off(b, codes_get(key, callable), callable != NULL))
		return count_off(t, b, resumes);
	push(t, key, b, callable, resumes, now);
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
	uint64_t now;

	if (likely(b && b->entry && t->top->key != key && !is_window()))
		return disable();
	now = charge(t, t->top->key == key ? b : NULL);
	if (unlikely(now >= atomic_load_explicit(&budget.look_at, memory_order_relaxed)))
		look(t, now, false);
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

/* Types are known by an odd number: the address of one that died may be a code object's. */
static const void *key_of_type(PyObject *callable)
{
	const void *type = PyType_Check(callable) ? (void *)callable : (void *)Py_TYPE(callable);

	return (const void *)((uintptr_t)type | 1);
}

/* A call site of something that is neither a C function nor, as yet, a Python function of ours. */
static PyObject *pass(struct tracer *t, PyObject *callable)
{
	const void *key = key_of_type(callable);
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
		if (likely(t != NULL) || (t = stack_seed_attach_at(begins))) {           \
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

/* Stands for all else that is called at a site: Python functions tell of themselves. */
static const char no_c_function[16];

CALLBACK(on_c_call, false, {
	const PyMethodDef *def = c_function(args[2], args[3], budget.missing);
	uint32_t offset = compat_small_int(args[1]);

	answer = def ? begin(t, def, args[2], false) : pass(t, args[2]);
	if (answer &&
		!budget_table_site_off(
			args[0], offset, def ? (const void *)def : no_c_function, cpu_ns())) {
		Py_DECREF(answer);
		answer = NULL;
	}
	if (unlikely(!answer && def && is_window()))
		budget_table_site_seen(args[0], offset, def, args[2], budget.seen_since);
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

/* Activations that run now and are off were not seen to begin. begins: the innermost does so now, and is not to be on the
 * stack yet. */
static void seed_off(struct tracer *t, bool begins)
{
	PyFrameObject *frame = PyEval_GetFrame(), *back;
	const PyCodeObject *codes[FRAMES_MOST];
	int n = 0;

	Py_XINCREF(frame);
	while (frame && n < FRAMES_MOST && (begins || compat_frame_code(frame) != t->top->key)) {
		if (!begins)
			codes[n++] = compat_frame_code(frame);
		begins = false;
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

static void restart(void)
{
	struct compat_error error = compat_error_take();

	monitor_restart(budget.monitor);
	compat_error_put(error);
}

static void open_window(struct tracer *t, bool begins)
{
	budget.window.outside_cost =
		take_cost() + (uint64_t)((double)budget.n_counted * count_ns());
	budget.ends_at = UINT64_MAX;
	atomic_store(&budget.phase, SETTLING);
	restart();
	budget.seen_since = cpu_ns();
	budget_table_open(budget.seen_since);
	budget.ends_at = charge(t, NULL) + budget.settle_ticks;
	seed_off(t, begins);
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
	budget_table_alive(now);
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

/* The next window, at random. */
static void plan(uint64_t us, uint64_t now)
{
	us = us / 2 + (unsigned)rand_r(&budget.seed) % us;
	budget.due = cpu_ns() + us * 1000;
	budget.look_at = now + ticks_of(LOOK_US);
}

/* The CPU time at which a window ended. Its first event after its end ends it, which may be late where nothing is called: what
 * ran since is no part of it. */
static uint64_t window_end(uint64_t now)
{
	uint64_t most = (uint64_t)WINDOW_US * 1000, wall = tree_ns(now - budget.opened_at) + 1;
	uint64_t began = budget.window.began, span = cpu_ns() - began;

	if (span > wall) /* by several threads */
		most = (uint64_t)((unsigned __int128)span * most / wall);
	return began + (span < most ? span : most);
}

/* Credit for what is counted begins anew. */
static void counting_begins(uint64_t now)
{
	budget.n_counted = 0;
	budget.counted_since = now;
}

static void close_window(uint64_t now)
{
	double span = (double)(budget.window.ended - budget.window.began);
	double net = span - REAL_COST * (double)budget.window.cost; /* as fast as without us */

	span = net > span / 10 ? net : span / 10;
	budget_table_close(cpu_ns(), CLOCK_LEAST, span * counts_per_ns(COUNTED_SHARE));
	counting_begins(now);
}

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
		budget.window.others_self = 0;
		budget.opened_at = now;
		budget.ends_at = now + budget.window_ticks;
		atomic_store(&budget.phase, COUNTING);
		return;
	}
	budget.window.ended = window_end(now);
	budget.window.cost = take_cost();
	close_window(now);
	budget_table_sum(&budget.window);
	plan(tick_us(), now);
	new_tick();
	atomic_store(&budget.phase, CLOSED);
}

/* An event at a time when a window may be due. */
static void look_now(struct tracer *t, uint64_t now, bool begins)
{
	uint64_t cpu = cpu_ns();

	budget_table_alive(cpu);
	if (atomic_exchange(&budget.is_forked, false)) {
		restart();
		take_cost();
		counting_begins(now);
		plan(TICK_US, now);
		new_tick();
	} else if (cpu < budget.due) {
		budget.look_at = now + ticks_of(LOOK_US);
	} else {
		steer();
		plan(TICK_US, now);
		if (budget_table_n_off())
			open_window(t, begins);
		else
			take_cost();
	}
}

static void look(struct tracer *t, uint64_t now, bool begins)
{
	if (is_window() || budget.monitor->tool < 0 || atomic_exchange(&budget.is_looked_at, true))
		return;
	look_now(t, now, begins);
	atomic_store(&budget.is_looked_at, false);
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
	budget.count_cost = budget.call_cost / COUNT_COST;
}

bool budget_is_set(void)
{
	return budget.percent > 0;
}

static void at_exit(void)
{
	budget_table_alive(cpu_ns());
}

void budget_died(const void *code)
{
	const struct budgeted *b = budget.percent ? budget_table_find(code) : NULL;
	struct budget_window w = budget.window;
	uint64_t now = b && b->entry ? cpu_ns() : 0;

	w.ended = now > w.began ? now : w.began;
	w.cost = cost_ns();
	if (b)
		budget_table_died(code, now, b->entry && is_counting() ? &w : NULL);
}

void budget_start(const struct monitor *m, PyObject *missing)
{
	static bool is_registered;
	uint64_t tick = ticks_of(TICK_US), now = clock_read(tree_clock);

	budget.monitor = m;
	budget.missing = missing;
	budget.settle_ticks = ticks_of(SETTLE_US);
	budget.window_ticks = ticks_of(WINDOW_US);
	budget.quota_most = (uint32_t)(tick * budget.percent / 100 * FUNCTION_SHARE / 100 * 256 /
		budget.call_cost);
	budget.quota = budget.quota_most;
	budget.seed = (unsigned)now;
	budget.phase = CLOSED;
	counting_begins(now);
	plan(TICK_US, now);
	new_tick();
	if (!is_registered)
		is_registered = Py_AtExit(at_exit) == 0;
}

/* Its first event looks. */
void budget_forget(void)
{
	budget_table_forget();
	budget.phase = CLOSED;
	budget.is_looked_at = false;
	budget.is_forked = budget.percent > 0;
	budget.quota = budget.quota_most;
	budget.look_at = 0;
}
