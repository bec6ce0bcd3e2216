/* SPDX-License-Identifier: MIT
 *
 * What bootstrap/torch.py asks of the agent: rows for the module's table.
 *
 *	torch_load(path)		names the library at path as ITT's collector, None: no more; False when another
 *					one is named already
 *	torch_state(on, text, n)	tells the tool what became of it (wire/op_area.h)
 *	torch_span(since, name)		adds a span to the operators; since: what torch_now() was
 *	torch_compiled(text)		tells what torch.compile did, JSON
 *	torch_gap(since)		tells of a time without operators; since: what torch_now() was; None: nothing
 *	torch_now()
 *	torch_open(folder, function)	takes ranges of the torch that lies there from now on, calls the function in the main thread once
 *					nobody listens any more; False: torch has not taken the collector
 *	torch_rehearse()		does not keep operators of the calling thread; False: it cannot
 *	torch_rehearsed()		keeps them again, and returns how many were not
 *	torch_cost(ns)			tells what one operator costs while it is collected
 *	torch_watch_modules(type, ask)	tells the module of each operator from now on; ask: called in the main thread after new ones were seen
 *	torch_modules()			those that run now
 *	torch_place_module(module, parent, path)	where one is in the model; parent: None or the module that has it
 *	torch_module_gone(reference)	it has died; reference.address: where it was
 *	torch_in_main(function)		calls it soon in the main thread
 *	around, around_thread		wrap.h */
#ifndef AGENT_TORCH_TORCH_MODULE_H
#define AGENT_TORCH_TORCH_MODULE_H

#include "agent/core/compat.h"
#include "agent/torch/wrap.h"

#pragma GCC visibility push(hidden)

PyObject *torch_module_load(PyObject *self, PyObject *path);
PyObject *torch_module_state(PyObject *self, PyObject *args);
PyObject *torch_module_gap(PyObject *self, PyObject *since);
PyObject *torch_module_span(PyObject *self, PyObject *args);
PyObject *torch_module_compiled(PyObject *self, PyObject *text);
PyObject *torch_module_now(PyObject *self, PyObject *unused);
PyObject *torch_module_open(PyObject *self, PyObject *args);
PyObject *torch_module_rehearse(PyObject *self, PyObject *unused);
PyObject *torch_module_rehearsed(PyObject *self, PyObject *unused);
PyObject *torch_module_cost(PyObject *self, PyObject *ns);
PyObject *torch_module_watch_modules(PyObject *self, PyObject *args);
PyObject *torch_module_modules(PyObject *self, PyObject *unused);
PyObject *torch_module_place(PyObject *self, PyObject *args);
PyObject *torch_module_gone(PyObject *self, PyObject *reference);
PyObject *torch_module_in_main(PyObject *self, PyObject *function);

#pragma GCC visibility pop

#define TORCH_MODULE_METHODS                                                                      \
	{ "torch_load", torch_module_load, METH_O, "name the collector" },                        \
		{ "torch_state", torch_module_state, METH_VARARGS, "what became of it" },         \
		{ "torch_gap", torch_module_gap, METH_O, "a time without operators" },            \
		{ "torch_span", torch_module_span, METH_VARARGS, "a span that ends now" },        \
		{ "torch_compiled", torch_module_compiled, METH_O, "what was compiled" },         \
		{ "torch_now", torch_module_now, METH_NOARGS, "the session's clock" },            \
		{ "torch_open", torch_module_open, METH_VARARGS, "take ranges" },                 \
		{ "torch_rehearse", torch_module_rehearse, METH_NOARGS, "keep none" },            \
		{ "torch_rehearsed", torch_module_rehearsed, METH_NOARGS, "keep them again" },    \
		{ "torch_cost", torch_module_cost, METH_O, "what one costs" },                    \
		{ "torch_watch_modules", torch_module_watch_modules, METH_VARARGS, "tell them" }, \
		{ "torch_modules", torch_module_modules, METH_NOARGS, "that run now" },           \
		{ "torch_place_module", torch_module_place, METH_VARARGS, "where it is" },        \
		{ "torch_module_gone", torch_module_gone, METH_O, "it has died" },                \
		{ "torch_in_main", torch_module_in_main, METH_O, "call in the main thread" },     \
		{ "around", wrap_make, METH_VARARGS, "a callable around another" },               \
	{                                                                                         \
		"around_thread", wrap_make_thread, METH_VARARGS, "the same of threads"            \
	}

#endif
