/* SPDX-License-Identifier: MIT
 * See monitor.h. */
#include "agent/calls/monitor.h"

#include <stdio.h>
#include <string.h>

#include "agent/calls/exclude.h"

enum {
	TOOL_IDS_FIRST = 3,
	TOOL_IDS_LAST = 4, /* 2 is for the program's own cProfile */
	EVENTS_MOST = 32,
	CALLBACKS_MOST = 64, /* there are some 40 */
};

struct callback {
	PyObject_HEAD vectorcallfunc call;
	monitor_fn *fn;          /* what it comes down to, … */
	PyObject *when_excluded; /* … but for what is excluded, which gets this; borrowed */
};

static PyTypeObject callback_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "leadline.callback",
	.tp_basicsize = sizeof(struct callback),
	.tp_vectorcall_offset = offsetof(struct callback, call),
	.tp_call = PyVectorcall_Call,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

/* Takes the reference, tells whether there was one. */
static bool is_done(PyObject *result)
{
	Py_XDECREF(result);
	PyErr_Clear();
	return result != NULL;
}

long monitor_event(const struct monitor *m, const char *name)
{
	PyObject *list = PyObject_GetAttrString(m->module, "events");
	PyObject *number = list ? PyObject_GetAttrString(list, name) : NULL;
	long result = number ? PyLong_AsLong(number) : 0;

	Py_XDECREF(list);
	is_done(number);
	return result;
}

static PyObject *leave_out_excluded(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	const struct callback *c = (const struct callback *)(const void *)self;

	if (!exclude_has(args[0]))
		return c->fn(self, args, nargsf, kwnames);
	Py_INCREF(c->when_excluded);
	return c->when_excluded;
}

/* NULL: no callback. */
static bool register_callback(const struct monitor *m, long event, struct callback *callback)
{
	return is_done(PyObject_CallMethod(m->module, "register_callback", "ilO", m->tool, event,
		callback ? (PyObject *)callback : Py_None));
}

/* Made once for each function, and kept: a callback may take itself away, and the interpreter does not hold what it calls.
 * when_excluded: NULL where nothing is excluded. Borrowed; NULL: no memory. */
static struct callback *callback_of(monitor_fn *fn, PyObject *when_excluded)
{
	static struct callback *made[CALLBACKS_MOST];
	int i = 0;

	while (i < CALLBACKS_MOST && made[i] &&
		(made[i]->fn != fn || made[i]->when_excluded != when_excluded))
		i++;
	if (i < CALLBACKS_MOST && !made[i] &&
		(made[i] = PyObject_New(struct callback, &callback_type))) {
		made[i]->fn = fn;
		made[i]->when_excluded = when_excluded;
		made[i]->call = when_excluded ? leave_out_excluded : fn;
	}
	return i < CALLBACKS_MOST ? made[i] : NULL;
}

bool monitor_set_callback(const struct monitor *m, long event, monitor_fn *fn)
{
	struct callback *c = fn ? callback_of(fn, NULL) : NULL;

	return fn && !c ? is_done(NULL) : register_callback(m, event, c);
}

/* The others are told of whatever the place. */
static bool is_of_a_place(const char *event)
{
	static const char *const places[] = { "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD",
		"CALL" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strcmp(places[i], event) == 0)
			return true;
	return false;
}

bool monitor_watch(const struct monitor *m, const char *name, monitor_fn *fn, long *events)
{
	long event = monitor_event(m, name);
	PyObject *when_excluded = !exclude_is_set ? NULL
		: is_of_a_place(name)             ? m->disable
						  : Py_None;
	struct callback *c = event ? callback_of(fn, when_excluded) : NULL;

	if (!c || !register_callback(m, event, c))
		return is_done(NULL);
	*events |= event;
	return true;
}

bool monitor_set_events(const struct monitor *m, long events)
{
	return is_done(PyObject_CallMethod(m->module, "set_events", "il", m->tool, events));
}

bool monitor_set_local_events(const struct monitor *m, PyCodeObject *code, long events)
{
	return is_done(PyObject_CallMethod(
		m->module, "set_local_events", "iOl", m->tool, (PyObject *)code, events));
}

void monitor_restart(const struct monitor *m)
{
	is_done(PyObject_CallMethod(m->module, "restart_events", NULL));
}

static bool has_module(struct monitor *m)
{
	PyObject *found;

	if (m->module)
		return true;
	found = PySys_GetObject("monitoring");
	if (!found || PyType_Ready(&callback_type) < 0)
		return is_done(NULL);
	m->disable = PyObject_GetAttrString(found, "DISABLE");
	if (!m->disable)
		return is_done(NULL);
	Py_INCREF(found);
	m->module = found;
	return true;
}

bool monitor_take(struct monitor *m, char *ret_why, size_t n_why)
{
	size_t n = 0;

	snprintf(ret_why, n_why, "sys.monitoring cannot be used");
	if (!has_module(m))
		return false;
	for (int id = TOOL_IDS_FIRST; id <= TOOL_IDS_LAST; id++) {
		PyObject *who = PyObject_CallMethod(m->module, "get_tool", "i", id);
		const char *name = who && PyUnicode_Check(who) ? PyUnicode_AsUTF8(who) : NULL;

		if (who == Py_None &&
			is_done(PyObject_CallMethod(
				m->module, "use_tool_id", "is", id, "leadline"))) {
			Py_DECREF(who);
			m->tool = id;
			return true;
		}
		if (n < n_why)
			n += (size_t)snprintf(ret_why + n, n_why - n, "%s%s holds id %d",
				n ? ", " : "", name ? name : "another tool", id);
		is_done(who);
	}
	if (n < n_why)
		snprintf(ret_why + n, n_why - n, ": no id of sys.monitoring is free");
	return false;
}

void monitor_release(struct monitor *m)
{
	if (m->tool < 0)
		return;
	monitor_set_events(m, 0);
	for (int i = 0; i < EVENTS_MOST; i++)
		monitor_set_callback(m, 1L << i, NULL); /* of bits that are no event: refused */
	is_done(PyObject_CallMethod(m->module, "free_tool_id", "i", m->tool));
	monitor_restart(m); /* else the next to have this id misses what we switched off */
	m->tool = -1;
}
