/* SPDX-License-Identifier: MIT
 *
 * Which instruction of Python the calling thread stands at, as a number that is told to the tool once: code object and offset
 * of its innermost frame that is not PyTorch's own, read where they lie. That is safe without the GIL, because the frames
 * are the calling thread's own, which is here and not there, and keep their code objects alive, whose texts never change.
 *
 * A place also has the module of the model that runs there: the innermost call of one among the frames (modules.h).
 *
 * A code object that took a dead one's address and has its file, line table and first line at the same addresses, too,
 * is taken for that one. */
#ifndef AGENT_TORCH_PLACES_H
#define AGENT_TORCH_PLACES_H

#include <stdint.h>

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

enum {
	PLACES_CACHED = 2048, /* a line has one for each module it runs in */
	PLACES_CODES_CACHED = 512,
	PLACES_FRAMES = 64, /* looked at for one that is not torch's, and as many for a module */
};

struct place_key {
	const void *code;
	const void *file, *lines; /* of the code object */
	uint32_t first_line;
	uint32_t offset; /* bytes */
	/* the object, or in tables of all threads its number; NULL: none */
	const void *module;
};

struct place_cached {
	struct place_key key;
	uint32_t number;
	uint32_t age; /* when it was looked up */
};

/* Whose a code object is. As little as tells them apart: one is asked for at each frame on the way to the program's own. */
struct place_owner {
	const void *code;
	/* its co_filename's address, and an enum place_code in its lowest bits */
	uintptr_t file_and_owner;
};

/* One thread's: all zero is empty. */
struct places {
	struct place_cached places[PLACES_CACHED];
	struct place_owner codes[PLACES_CODES_CACHED];
};

/* Where a thread stands: as long as it does, neither changes. */
struct place_mark {
	const void *frame; /* NULL: no Python */
	uintptr_t at;
};

struct place_mark places_mark(void);
/* The number, with OP_IS_REGION where the innermost frame, or the one that called it, is record_function's. 0: no Python there, or too many places. */
uint32_t places_here(struct places *p, const struct place_mark *mark);

/* Modules that run in any thread, the inner ones of each first: a new list. With the GIL; where there is none, those of the calling thread. */
PyObject *places_modules(void);

/* The folder torch lies in, without a slash at its end; borrowed for good. */
void places_set_torch(const char *folder);
/* In a forked child. */
void places_forget(void);

#pragma GCC visibility pop

#endif
