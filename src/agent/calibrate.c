/* SPDX-License-Identifier: MIT
 * See calibrate.h. The same loops run without hooks and with them; the least of a few runs counts. What an event costs
 * in all comes from loops like those of real programs, whose calls are specialised by the interpreter as long as nobody
 * watches. How much of it is between a call's two stamps is read off the tree in loops of empty functions, less half of
 * what such a call costs untraced: the other half is before and after the stamps also in a traced one. */
#include "agent/calibrate.h"

#include "agent/calls.h"
#include "agent/compat.h"
#include "agent/tree.h"

enum { CALLS = 1000, RUNS = 9 };

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
			     "def calls(r, p=P()):\n"
			     "    for i in r[:10]: fib(9)\n"
			     "    for i in r[:300]: p.far(i)\n"
			     "def builtins(r):\n"
			     "    items = []\n"
			     "    for i in r[:250]:\n"
			     "        items.append(ord('a'))\n"
			     "        len(items)\n"
			     "        abs(i)\n"
			     "def numbers(r):\n"
			     "    for i in r: yield i\n"
			     "def resumes(r):\n"
			     "    for i in numbers(r): pass\n";

/* The loops, in the order in which they run traced. */
enum shape { EMPTY, PYTHON, BUILTIN, MANY_CALLS, MANY_BUILTINS, MANY_RESUMES, SHAPES };

static const struct {
	const char *name;
	uint64_t n; /* events */
} shapes[SHAPES] = {
	[EMPTY] = { "empty", 0 },
	[PYTHON] = { "python", CALLS },
	[BUILTIN] = { "builtin", CALLS },
	[MANY_CALLS] = { "calls", 10 * 109 + 300 * 3 },
	[MANY_BUILTINS] = { "builtins", 250 * 4 },
	[MANY_RESUMES] = { "resumes", CALLS },
};

struct bench {
	PyObject *space, *range; /* owned */
	bool has_failed;
	/* Ticks of the best run. */
	uint64_t plain[SHAPES], traced[SHAPES];
	uint64_t inside[SHAPES]; /* of the traced, in the called function's own node */
};

/* Ticks of one run; *grown is what `node` (may be NULL) grew by. */
static uint64_t run_once(
	struct bench *b, enum shape shape, const struct trace_node *node, uint64_t *grown)
{
	PyObject *function = PyDict_GetItemString(b->space, shapes[shape].name);
	uint64_t self = node ? node->self : 0, began = clock_read(tree_clock);
	PyObject *result = function ? PyObject_CallFunctionObjArgs(function, b->range, NULL) : NULL;
	uint64_t took = clock_read(tree_clock) - began;

	b->has_failed |= !result;
	Py_XDECREF(result);
	*grown = node ? node->self - self : 0;
	return took;
}

static void run_plain(struct bench *b, enum shape shape)
{
	uint64_t best = UINT64_MAX, unused;

	for (int i = 0; i < RUNS; i++) {
		uint64_t took = run_once(b, shape, NULL, &unused);

		best = took < best ? took : best;
	}
	b->plain[shape] = best;
}

static void run_traced(struct bench *b, enum shape shape)
{
	uint64_t best = UINT64_MAX, grown;

	run_once(b, shape, NULL, &grown);
	for (int i = 0; i < RUNS; i++) {
		uint64_t took = run_once(b, shape, tree_rehearsal_find(CALLS), &grown);

		if (took < best) {
			best = took;
			b->inside[shape] = grown;
		}
	}
	b->traced[shape] = best;
}

static bool run_all(struct bench *b)
{
	char why[64];

	for (enum shape s = 0; s < SHAPES; s++)
		run_plain(b, s);
	if (!tree_rehearse() || !calls_start(false, true, why, sizeof why)) {
		tree_rehearsed();
		return false;
	}
	for (enum shape s = PYTHON; s < SHAPES; s++)
		run_traced(b, s);
	calls_stop();
	tree_rehearsed();
	return !b->has_failed;
}

static bool prepare(struct bench *b)
{
	PyObject *done;

	b->space = PyDict_New();
	b->range = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS);
	if (!b->space || !b->range ||
		PyDict_SetItemString(b->space, "__builtins__", PyEval_GetBuiltins()) < 0)
		return false;
	done = PyRun_String(source, Py_file_input, b->space, b->space);
	Py_XDECREF(done);
	return done != NULL;
}

/* Ticks × 256 that tracing adds to an event of this loop. */
static uint64_t added(const struct bench *b, enum shape shape)
{
	return b->traced[shape] > b->plain[shape]
		? (b->traced[shape] - b->plain[shape]) * 256 / shapes[shape].n
		: 0;
}

/* … and the part of `all` that is between the stamps, by a loop of empty functions. */
static uint64_t between(const struct bench *b, enum shape shape, uint64_t all)
{
	uint64_t half =
		b->plain[shape] > b->plain[EMPTY] ? (b->plain[shape] - b->plain[EMPTY]) / 2 : 0;
	uint64_t inside = b->inside[shape] > half ? (b->inside[shape] - half) * 256 / CALLS : 0;

	return inside < all ? inside : all;
}

bool calibrate(struct trace_cost *ret)
{
	struct bench b = { 0 };
	bool is_measured = prepare(&b) && run_all(&b);

	if (is_measured) {
		uint64_t call = added(&b, MANY_CALLS), builtin = added(&b, MANY_BUILTINS),
			 resume = added(&b, MANY_RESUMES);

		ret->call_inside = between(&b, PYTHON, call);
		ret->call_outside = call - ret->call_inside;
		ret->builtin_inside = between(&b, BUILTIN, builtin);
		ret->builtin_outside = builtin - ret->builtin_inside;
		ret->resume_inside = between(&b, PYTHON, resume);
		ret->resume_outside = resume - ret->resume_inside;
	}
	Py_XDECREF(b.space);
	Py_XDECREF(b.range);
	PyErr_Clear();
	return is_measured;
}
