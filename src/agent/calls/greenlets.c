/* SPDX-License-Identifier: MIT
 * See greenlets.h. */
#include "agent/calls/greenlets.h"

#include <string.h>

#include "agent/calls/timeline.h"
#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/core/memory.h"

enum {
	STACK_FIRST = 128, /* activations: a page */
	LOG2_FIRST = 7,
	LOG2_MOST = 20,
};

bool greenlets_are_there;
static bool has_clock;

/* The stack of a greenlet that waits. */
struct waiting {
	const void *greenlet; /* NULL: unused */
	struct shadow *bottom, *top, *limit;
};

struct greenlets {
	struct waiting *items; /* open addressing */
	uint32_t n, log2;
	struct waiting spare; /* memory for the next new one */
};

/* ---- stacks that wait ------------------------------------------------------------------------ */

static uint32_t index_of(const struct greenlets *g, const void *greenlet)
{
	uint32_t mask = (1u << g->log2) - 1;
	uint32_t i = (uint32_t)(((uintptr_t)greenlet >> 4) * 0x9e3779b97f4a7c15u >> 40) & mask;

	while (g->items[i].greenlet && g->items[i].greenlet != greenlet)
		i = (i + 1) & mask;
	return i;
}

static bool grow(struct greenlets *g)
{
	struct greenlets larger = *g;

	if (g->items && g->n < (1u << g->log2) / 2)
		return true;
	larger.log2 = g->items ? g->log2 + 1 : LOG2_FIRST;
	larger.items =
		larger.log2 <= LOG2_MOST ? memory_map(sizeof *larger.items << larger.log2) : NULL;
	if (!larger.items)
		return false;
	for (uint32_t i = 0; g->items && i < 1u << g->log2; i++)
		if (g->items[i].greenlet)
			larger.items[index_of(&larger, g->items[i].greenlet)] = g->items[i];
	if (g->items)
		memory_unmap(g->items, sizeof *g->items << g->log2);
	*g = larger;
	return true;
}

/* Those behind it move up, so that none is lost from sight. */
static struct waiting take(struct greenlets *g, const void *greenlet)
{
	uint32_t mask = (1u << g->log2) - 1, gap = index_of(g, greenlet);
	struct waiting taken = g->items[gap];

	if (!taken.greenlet)
		return taken;
	g->items[gap].greenlet = NULL;
	g->n--;
	for (uint32_t i = (gap + 1) & mask; g->items[i].greenlet; i = (i + 1) & mask) {
		struct waiting moved = g->items[i];

		g->items[i].greenlet = NULL;
		g->items[index_of(g, moved.greenlet)] = moved;
	}
	return taken;
}

static void stack_free(const struct waiting *w)
{
	memory_unmap(w->bottom, (size_t)((char *)w->limit - (char *)w->bottom));
}

/* Empty, of a greenlet that was not seen yet. */
static struct waiting stack_new(struct greenlets *g, const struct shadow *thread)
{
	struct waiting w = g->spare;

	g->spare = (struct waiting){ 0 };
	if (!w.bottom) {
		w.bottom = memory_map(STACK_FIRST * sizeof *w.bottom);
		w.limit = w.bottom ? w.bottom + STACK_FIRST : NULL;
	}
	w.top = w.bottom;
	if (w.bottom)
		*w.bottom = *thread;
	return w;
}

void greenlets_drop(struct tracer *t)
{
	struct greenlets *g = t->greenlets;

	if (!g)
		return;
	for (uint32_t i = 0; g->items && i < 1u << g->log2; i++)
		if (g->items[i].greenlet)
			stack_free(&g->items[i]);
	stack_free(&g->spare);
	if (g->items)
		memory_unmap(g->items, sizeof *g->items << g->log2);
	memory_unmap(g, sizeof *g);
	t->greenlets = NULL;
}

/* ---- a switch -------------------------------------------------------------------------------- */

/* What is open has run until now. */
static void suspend_all(struct tracer *t)
{
	struct shadow *top = t->top;
	size_t depth = timeline_depth(t);

	if (!has_clock)
		return;
	tree_charge(t);
	t->top = t->bottom;
	timeline_end(t, depth);
	t->top = top;
	for (struct shadow *s = t->bottom + 1; s <= top; s++)
		s->ran += t->last - s->entered;
}

