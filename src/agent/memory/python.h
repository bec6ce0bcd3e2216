/* SPDX-License-Identifier: MIT
 *
 * The Python stack of the calling thread, read by the layout that the tool has given. A layout is a claim about somebody's build: so
 * the first stacks are read through the kernel (process_vm_readv on ourselves, which fails where a load would crash), and each code
 * object must be of the interpreter's code type. When enough of them were, and the thread holds its thread state (so that nobody can free it), plain
 * loads take over; a thread that runs without one, as C code does while it has released the GIL, is always read through the
 * kernel. */
#ifndef AGENT_MEMORY_PYTHON_H
#define AGENT_MEMORY_PYTHON_H

#include <stdbool.h>

#include "wire/memory_area.h"

struct memory_area;
struct session_header;

#pragma GCC visibility push(hidden)

/* Whether this program has a Python, and is able to tell of it. Once, when the library is loaded. */
bool python_find(void);
/* "3.13.5 (main, …", for the hello. */
const char *python_version(void);
/* The layout of a (new) session. */
void python_begin(const struct session_header *h);

/* Fills where, is_cut and n_frames of `ret`, and the frames. */
void python_stack(struct memory_area *area, struct memory_alloc *ret,
	struct memory_frame frames[MEMORY_FRAMES_MOST]);
/* Whether the calling thread holds a thread state. */
bool python_is_attached(void);

/* Wraps CPython's allocators; also after somebody has replaced them (PYTHONMALLOC, -X dev), which is noticed at a sample. */
void pymem_install(void);
void pymem_check(void);
/* Options of the interpreter replace them before it has a thread state: the first one that is held settles it. */
extern bool pymem_is_settled;
void pymem_settle(void);

#pragma GCC visibility pop

#endif
