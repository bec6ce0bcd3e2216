/* SPDX-License-Identifier: MIT
 *
 * One look at one thread of an interpreter whose frames are on the heap (3.8 … 3.10): learning where its
 * frames lie, copying them with one system call, and the walk of that image (cpython/walk_heap.h).
 *
 * The call copies the thread's frame pointer first, then the memory of all frames known, those that were
 * leaves most often first: these change fastest. Frames are learned by being met on the way from a leaf
 * to the root and forgotten when they were not met for a while; one met for the first time is read by a call
 * of its own, after the image. No look is repeated because of what it shows. */
#ifndef COLLECT_SAMPLES_HEAP_H
#define COLLECT_SAMPLES_HEAP_H

#include <stdint.h>

#include "collect/samples/thread.h"

struct py_heap;
struct walk;

/* address: of the thread state. */
struct py_heap *py_heap_new(const struct py_layout *l, uint64_t address);
void py_heap_free(struct py_heap *h);

enum py_look py_heap_look(
	struct py_heap *h, const struct py_view *v, struct py_cost *cost, struct walk *ret);

#endif