static void resume_all(struct tracer *t)
{
	struct shadow *top = t->top;

	if (!has_clock)
		return;
	t->top = t->bottom;
	for (struct shadow *s = t->bottom + 1; s <= top; s++) {
		s->entered = t->last;
		t->top = s;
		timeline_begin(t, EVENT_RESUME);
	}
}

static void on_switch(struct tracer *t, const void *origin, const void *target)
{
	struct greenlets *g = t->greenlets;
	struct waiting from = { origin, t->bottom, t->top, t->limit }, to;

	if (origin == target || !grow(g))
		return;
	to = take(g, target);
	if (!to.greenlet)
		to = stack_new(g, t->bottom);
	if (!to.bottom)
		return;
	suspend_all(t);
	if (from.top > from.bottom) {
		g->items[index_of(g, origin)] = from;
		g->n++;
	} else if (!g->spare.bottom) { /* it has ended, or runs nothing of Python */
		g->spare = from;
	} else {
		stack_free(&from);
	}
	t->bottom = to.bottom;
	t->top = to.top;
	t->limit = to.limit;
	t->off_seen = UINT32_MAX; /* a budget counts anew what is off on it */
	resume_all(t);
}

/* ---- the hook -------------------------------------------------------------------------------- */

/* The program's own trace function of this thread; owned. */
static _Thread_local PyObject *previous;

/* Borrowed; NULL: not there, or not yet. */
static PyObject *find_settrace(void)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet") : NULL;
	PyObject *function = module && PyModule_Check(module)
		? PyDict_GetItemString(PyModule_GetDict(module), "settrace")
		: NULL;

	return function && PyCFunction_Check(function) ? function : NULL;
}

/* Nobody listens any more: the calling thread has the program's own trace function again, or none. */
static void put_back(void)
{
	PyObject *settrace = find_settrace();
	struct compat_error error = compat_error_take();

	if (settrace)
		Py_XDECREF(PyObject_CallFunctionObjArgs(
			settrace, previous ? previous : Py_None, NULL));
	PyErr_Clear();
	compat_error_put(error);
}

static PyObject *on_greenlet(PyObject *self, PyObject *args)
{
	PyObject *event, *pair;

	(void)self;
	if (leadline_link_is_over())
		put_back();
	if (tree_mine && tree_mine->greenlets && PyTuple_GET_SIZE(args) == 2) {
		event = PyTuple_GET_ITEM(args, 0);
		pair = PyTuple_GET_ITEM(args, 1);
		if (PyUnicode_Check(event) && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
			on_switch(tree_mine, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
	}
	if (previous)
		return PyObject_Call(previous, args, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef hook = { "leadline", on_greenlet, METH_VARARGS,
	"tells leadline of switches between greenlets" };

void greenlets_watch(struct tracer *t)
{
	static PyObject *callback; /* owned */
	PyObject *settrace, *before;

	if (t->greenlets || tree_is_rehearsing() || !(settrace = find_settrace()))
		return;
	if (!callback)
		callback = PyCFunction_New(&hook, NULL);
	t->greenlets = callback ? memory_map(sizeof *t->greenlets) : NULL;
	before = t->greenlets ? PyObject_CallFunctionObjArgs(settrace, callback, NULL) : NULL;
	if (before && before != callback) {
		Py_XDECREF(previous);
		previous = before == Py_None ? NULL : before;
		Py_XINCREF(previous);
	}
	Py_XDECREF(before);
	PyErr_Clear();
}

void greenlets_saw_file(const char *file, unsigned n)
{
	static const char name[] = "/greenlet/__init__.py";

	if (n >= sizeof name - 1 &&
		memcmp(file + n - (sizeof name - 1), name, sizeof name - 1) == 0)
		greenlets_are_there = true;
}

void greenlets_start(bool with_clock)
{
	has_clock = with_clock;
	greenlets_are_there |= find_settrace() != NULL;
	PyErr_Clear();
}
