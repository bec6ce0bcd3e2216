/* SPDX-License-Identifier: MIT
 * See calibrate.h. The same loop runs without hooks and with them; the least of a few runs counts. What is between a
 * call's two stamps is read off the tree, less half of what the call costs untraced: the other half is before and
 * after the stamps also in a traced one. */
#include "agent/calibrate.h"

#include "agent/calls.h"
#include "agent/compat.h"
#include "agent/tree.h"

enum { CALLS = 1000, RUNS = 9 };

static const char source[] = "def f(): pass\n"
			     "def python(r):\n"
			     "    for i in r: f()\n"
			     "def builtin(r, c=(0).bit_length):\n"
			     "    for i in r: c()\n"
			     "def empty(r):\n"
			     "    for i in r: pass\n";

struct bench {
	PyObject *space, *range; /* owned */
	bool has_failed;
};

/* Ticks of one run; *grown (may be NULL) is what `node` grew by. */
static uint64_t run_once(
	struct bench *b, const char *name, const struct trace_node *node, uint64_t *grown)
{
	PyObject *function = PyDict_GetItemString(b->space, name);
	uint64_t self = node ? node->self : 0, began = clock_read(tree_clock);
	PyObject *result = function ? PyObject_CallFunctionObjArgs(function, b->range, NULL) : NULL;
	uint64_t took = clock_read(tree_clock) - began;

	b->has_failed |= !result;
	Py_XDECREF(result);
	if (grown)
		*grown = node ? node->self - self : 0;
	return took;
}

static uint64_t least(struct bench *b, const char *name)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < RUNS; i++) {
		uint64_t took = run_once(b, name, NULL, NULL);

		best = took < best ? took : best;
	}
	return best;
}

/* Ticks × 256 of one call of `name`'s loop: outside and inside the stamps. */
static void traced(struct bench *b, const char *name, uint64_t plain, uint64_t empty,
	uint64_t *ret_inside, uint64_t *ret_outside)
{
	uint64_t best = UINT64_MAX, inside = 0, half = plain > empty ? (plain - empty) / 2 : 0;
	char why[64];

	*ret_inside = *ret_outside = 0;
	if (!tree_rehearse() || !calls_start(false, true, why, sizeof why)) {
		b->has_failed = true;
		tree_rehearsed();
		return;
	}
	run_once(b, name, NULL, NULL);
	for (int i = 0; i < RUNS; i++) {
		uint64_t grown, took = run_once(b, name, tree_rehearsal_find(CALLS), &grown);

		if (took < best) {
			best = took;
			inside = grown;
		}
	}
	calls_stop();
	tree_rehearsed();
	if (best <= plain)
		return;
	inside = inside > half ? inside - half : 0;
	inside = inside < best - plain ? inside : best - plain;
	*ret_inside = inside * 256 / CALLS;
	*ret_outside = (best - plain - inside) * 256 / CALLS;
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

bool calibrate(struct trace_cost *ret)
{
	struct bench b = { 0 };

	if (prepare(&b)) {
		uint64_t empty = least(&b, "empty"), python = least(&b, "python");
		uint64_t builtin = least(&b, "builtin");

		traced(&b, "python", python, empty, &ret->call_inside, &ret->call_outside);
		traced(&b, "builtin", builtin, empty, &ret->builtin_inside, &ret->builtin_outside);
	} else {
		b.has_failed = true;
	}
	Py_XDECREF(b.space);
	Py_XDECREF(b.range);
	PyErr_Clear();
	return !b.has_failed;
}
