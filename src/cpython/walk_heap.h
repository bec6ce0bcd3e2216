/* SPDX-License-Identifier: MIT
 *
 * Walking the Python stack of one thread where frames are objects on the heap (3.8 … 3.10), linked from
 * the leaf to the root.
 *
 * The image was copied by one system call, but the thread ran on while it was copied, and a call lasts
 * tens of nanoseconds: the frame that ran may have ended before its own bytes were copied. So **the leaf
 * is the frame the thread state pointed to at one instant**, whatever its bytes say by then. Taking what
 * still executes instead would make the sample depend on how long a call lives; and the deepest of all
 * frames that execute is not the leaf of any instant, because each flag is from another one. The bytes
 * only tell who called:
 *
 * - the link of a frame that executes, or of a leaf that has not begun, is as it was set;
 * - a frame that has ended keeps its link until its memory is used again, unless it went to the free list.
 *   The link is believed when it leads to frames that execute, up to the root;
 * - else the caller is a frame of a code that was seen to call this one before, and whose links lead to the
 *   root: of these the one with the fewest ended frames on its way, and then the deepest;
 * - a link that leads to a frame that was hardly ever seen to call such frames is doubted, as one of the two may have been
 *   copied before the other was there. The two are copied again, alone: when they show the same it is so, and
 *   such a pair is not doubted again. Else a frame that executes and is known to call such frames is taken instead;
 * - else the stack cannot be followed. What of the stack before still executes is the sample's root side,
 *   and the sample is told as shortened.
 *
 * A frame that has ended stands on its last instruction. So as not to see only these, the position of the
 * leaf is then where a leaf of its code was last seen executing.
 *
 * No system calls here: live processes and the fuzzer use the same walker. */
#ifndef CPYTHON_WALK_HEAP_H
#define CPYTHON_WALK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/walk.h"

struct py_layout;
struct walk_heap;

/* The bytes of a frame object that are looked at: `n` from `from` on. */
struct walk_heap_span {
	uint32_t from, n;
};
struct walk_heap_span walk_heap_span(const struct py_layout *l);

struct walk_heap_frame { /* kept by the caller from look to look, zeroed at first */
	uint64_t address;
	/* As this image shows it. */
	uint64_t type, code, back;
	int32_t lasti;
	bool is_executing;
	/* The walker's own, of the walk number `visit` and `measured`. */
	uint64_t visit, measured;
	/* frames to a root that executes, by their links; 0: these do not lead to one */
	uint32_t depth;
	uint32_t n_dead; /* of them, frames that have ended */
	uint64_t root;
};

/* Fills what the image shows of a frame, from its span. */
void walk_heap_parse(
	const struct py_layout *l, const unsigned char *span, struct walk_heap_frame *ret);

struct walk_heap_callbacks {
	/* The code object at this address, or NULL when there is none. */
	const struct walk_code *(*code)(void *ctx, uint64_t address);
	/* The frame at this address; NULL when it cannot be read or is none. may_read: one that is not
	 * in the image is read now. Valid until the walk ends, as are those of `nth`. */
	struct walk_heap_frame *(*frame)(void *ctx, uint64_t address, bool may_read);
	/* The frames of the image: *ret is NULL for one that is none (any more). false at the end. */
	bool (*nth)(void *ctx, size_t i, struct walk_heap_frame **ret);
	/* Fills the two, whose addresses are set, by one copy made now. false: one cannot be read. */
	bool (*again)(void *ctx, struct walk_heap_frame two[2]);
	void *ctx;
};

struct walk_heap *walk_heap_new(void); /* for one thread */
void walk_heap_free(struct walk_heap *h);

/* Fills *ret with the stack whose running frame is at `leaf`. n = 0: nothing could be taken. */
void walk_heap_stack(struct walk_heap *h, const struct py_layout *l, uint64_t leaf,
	const struct walk_heap_callbacks *c, struct walk *ret);

/* The address of the root frame of the last whole stack; 0 before there was one. */
uint64_t walk_heap_root(const struct walk_heap *h);

#endif
