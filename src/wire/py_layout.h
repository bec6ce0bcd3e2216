/* SPDX-License-Identifier: MIT
 *
 * Where CPython keeps things: everything that reads a target's memory (sampler, agents, BPF) goes
 * by one struct py_layout, which the tool fills for the target's interpreter (cpython/layout.h) and
 * verifies before use. The fields and what they mean are in cpython/fields.def:
 *
 *	FIELD(thread, next, PTR, …)    →    uint32_t thread_next;    offset in bytes
 *
 * A field that this interpreter does not have is PY_NONE. All offsets of a verified layout lie
 * inside their struct, whose size is STRUCT_sizeof, and are aligned for their type. */
#ifndef WIRE_PY_LAYOUT_H
#define WIRE_PY_LAYOUT_H

#include <stdint.h>

#define PY_NONE UINT32_MAX

/* No verified layout has larger structs: room for a copy. */
enum {
	PY_THREAD_BYTES_MAX = 4096,
	PY_FRAME_BYTES_MAX = 512,
	PY_CODE_BYTES_MAX = 512,
	PY_OBJECT_BYTES_MAX = 1024, /* all others but runtime and interp */
};

enum py_flags {
	PY_FREE_THREADED = 1 << 0,
	PY_HEAP_FRAMES = 1 << 1,   /* 3.8 … 3.10: frames are objects, linked by frame_previous */
	PY_LASTI_DOUBLED = 1 << 2, /* 3.10: frame_lasti × 2 is the byte offset */
	PY_PREV_INSTR = 1 << 3,    /* 3.11, 3.12: frame_instr is the code unit before the next
					instruction; later it is the instruction itself */
	PY_STACKREF_TAGGED = 1 << 4, /* 3.14+: frame_code and locals carry tags in bits 0 and 1 */
};

struct py_layout {
	uint32_t major, minor, micro;
	uint32_t release; /* 0xf0 final; 0xa1 alpha 1, 0xb2 beta 2, 0xc1 candidate 1 */
	uint32_t flags;   /* enum py_flags */
#define FIELD(struct_, field, type, from_major, from_minor, until_major, until_minor) \
	uint32_t struct_##_##field;
#define FIELD_FT FIELD
#include "cpython/fields.def"
#undef FIELD
#undef FIELD_FT
};

/* The object behind a field that may carry tags; 0 for a null reference. */
static inline uint64_t py_untagged(const struct py_layout *l, uint64_t value)
{
	return l->flags & PY_STACKREF_TAGGED ? value & ~(uint64_t)3 : value;
}

#endif
