/* SPDX-License-Identifier: MIT
 *
 * The struct py_layout of an interpreter, from its version or from what it says itself, and the
 * proof that its memory is laid out so.
 *
 * 3.8 … 3.12: by version, from a table made of the interpreters' headers (versions.c). 3.13 and later
 * publish most offsets in _Py_DebugOffsets at the start of _PyRuntime; these are taken, and the table
 * only for what is not published, and only if it agrees with the interpreter on every published field
 * of the same struct. Either way each field is checked (there in this version, aligned, inside its
 * struct), and before anything else is read layout_verify must have followed interpreters, threads,
 * frames and code objects in a live memory and found all pointers closing. Unknown versions and
 * anything that does not fit are refused, with what was found. */
#ifndef CPYTHON_LAYOUT_H
#define CPYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/py_layout.h"

struct buf;
struct err;
struct mem;

enum {
	LAYOUT_FIRST_MINOR = 8, /* CPython 3.8 … 3.15 */
	LAYOUT_LAST_MINOR = 15,
	LAYOUT_FIRST_PUBLISHED = 13, /* _Py_DebugOffsets */
	LAYOUT_NOT_YET = 1,          /* layout_verify: nothing there to prove it with */
};

/* By version (PY_VERSION_HEX), for 3.8 … 3.12. */
int layout_from_version(struct py_layout *ret, uint32_t version_hex, struct err *e);

/* What _PyRuntime at this address says of itself, for 3.13 and later. */
int layout_from_debug_offsets(
	struct py_layout *ret, const struct mem *m, uint64_t runtime, struct err *e);
/* Whether there is such a self-description: 1, 0, or -errno. */
int layout_is_published(const struct mem *m, uint64_t runtime);

/* What layout_verify has followed. */
struct layout_proof {
	uint32_t n_interpreters, n_threads;
	uint32_t n_stacks;  /* chains of frames followed from the thread to the root */
	uint32_t n_frames;  /* in these */
	uint32_t n_codes;   /* different code objects */
	uint32_t n_torn;    /* stacks that moved while they were read, each time */
	uint64_t code_type; /* address of PyCode_Type */
};

/* Follows everything from _PyRuntime down. The target runs on meanwhile, so a stack may be torn: it
 * is read again, some times. code_type: address of PyCode_Type, or 0 when not known.
 *
 * 0: verified by structure. LAYOUT_NOT_YET: no interpreter, no thread or no Python frame yet, e says
 * which; try later. Else refused (ERR_BAD_LAYOUT), or reading failed for good (ERR_NO_PROCESS …). */
int layout_verify(const struct py_layout *l, const struct mem *m, uint64_t runtime,
	uint64_t code_type, struct layout_proof *ret, struct err *e);

/* "3.13.0", "3.15.0b2", "3.14.1 free-threaded". */
void layout_format_version(const struct py_layout *l, struct buf *out);

/* One "struct.field = value" line per field the interpreter has, for doctor and bug reports. */
void layout_format(const struct py_layout *l, struct buf *out);

#endif
