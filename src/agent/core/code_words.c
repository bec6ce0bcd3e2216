/* SPDX-License-Identifier: MIT
 * See code_words.h. */
#include "agent/core/code_words.h"

#include <string.h>

enum {
	TEXT_BYTES = 32 << 10, /* of all words together; what does not fit is left out */
	WORD_BYTES = 100,
	WORD_CHARS = 80,
	LIST_MOST = 512,
	ITEMS_MOST = 64, /* of a tuple */
	DEPTH_MOST = 3,
};

struct words {
	char text[TEXT_BYTES];
	size_t n;
};

static void add_byte(struct words *w, char byte)
{
	if (w->n < TEXT_BYTES)
		w->text[w->n++] = byte;
}

/* A word has no bytes below a blank, which end words and lists. */
static void add_word(struct words *w, PyObject *text)
{
	Py_ssize_t n = 0;
	const char *p = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
	bool is_cut = n > WORD_BYTES;

	n = is_cut ? WORD_BYTES : n;
	while (is_cut && n && ((unsigned char)p[n] & 0xc0) == 0x80)
		n--;
	if (p && w->n + (size_t)n + 4 < TEXT_BYTES) {
		for (Py_ssize_t i = 0; i < n; i++)
			add_byte(w, (unsigned char)p[i] < ' ' ? ' ' : p[i]);
		for (int i = 0; is_cut && i < 3; i++)
			add_byte(w, '.');
	}
	add_byte(w, '\0');
	PyErr_Clear();
}

static bool is_plain(PyObject *o, int depth);

static bool are_plain(PyObject *const *items, Py_ssize_t n, int depth)
{
	for (Py_ssize_t i = 0; i < n; i++)
		if (!is_plain(items[i], depth))
			return false;
	return true;
}

/* Whether its repr is short and the interpreter's own alone. */
static bool is_plain(PyObject *o, int depth)
{
	if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PyFloat_CheckExact(o) ||
		PyComplex_CheckExact(o) || PyCode_Check(o))
		return true;
	if (PyLong_CheckExact(o))
		return _PyLong_NumBits(o) < 512;
	if (PyUnicode_CheckExact(o))
		return PyUnicode_GET_LENGTH(o) <= WORD_CHARS;
	if (PyBytes_CheckExact(o))
		return PyBytes_GET_SIZE(o) <= WORD_CHARS;
	if (depth == 0)
		return false;
	if (PyTuple_CheckExact(o))
		return PyTuple_GET_SIZE(o) <= ITEMS_MOST &&
			are_plain(&PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o), depth - 1);
	if (PySlice_Check(o))
		return are_plain(&((PySliceObject *)o)->start, 3, depth - 1);
	return false;
}

static PyObject *repr_of(PyObject *o)
{
	PyObject *cut, *text = NULL;

	if (PyUnicode_CheckExact(o) && PyUnicode_GET_LENGTH(o) > WORD_CHARS) {
		cut = PyUnicode_Substring(o, 0, WORD_CHARS);
		text = cut ? PyObject_Repr(cut) : NULL;
		Py_XDECREF(cut);
	} else if (PyFrozenSet_CheckExact(o) && PySet_GET_SIZE(o) <= ITEMS_MOST) {
		cut = PySequence_Tuple(o);
		text = cut && is_plain(cut, DEPTH_MOST) ? PyObject_Repr(o) : NULL;
		Py_XDECREF(cut);
	} else if (is_plain(o, DEPTH_MOST)) {
		text = PyObject_Repr(o);
	}
	PyErr_Clear();
	return text;
}

static void add_list(struct words *w, PyObject *tuple, bool are_names)
{
	Py_ssize_t n = tuple && PyTuple_Check(tuple) ? PyTuple_GET_SIZE(tuple) : 0;

	for (Py_ssize_t i = 0; i < n && i < LIST_MOST; i++) {
		PyObject *item = PyTuple_GET_ITEM(tuple, i),
			 *text = are_names ? NULL : repr_of(item);

		add_word(w, are_names && PyUnicode_Check(item) ? item : text);
		Py_XDECREF(text);
	}
}

PyObject *code_words(const PyCodeObject *code)
{
	struct words *w = PyMem_RawMalloc(sizeof *w);
	PyObject *bytes;

	if (!w)
		return NULL;
	w->n = 0;
	add_list(w, code->co_consts, false);
	add_byte(w, 1);
	add_list(w, code->co_names, true);
	add_byte(w, 1);
	add_list(w, compat_code_locals(code), true);
	add_byte(w, 1);
	add_list(w, compat_code_cells(code), true);
	add_list(w, compat_code_frees(code), true);
	add_byte(w, 1);
	bytes = PyBytes_FromStringAndSize(w->text, (Py_ssize_t)w->n);
	PyMem_RawFree(w);
	PyErr_Clear();
	return bytes;
}
