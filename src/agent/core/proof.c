/* SPDX-License-Identifier: MIT
 * See proof.h. */
#include "agent/core/proof.h"

#include <stddef.h>
#include <string.h>

#include "agent/core/compat.h"

static const char source[] = "def leadline_proof(look, mark):\n"
			     "    return look(mark)\n";

static const char *problem; /* what `look` found: NULL where all is well */

/* ---- code objects ---------------------------------------------------------------------------- */

struct field {
	const char *name;
	size_t offset;
};

#define FIELD(f) { #f, offsetof(PyCodeObject, f) },
static const struct field objects[] = { COMPAT_CODE_OBJECTS(FIELD) };
static const struct field numbers[] = { COMPAT_CODE_NUMBERS(FIELD) };

static bool is_object_there(const PyCodeObject *code, const struct field *f)
{
	PyObject *said = PyObject_GetAttrString((PyObject *)code, f->name), *there;

	memcpy(&there, (const char *)code + f->offset, sizeof there);
	Py_XDECREF(said);
	return said && said == there;
}

static bool is_number_there(const PyCodeObject *code, const struct field *f)
{
	PyObject *said = PyObject_GetAttrString((PyObject *)code, f->name);
	long number = said ? PyLong_AsLong(said) : -1;
	int there;

	memcpy(&there, (const char *)code + f->offset, sizeof there);
	Py_XDECREF(said);
	return said && number == there;
}

static const char *code_problem(const PyCodeObject *code)
{
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
		if (!is_object_there(code, &objects[i]))
			return objects[i].name;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!is_number_there(code, &numbers[i]))
			return numbers[i].name;
	return NULL;
}

/* ---- while the function runs ------------------------------------------------------------------ */

static const char *thread_problem(PyThreadState *thread)
{
	PyObject *dict = PyThreadState_GetDict(); /* makes one where there is none */

	if (thread->interp != compat_interpreter())
		return "a thread's interpreter";
	if (thread->dict != dict)
		return "a thread's dict";
	if (thread->thread_id != PyThread_get_thread_ident())
		return "a thread's thread_id";
	return compat_is_thread_id(thread) ? NULL : "a thread's id";
}

static bool has_instruction(PyObject *frame, uint32_t offset)
{
	PyObject *said = PyObject_GetAttrString(frame, "f_lasti");
	long number = said ? PyLong_AsLong(said) : -1;

	Py_XDECREF(said);
	return said && number == (long)offset;
}

/* The frame below has the code that the interpreter says it has; there may be none. */
static bool has_caller(compat_frame *leaf, PyFrameObject *frame)
{
	PyFrameObject *back = compat_frame_back(frame);
	PyObject *said = back ? PyObject_GetAttrString((PyObject *)back, "f_code") : NULL;
	compat_frame *up = compat_leaf_up(leaf);
	bool is_good = back ? said && up && (PyObject *)compat_leaf_code(up) == said : !up;

	Py_XDECREF(said);
	Py_XDECREF(back);
	return is_good;
}

static const char *frame_problem(PyThreadState *thread, PyFrameObject *frame, PyObject *mark)
{
	PyObject *code = PyObject_GetAttrString((PyObject *)frame, "f_code");
	const char *found = code ? code_problem((PyCodeObject *)code) : "a frame's code";
	compat_frame *leaf = found ? NULL : compat_leaf_frame(thread);
	const void *activation = leaf ? compat_activation_of(frame) : NULL;

	Py_XDECREF(code); /* the frame holds it */
	if (found)
		return found;
	if (!leaf || !compat_is_frame(frame, leaf) || (PyObject *)compat_leaf_code(leaf) != code ||
		compat_frame_code(frame) != (PyCodeObject *)code)
		return "the frame of a thread";
	if (!has_instruction((PyObject *)frame, compat_leaf(leaf).offset))
		return "a frame's instruction";
	if (!has_caller(leaf, frame))
		return "a frame's caller";
	if (compat_local(activation, (PyCodeObject *)code, 1) != mark)
		return "a frame's locals";
	return NULL;
}

/* Called by the function in question, with its second argument; the first is this. */
static PyObject *look(PyObject *self, PyObject *mark)
{
	PyThreadState *thread = compat_thread();
	PyFrameObject *frame;

	(void)self;
	problem = thread ? thread_problem(thread) : "the thread";
	frame = problem ? NULL : PyEval_GetFrame();
	if (!problem)
		problem = frame ? frame_problem(thread, frame, mark) : "the frame";
	PyErr_Clear();
	Py_RETURN_NONE;
}

static PyMethodDef look_def = { "leadline_look", look, METH_O, NULL };

/* ---- all of it ------------------------------------------------------------------------------- */

static const char *run(PyObject *space, PyObject *function)
{
	PyObject *done, *proof, *mark = PyUnicode_FromString("leadline mark");

	done = PyRun_String(source, Py_file_input, space, space);
	Py_XDECREF(done);
	proof = done ? PyDict_GetItemString(space, "leadline_proof") : NULL;
	problem = "a call";
	done = proof && mark ? PyObject_CallFunctionObjArgs(proof, function, mark, NULL) : NULL;
	Py_XDECREF(done);
	Py_XDECREF(mark);
	return problem;
}

const char *proof_problem(void)
{
	PyObject *space = PyDict_New(), *function = PyCFunction_New(&look_def, NULL);
	const char *found = "the memory";

	if (!compat_is_release())
		found = "a pre-release";
	else if (function && Py_TYPE(function) != &PyCFunction_Type)
		found = "the type of an object";
	else if (function && ((PyCFunctionObject *)function)->m_ml != &look_def)
		found = "a C function";
	else if (!compat_are_parts_good())
		found = "a number or a generator";
	else if (space && function &&
		PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins()) == 0)
		found = run(space, function);
	Py_XDECREF(space);
	Py_XDECREF(function);
	PyErr_Clear();
	return found;
}
