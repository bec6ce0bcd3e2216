/* SPDX-License-Identifier: MIT
 *
 * One look at one thread: an image of its stack, copied by one system call, and the walk of it
 * (cpython/walk.h). The system call copies the chunks of the data stack, the fields of the thread state
 * that say where it ends before and after the newest of them, and the frames outside the data stack that
 * earlier looks needed. Only memory in use is copied: each cache line that is read costs the program a
 * little when it writes there next. Where the depth changes much, the end of the stack is asked for first,
 * in a small call of its own; the look then copies up to there and as much more as stacks grow meanwhile. What the image turns out to lack (a stack that grew beyond what was
 * expected, a new chunk) is copied by a second call; what was copied is never copied again, and no look
 * is repeated because of what it shows. Where frames are on the heap (3.8 … 3.10) heap.h does it. */
#ifndef COLLECT_SAMPLES_THREAD_H
#define COLLECT_SAMPLES_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "collect/samples/cost.h"
#include "cpython/walk.h"
#include "wire/py_layout.h"

struct mem;
struct py_codes;
struct py_heap;

enum {
	PY_THREAD_CFRAMES = 3,  /* a generator driven from C goes to and fro between two */
	PY_THREAD_OUTSIDE = 48, /* frames outside the data stack that are copied along */
};

enum { PY_VIEW_ALONG = 6 };

struct py_view { /* what looks at the threads of one process share; borrowed */
	const struct py_layout *l;
	const struct mem *mem;
	struct py_codes *codes;
	uint64_t now_ns;
	/* Copied along with each image, by the same system call: who holds the GIL, for example. */
	struct iovec along_to[PY_VIEW_ALONG], along_from[PY_VIEW_ALONG];
	size_t n_along;
	bool is_along_fresh; /* copied a moment ago: not again */
};

struct py_outside {
	uint64_t address;
	uint64_t used_ns, used_look; /* when it was last needed */
	bool is_copied;              /* in the newest image */
	unsigned char bytes[PY_FRAME_BYTES_MAX];
};

struct py_cframe { /* of one C-level eval, on the C stack */
	uint64_t address;
	bool is_copied;
	unsigned char bytes[64];
};

struct py_thread {
	uint64_t address; /* of the thread state */
	/* that the interpreter gave it; 0: not known. Another one there is another thread */
	uint64_t number;
	struct py_cost cost;
	struct py_heap *heap; /* owned; 3.8 … 3.10, where nothing of the rest is used */
	size_t n_chunks;
	struct walk_chunk chunks[WALK_CHUNKS]; /* from the root on; bytes owned */
	size_t capacity[WALK_CHUNKS];
	uint64_t top_before, top_after;
	size_t n_at_once;
	size_t reach; /* bytes of the newest chunk that were in use lately, at most */
	size_t usual; /* the same, on average */
	size_t ahead; /* bytes beyond the top just asked for that a look must expect to be in use */
	bool is_asked;  /* the top was asked for before this look */
	bool has_moved; /* during the look, or since that: so it runs */
	/* Of the thread state: newest chunk, top, the current frame or (3.11, 3.12) the cframe. */
	unsigned char fields[512];
	uint64_t look;                               /* which one this is */
	struct py_cframe cframes[PY_THREAD_CFRAMES]; /* 3.11, 3.12: those seen last, newest first */
	size_t n_outside;
	struct py_outside outside[PY_THREAD_OUTSIDE];
};

/* `bytes`: the thread state as it was just read. */
void py_thread_init(
	struct py_thread *t, const struct py_view *v, uint64_t address, const unsigned char *bytes);
void py_thread_done(struct py_thread *t);

enum py_look {
	PY_LOOK_STACK,  /* *ret holds the stack, whole or shortened */
	PY_LOOK_NONE,   /* the thread runs no Python code */
	PY_LOOK_LOST,   /* it does, but nothing of it could be taken */
	PY_LOOK_FAILED, /* its memory could not be read: it ended, or the system call failed */
};

enum py_look py_thread_look(struct py_thread *t, const struct py_view *v, struct walk *ret);

#endif
