/* SPDX-License-Identifier: MIT
 * See cpu_speed.h. */
#include "agent/core/cpu_speed.h"

#include "agent/core/compat.h"

enum { TURNS = 40 };

static PyObject *whole, *part, *names, *name; /* owned, for good */

bool cpu_speed_start(void)
{
	if (names)
		return true;
	whole = PyLong_FromLong(100003);
	part = PyFloat_FromDouble(3.5);
	name = PyUnicode_FromString("pace");
	names = whole && part && name ? PyDict_New() : NULL;
	if (names && PyDict_SetItem(names, name, whole) == 0)
		return true;
	Py_CLEAR(names);
	return false;
}

static void work(void)
{
	for (int i = 0; i < TURNS; i++) {
		PyObject *sum = PyNumber_Add(whole, part);
		PyObject *product = sum ? PyNumber_Multiply(sum, part) : NULL;

		if (product && PyDict_GetItem(names, name))
			PyObject_RichCompareBool(product, whole, Py_LT);
		Py_XDECREF(sum);
		Py_XDECREF(product);
	}
}

static uint64_t once(enum clock_mode clock)
{
	uint64_t began = clock_read(clock);

	work();
	return clock_read(clock) - began;
}

/* The first makes warm what is cold; of two more the lesser, as the CPU may be taken away during one. */
uint64_t cpu_speed_measure(enum clock_mode clock)
{
	uint64_t first, second;

	if (!names || PyErr_Occurred())
		return 0;
	work();
	first = once(clock);
	second = once(clock);
	return first < second ? first + !first : second + !second;
}
