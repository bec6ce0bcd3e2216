/* SPDX-License-Identifier: MIT
 * See calibrate.h. The same loops run without hooks and with them, in short rounds; the middle of the rounds counts. What an
 * event costs in all comes from loops like those of real programs, whose calls are specialised by the interpreter as
 * long as nobody watches. How much of it is between a call's two stamps is read off the tree in loops of empty functions,
 * less half of what such a call costs untraced: the other half is before and after the stamps also in a traced one. */
#include "agent/core/calibrate.h"

#include <time.h>

#include "agent/calls/calls.h"
#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/cpu_speed.h"
#include "agent/core/median.h"

enum {
	FROM = 1000, /* smaller numbers exist once and need no memory: programs have others, too */
	WARM = 64,   /* … calls, until the interpreter has specialised a loop */
	CALLS = 400,
	FIBS = 3193,
	FARS = CALLS,
	FUNCTIONS = 4, /* of C that a turn calls, and methods */
	METHODS_OF_C = 3,
	ITEMS = 4 * CALLS,
	OTHERS = 2 * CALLS,
	ROUNDS = 9,
	ROUNDS_MOST = 45,
	TRIES = 3
};

#define DEAREST     0.25 /* of the piece of work that tells the pace: no event is dearer */
#define STEADY      1.1  /* paces may differ so much */
#define SURE_ENOUGH 0.1  /* else there are more rounds */

static const char source[] = "def f(): pass\n"
			     "def empty(r):\n"
			     "    for i in r: pass\n"
			     "def python(r):\n"
			     "    for i in r: f()\n"
			     "def builtin(r, c=(0).bit_length):\n"
			     "    for i in r: c()\n"
			     "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
			     "class P:\n"
			     "    x = 1\n"
			     "    def step(self, d):\n"
			     "        self.x = (self.x + d) % 1000003\n"
			     "        return self.x\n"
			     "    def far(self, d): return self.step(d) + self.step(-d)\n"
			     "def recursion(r): fib(16 if len(r) > 64 else 8)\n"
			     "def methods(r, p=P()):\n"
			     "    for i in r: p.far(i)\n"
			     "def builtins(r):\n"
			     "    items = [0] * 300\n"
			     "    for i in r:\n"
			     "        ord('a')\n"
			     "        len(items)\n"
			     "        abs(i)\n"
			     "        isinstance(i, int)\n"
			     "def bound(r, word='calibrate', table={1: 2}):\n"
			     "    items = [0] * 300\n"
			     "    for i in r:\n"
			     "        items.append(i)\n"
			     "        table.get(i)\n"
			     "        word.startswith('c')\n"
			     "def numbers(r):\n"
			     "    for i in r: yield i\n"
			     "def doubled(r):\n"
			     "    for i in r: yield i + i\n"
			     "def resumes(r):\n"
			     "    for i in doubled(numbers(range(1000, 1000 + 4 * len(r)))): pass\n"
			     "def others(r, c=list, d=float):\n"
			     "    for i in r:\n"
			     "        c()\n"
			     "        d(i)\n"
			     "def code(r, table=(3, 1, 4, 1, 5, 9, 2, 6)):\n"
			     "    x = 0\n"
			     "    for i in r: x = (x * 3 + table[i & 7]) & 255\n";

/* The loops, in the order in which they run traced. */
enum shape {
	EMPTY,
	PYTHON,
	BUILTIN,
	RECURSION,
	METHODS,
	MANY_BUILTINS,
	MANY_BOUND, /* methods of C types: interpreters before 3.12 make an object for the event of each */
	MANY_RESUMES,
	MANY_OTHERS,
	CODE,
	SHAPES
};

static const struct {
	const char *name;
	uint64_t n; /* events */
} shapes[SHAPES] = {
	[EMPTY] = { "empty", 0 },
	[PYTHON] = { "python", CALLS },
	[BUILTIN] = { "builtin", CALLS },
	[RECURSION] = { "recursion", FIBS },
	[METHODS] = { "methods", FARS * 3 },
	[MANY_BUILTINS] = { "builtins", CALLS *FUNCTIONS },
	[MANY_BOUND] = { "bound", CALLS *METHODS_OF_C },
	[MANY_RESUMES] = { "resumes", 2 * ITEMS },
	[MANY_OTHERS] = { "others", OTHERS },
	[CODE] = { "code", 0 },
};

