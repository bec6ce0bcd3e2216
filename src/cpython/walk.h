/* SPDX-License-Identifier: MIT
 *
 * Walking the Python stack of one thread in one image of its memory (3.11 and later, where frames lie
 * one behind the other in chunks of a data stack).
 *
 * The image was copied by one system call, but the thread ran on while it was copied. So nothing in it
 * is believed alone: the walk goes **from the root to the leaf** and takes a frame only when the one
 * before ends where it begins, its `previous` leads back there, and its code object is one. It ends at
 * the frame that executes (3.11 to 3.13 mark it) or before the first that has returned (from 3.14 on a
 * returned frame has no code object). What does not fit is cut off and told (`is_shortened`). Never is a
 * stack read again until it stands still: that would under-report short calls.
 *
 * Frames outside the data stack (generators; the entry frames 3.12 and 3.13 keep on the C stack) are
 * looked up through `outside`, which the caller fills from the same system call where it can.
 *
 * No system calls here: live processes, recorded images and the fuzzer use the same walker. */
#ifndef CPYTHON_WALK_H
#define CPYTHON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct py_layout;

enum { WALK_DEPTH = 8192, WALK_CHUNKS = 64, WALK_HOPS = 64, WALK_GENERATORS = 8 };

struct walk_code { /* what the walk must know of a code object; the caller caches it by address */
	uint32_t frame_bytes; /* of a frame of this code on the data stack */
	uint32_t n_code_bytes;
	uint64_t code_address; /* of its instructions */
	/* of the instructions up to that which begins the body; none calls */
	uint32_t n_setup_bytes;
	/* a bit for each two bytes, set where it returns; NULL: not known */
	const uint64_t *returns;
	bool is_coroutine;
};

struct walk_chunk {
	uint64_t address;
	const unsigned char *bytes;
	size_t n;    /* that were copied, from the beginning */
	size_t size; /* of the chunk in the program */
};

struct walk_image {
	/* of the data stack, read before and after the chunks; or the same */
	uint64_t top_before, top_after;
	const struct walk_chunk *chunks; /* from the root on; the last is the newest */
	size_t n_chunks;
	size_t n_at_once; /* bytes of the newest chunk copied between the two readings of the top */
	uint64_t current; /* address of the running frame as the interpreter has it; 0: not known */
};

struct walk_callbacks {
	/* The code object at this address, or NULL when there is none (not code, unreadable). */
	const struct walk_code *(*code)(void *ctx, uint64_t address);
	/* Bytes of the frame at this address outside the chunks, or NULL. Valid until the next call. */
	const unsigned char *(*outside)(void *ctx, uint64_t address);
	void *ctx;
	/* Free-threaded, from 3.14 on: where the copy of the code's instructions begins that `instr` is one of, a thread's
	 * own by its index; 0 when it is not known. NULL: no thread has copies. */
	uint64_t (*copy)(void *ctx, uint64_t code, uint32_t index, uint64_t instr);
};

struct walk_frame {
	uint64_t code;   /* address of the code object */
	uint32_t offset; /* of the instruction, bytes */
};

struct walk {
	struct walk_frame frames[WALK_DEPTH]; /* from the root on */
	size_t n;
	bool is_shortened; /* the leaf side was cut */
	uint64_t leaf;     /* address of the frame of frames[n - 1], unless it is shortened */
	uint64_t instr;    /* address of the instruction it stands on, as it has that */
	uint64_t generators
		[WALK_GENERATORS]; /* frames of generators (up to 3.10: of coroutines) among them, by
				      address, root first */
	size_t n_generators;
};

/* Fills *ret. n = 0 with is_shortened false: the thread runs no Python code. */
void walk_stack(const struct py_layout *l, const struct walk_image *image,
	const struct walk_callbacks *c, struct walk *ret);

#endif
