/* SPDX-License-Identifier: MIT
 * Where an interpreter from 3.14 on says how asyncio keeps its tasks: a section of the module that holds
 * asyncio's C code, which may be loaded at any time. */
#ifndef COLLECT_SAMPLES_ASYNCIO_H
#define COLLECT_SAMPLES_ASYNCIO_H

#include <stdbool.h>

struct asyncio_offsets;
struct py_target;

/* false: asyncio is not loaded (yet), or what it says does not fit the interpreter. */
bool py_asyncio_find(struct py_target *t, struct asyncio_offsets *ret);

#endif