/* Of a round: a loop's time in units of the pace it ran at. */
struct bench {
	PyObject *space, *range, *warm; /* owned */
	bool has_failed;
	size_t n_rounds;
	double pace[ROUNDS_MOST * 2 * SHAPES];
	size_t n_paces;
	double plain[SHAPES][ROUNDS_MOST], traced[SHAPES][ROUNDS_MOST];
	double inside[SHAPES][ROUNDS_MOST]; /* of the traced, in the called function's own node */
};

struct timed {
	uint64_t took, inside; /* ticks */
	bool is_torn;          /* the CPU was taken away meanwhile */
};

static uint64_t cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct timed run_once(
	struct bench *b, enum shape shape, PyObject *range, const struct trace_node *node)
{
	PyObject *function = PyDict_GetItemString(b->space, shapes[shape].name);
	uint64_t self = node ? node->self : 0, cpu = cpu_ns(), began = clock_read(tree_clock);
	PyObject *result = function ? PyObject_CallFunctionObjArgs(function, range, NULL) : NULL;
	uint64_t took = clock_read(tree_clock) - began;

	cpu = cpu_ns() - cpu;
	b->has_failed |= !result;
	Py_XDECREF(result);
	return (struct timed){ took, node ? node->self - self : 0, tree_ns(took) > cpu + cpu / 16 };
}

/* A loop, and the pace before and after it. When that has changed meanwhile, or the CPU was taken away, once more. */
static double run_paced(struct bench *b, enum shape shape, bool is_traced, double *ret_inside)
{
	struct timed best = { 0 };
	double pace = 0, off = 0;

	run_once(b, shape, b->warm, NULL);
	for (int i = 0; i < TRIES; i++) {
		const struct trace_node *node = is_traced ? tree_rehearsal_find(WARM) : NULL;
		double before = (double)cpu_speed_measure(tree_clock), after, apart;
		struct timed now = run_once(b, shape, b->range, node);

		after = (double)cpu_speed_measure(tree_clock);
		apart = (before > after ? before / after : after / before) + now.is_torn;
		if (i == 0 || apart < off) {
			best = now;
			pace = (before + after) / 2;
			off = apart;
		}
		if (off < STEADY)
			break;
	}
	b->pace[b->n_paces++] = pace;
	if (ret_inside)
		*ret_inside = (double)best.inside / pace;
	return (double)best.took / pace;
}

/* Rounds are short, so that one in which the CPU changes its pace is one of several. */
static bool run_round(struct bench *b)
{
	size_t r = b->n_rounds;
	char why[64];

	for (enum shape s = 0; s < SHAPES; s++)
		b->plain[s][r] = run_paced(b, s, false, NULL);
	if (!tree_rehearse() || !calls_start(false, true, why, sizeof why)) {
		tree_rehearsed();
		return false;
	}
	for (enum shape s = PYTHON; s < SHAPES; s++)
		b->traced[s][r] = run_paced(b, s, true, &b->inside[s][r]);
	calls_stop();
	tree_rehearsed();
	b->n_rounds++;
	return !b->has_failed;
}

static bool prepare(struct bench *b)
{
	PyObject *done;

	b->space = PyDict_New();
	b->range = PyObject_CallFunction((PyObject *)&PyRange_Type, "ii", FROM, FROM + CALLS);
	b->warm = PyObject_CallFunction((PyObject *)&PyRange_Type, "ii", FROM, FROM + WARM);
	if (!b->space || !b->range || !b->warm ||
		PyDict_SetItemString(b->space, "__builtins__", PyEval_GetBuiltins()) < 0)
		return false;
	done = PyRun_String(source, Py_file_input, b->space, b->space);
	Py_XDECREF(done);
	return done != NULL;
}

/* ---- what the rounds say --------------------------------------------------------------------- */

/* What a loop takes, less what it takes untraced, for each of its events; in units of the pace. */
static struct median added(const struct bench *b, enum shape shape)
{
	double each[ROUNDS_MOST];

	for (size_t i = 0; i < b->n_rounds; i++) {
		double more = b->traced[shape][i] - b->plain[shape][i];

		each[i] = more > 0 ? more / (double)shapes[shape].n : 0;
	}
	return median_of(each, b->n_rounds);
}

