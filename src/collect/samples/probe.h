/* SPDX-License-Identifier: MIT
 *
 * Probes: what the instruction that a sampled thread stands on works with. At a call, a containment test, arithmetic or
 * a subscript the types, sizes and names of the operands are read from the value stack of the leaf frame, while the
 * program runs on.
 *
 * So nothing is believed that was seen once. One system call copies the frame, with its value stack, many times in a
 * row. Copies in which the frame stands on the sampled instruction count; there must be PY_PROBE_NEEDED of them, and
 * an operand is taken only if all of them show the same object. Then the object is described, and the frame is copied
 * again: it must still be there. An operation that lasts passes; a short one passes when the program does little else,
 * with the operands that stay the same. What passes thus says nothing about how long anything took: that is for
 * samples to say.
 *
 * Per version:
 *	3.8 … 3.10   f_lasti is stored before each instruction, the depth of the stack is not (f_stacktop is 0, f_stackdepth
 *	             -1, while a frame executes): it comes from the code
 *	3.11 … 3.13  the same with prev_instr or instr_ptr; stacktop must be -1, or the frame has called Python code
 *	3.14+        stackpointer is stored around every call that leaves the interpreter's loop: it must be what the code
 *	             says; references are tagged */
#ifndef COLLECT_SAMPLES_PROBE_H
#define COLLECT_SAMPLES_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/describe.h"
#include "cpython/operands.h"

struct mem;
struct py_codes;
struct py_layout;
struct py_probes;
struct walk;

struct py_probes *py_probes_new(const struct py_layout *l, const struct mem *m); /* borrowed */
void py_probes_free(struct py_probes *p);

struct py_probe {
	size_t n;
	struct {
		uint8_t number; /* 0: callee or container, 1 … the others */
		struct description what;
	} v[OPERANDS_MOST];
};

enum py_probed {
	PY_PROBE_NONE, /* no instruction with operands that tell something, or one seen often lately */
	PY_PROBE_DROPPED, /* nothing of it can be believed */
	PY_PROBE_TAKEN,
};

/* At the leaf of a stack that was just taken. */
enum py_probed py_probe_take(struct py_probes *p, struct py_codes *codes, const struct walk *w,
	uint64_t now_ns, struct py_probe *ret);

#endif
