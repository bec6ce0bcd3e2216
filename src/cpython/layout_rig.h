/* SPDX-License-Identifier: MIT
 *
 * For tests: a memory image with a small interpreter in it, laid out as any row of versions.c says,
 * and the means to damage it. */
#ifndef CPYTHON_LAYOUT_RIG_H
#define CPYTHON_LAYOUT_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/layout_rows.h"
#include "cpython/mem.h"
#include "wire/py_layout.h"

enum { RIG_BASE = 0x10000, RIG_BYTES = 2 << 20, RIG_THREADS = 2, RIG_DEPTH = 3 };

struct rig {
	unsigned char *bytes; /* [RIG_BYTES], at the address RIG_BASE */
	uint64_t used;        /* next free address */
	struct py_layout layout;
	struct mem mem;
	uint32_t n_reads;
	/* Addresses. Thread 0 is the head of the list; frame 0 is the one that runs. */
	uint64_t runtime, interp, gil;
	uint64_t code_type, str_type, bytes_type, frame_type, member_table;
	uint64_t thread[RIG_THREADS], chunk[RIG_THREADS], frame[RIG_THREADS][RIG_DEPTH + 1];
	uint64_t code[RIG_DEPTH], filename, qualname;
	int n_frames; /* with the one that marks where C called Python, if the version has such */
};

/* The layout by the row, whichever way the interpreter of that version tells it; then all the rest. */
void rig_init(struct rig *r, const struct layout_row *row);
void rig_done(struct rig *r);

/* Writes what an interpreter of 3.13+ says of itself at the start of the runtime. */
void rig_publish(struct rig *r, const struct layout_row *row);

uint64_t rig_alloc(struct rig *r, size_t n);
void rig_put(struct rig *r, uint64_t address, const void *from, size_t n);
void rig_put_u64(struct rig *r, uint64_t address, uint64_t value);
void rig_put_u32(struct rig *r, uint64_t address, uint32_t value);
void rig_put_u8(struct rig *r, uint64_t address, uint8_t value);

/* A str of n characters of `kind` bytes each; is_ascii as Python marks it. */
uint64_t rig_str(struct rig *r, const void *chars, size_t n, unsigned kind, int is_ascii);

#endif