/* Of the ways to call a Python function the middle one: in some processes one of them costs half as much again, by where its memory
 * lies, which says nothing of the program's functions. */
static struct median added_by_calls(const struct bench *b)
{
	struct median a = added(b, PYTHON), c = added(b, METHODS), m = added(b, RECURSION);

	if ((m.value > a.value) == (m.value > c.value)) /* it is the least or the most */
		m = (a.value > m.value) == (a.value > c.value) ? c : a;
	return m;
}

/* Of functions and methods of C together. */
static struct median added_by_c(const struct bench *b)
{
	struct median f = added(b, MANY_BUILTINS), m = added(b, MANY_BOUND);

	return (struct median){ (FUNCTIONS * f.value + METHODS_OF_C * m.value) /
			(FUNCTIONS + METHODS_OF_C),
		f.error > m.error ? f.error : m.error };
}

static struct median added_by(const struct bench *b, enum shape shape)
{
	return shape == RECURSION        ? added_by_calls(b)
		: shape == MANY_BUILTINS ? added_by_c(b)
					 : added(b, shape);
}

/* … and the part of `all` that is between the stamps, by a loop of empty functions. */
static double between(const struct bench *b, enum shape shape, double all)
{
	double each[ROUNDS_MOST], inside;

	for (size_t i = 0; i < b->n_rounds; i++)
		each[i] = (b->inside[shape][i] - (b->plain[shape][i] - b->plain[EMPTY][i]) / 2) /
			CALLS;
	inside = median_of(each, b->n_rounds).value;
	return inside < 0 ? 0 : inside < all ? inside : all;
}

/* How much longer code takes that calls nothing: some interpreters are slower between events, too. */
static double slower(const struct bench *b)
{
	double each[ROUNDS_MOST];

	for (size_t i = 0; i < b->n_rounds; i++)
		each[i] = b->traced[CODE][i] / b->plain[CODE][i];
	return median_of(each, b->n_rounds).value;
}

static double error(const struct bench *b)
{
	static const enum shape all[] = { RECURSION, MANY_BUILTINS, MANY_RESUMES };
	double most = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (added_by(b, all[i]).error > most)
			most = added_by(b, all[i]).error;
	return most;
}

static bool run_all(struct bench *b)
{
	for (size_t n = ROUNDS; n <= ROUNDS_MOST; n += ROUNDS) {
		while (b->n_rounds < n)
			if (!run_round(b))
				return false;
		if (error(b) < SURE_ENOUGH)
			break;
	}
	return true;
}

static void conclude(struct bench *b, struct trace_cost *ret)
{
	struct median pace = median_of(b->pace, b->n_paces);
	const struct {
		enum shape many, empty;
		uint64_t *inside, *outside;
	} kinds[] = { { RECURSION, PYTHON, &ret->call_inside, &ret->call_outside },
		{ MANY_BUILTINS, BUILTIN, &ret->builtin_inside, &ret->builtin_outside },
		{ MANY_RESUMES, PYTHON, &ret->resume_inside, &ret->resume_outside } };

	ret->pace = (uint64_t)pace.value;
	ret->other_outside = (uint64_t)(added(b, MANY_OTHERS).value * pace.value * 256);
	ret->c_function = (uint64_t)(added(b, MANY_BUILTINS).value * pace.value * 256);
	ret->c_method = (uint64_t)(added(b, MANY_BOUND).value * pace.value * 256);
	ret->slower_permille = (uint64_t)(slower(b) * 1000);
	ret->error_permille = (uint64_t)(error(b) * 1000);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		double all = added_by(b, kinds[i].many).value;
		double inside = between(b, kinds[i].empty, all);

		if (all > DEAREST) /* whatever was measured, it was no event */
			ret->error_permille = 1000;
		*kinds[i].inside = (uint64_t)(inside * pace.value * 256);
		*kinds[i].outside = (uint64_t)((all - inside) * pace.value * 256);
	}
}

bool calibrate(struct trace_cost *ret)
{
	struct bench b = { 0 };
	bool is_measured = cpu_speed_start() && prepare(&b) && run_all(&b);

	if (is_measured)
		conclude(&b, ret);
	Py_XDECREF(b.space);
	Py_XDECREF(b.range);
	Py_XDECREF(b.warm);
	PyErr_Clear();
	return is_measured;
}
