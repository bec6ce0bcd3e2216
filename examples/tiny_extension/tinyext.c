/* tinyext: one function, sum_of_squares(sequence of floats) -> float.
 * main.py builds it. The numbers go into a linked list first, and node_at()
 * looks for each one from the head of the list: that is the planted hot spot. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct node {
	double value;
	struct node *next;
} node;

static void free_list(node *head)
{
	while (head != NULL) {
		node *next = head->next;
		PyMem_Free(head);
		head = next;
	}
}

/* Copies the floats of a tuple; returns -1 with an exception set on failure. */
static int make_list(PyObject *tuple, node **head)
{
	node **tail = head;
	Py_ssize_t n = PyTuple_GET_SIZE(tuple);

	*head = NULL;
	for (Py_ssize_t i = 0; i < n; i++) {
		double value = PyFloat_AsDouble(PyTuple_GET_ITEM(tuple, i));
		if (value == -1.0 && PyErr_Occurred())
			return -1;
		node *item = PyMem_Malloc(sizeof *item);
		if (item == NULL) {
			PyErr_NoMemory();
			return -1;
		}
		item->value = value;
		item->next = NULL;
		*tail = item;
		tail = &item->next;
	}
	return 0;
}

/* The hot one: i steps to reach element i. */
__attribute__((noinline)) static const node *node_at(const node *head, Py_ssize_t i)
{
	while (i-- > 0)
		head = head->next;
	return head;
}

__attribute__((noinline)) static double sum_list(const node *head, Py_ssize_t n)
{
	double sum = 0.0;

	for (Py_ssize_t i = 0; i < n; i++) {
		double value = node_at(head, i)->value;
		sum += value * value;
	}
	return sum;
}

static PyObject *sum_of_squares(PyObject *self, PyObject *numbers)
{
	PyObject *tuple = PySequence_Tuple(numbers);
	PyObject *result = NULL;
	node *head = NULL;

	(void)self;
	if (tuple == NULL)
		return NULL;
	if (make_list(tuple, &head) == 0)
		result = PyFloat_FromDouble(sum_list(head, PyTuple_GET_SIZE(tuple)));
	free_list(head);
	Py_DECREF(tuple);
	return result;
}

static PyMethodDef methods[] = {
	{ "sum_of_squares", sum_of_squares, METH_O, "sum_of_squares(numbers) -> float" },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	"tinyext",
	"A tiny extension with a planted hot spot.",
	-1,
	methods,
	NULL,
	NULL,
	NULL,
	NULL,
};

PyMODINIT_FUNC PyInit_tinyext(void)
{
	PyObject *m = PyModule_Create(&module);

#ifdef Py_GIL_DISABLED
	if (m != NULL)
		PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED);
#endif
	return m;
}
