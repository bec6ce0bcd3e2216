/* SPDX-License-Identifier: MIT
 *
 * The modules of the model (nn.Module) that operators run in, as numbers that are told to the tool once. A module is known by the object
 * that its call has in `self`, which its frame keeps alive.
 *
 * What is seen without the GIL is its address and its type, so that alone gives it a number and the name of its class. Where it is in the
 * model is asked of Python right after, by a pending call: bootstrap/torch_modules.py walks the attributes of the modules that run then, and
 * hands over each with its path and a weak reference that tells when it dies. Then its address stands for nothing, until another is seen
 * there. After the first MODULES_FREE times asking takes no more than one part in MODULES_REST of the time: what a program makes anew all the
 * time is then shown by its class alone, those that were at the same address together. */
#ifndef AGENT_TORCH_MODULES_H
#define AGENT_TORCH_MODULES_H

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

enum { MODULES_FREE = 16, MODULES_REST = 200 };

/* From now on: objects of this type are modules, and `ask` is called in the main thread after new ones were seen. Both are kept. */
void modules_watch(PyObject *type, PyObject *ask);
bool modules_is_watching(void);

/* What a module's call has in `self`, by the thread that runs it; any thread, with or without the GIL. 0: it is none, or there are too many. */
uint32_t modules_number(PyObject *self);
/* Changes whenever an address may have become another module's. */
extern uint32_t modules_age;
/* From time to time: asks for what could not be asked when it was seen. */
void modules_ask(void);

/* With the GIL. parent: the module that has it as an attribute, and calls it; NULL: none. */
void modules_place(PyObject *module, PyObject *parent, const char *path);
void modules_gone(const void *module);

/* In a forked child: all are told anew. */
void modules_forget(void);

#pragma GCC visibility pop

#endif
