/* SPDX-License-Identifier: MIT
 *
 * Python objects in somebody's memory: what type one has, and the words in it. The target runs on
 * while we read and may be hostile, so every address is a guess: what is no object of a type that
 * looks like one gives an error, never a crash or an endless loop.
 *
 *	struct objects o;
 *	uint64_t value;
 *
 *	objects_init(&o, &target.mem, &target.layout);
 *	const struct object_type *t = object_type(&o, address);      (NULL: no object)
 *	if (t && object_is(t, TYPE_LIST_SUBCLASS)) …
 *	objects_done(&o);
 *
 * Types are read once and kept: an objects lives for one look at a program, not for its life. */
#ifndef CPYTHON_OBJECT_H
#define CPYTHON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct buf;
struct mem;
struct py_layout;

/* Bits of tp_flags, the same in all versions we know. */
enum object_flags {
	TYPE_INLINE_VALUES = 1 << 2, /* 3.13+ */
	TYPE_MANAGED_DICT = 1 << 4,  /* 3.11+ */
	TYPE_HEAPTYPE = 1 << 9,
	TYPE_LONG_SUBCLASS = 1 << 24,
	TYPE_LIST_SUBCLASS = 1 << 25,
	TYPE_TUPLE_SUBCLASS = 1 << 26,
	TYPE_BYTES_SUBCLASS = 1 << 27,
	TYPE_UNICODE_SUBCLASS = 1 << 28,
	TYPE_DICT_SUBCLASS = 1 << 29,
	TYPE_BASE_EXC_SUBCLASS = 1 << 30,
};
#define TYPE_TYPE_SUBCLASS (1u << 31)

enum { OBJECT_TYPE_NAME = 128 };

struct object_type {
	uint64_t address;
	/* tp_name: "int", "_asyncio.Task"; of classes without module */
	char name[OBJECT_TYPE_NAME];
	uint64_t flags;
	int64_t basicsize, itemsize, dictoffset;
	uint64_t dict;        /* address, or 0 */
	uint64_t base;        /* address of a type, or 0 */
	uint64_t cached_keys; /* of classes: dictkeys that instances share, or 0 */
};

struct objects {
	const struct mem *mem;     /* borrowed */
	const struct py_layout *l; /* borrowed */
	struct map types;          /* address → struct object_type * (0: is none) */
};

void objects_init(struct objects *o, const struct mem *mem, const struct py_layout *l);
void objects_done(struct objects *o);

/* A pointer-sized field; 0 or -errno. */
int object_word(const struct objects *o, uint64_t address, uint32_t offset, uint64_t *ret);

/* A C string of printable characters, cut to the room; false when there is none. */
bool object_c_text(const struct objects *o, uint64_t address, char *to, size_t size);

/* The type of the object there, or NULL. Borrowed until objects_done. */
const struct object_type *object_type(struct objects *o, uint64_t address);
/* The type at this address itself, or NULL when there is none. */
const struct object_type *object_type_at(struct objects *o, uint64_t type);
/* Whether one of its bases (or it) has this tp_name. */
bool object_has_base(struct objects *o, const struct object_type *t, const char *name);

static inline bool object_is(const struct object_type *t, uint64_t flag)
{
	return t->flags & flag;
}

/* Whether it is a type of the interpreter's own (or of a C extension) with exactly this name. */
bool object_is_static(const struct object_type *t, const char *name);

/* Appends "module.Class" as a user knows it; "builtins." is left out. */
void object_type_name(struct objects *o, const struct object_type *t, struct buf *out);

/* The items of a tuple or list, at most `most` of them: how many it has, or -errno. ret: [most]. */
int64_t object_items(struct objects *o, uint64_t address, uint64_t *ret, size_t most);

/* The keys of a set or frozenset, at most `most`: how many were found, or -errno. */
int64_t object_set_items(struct objects *o, uint64_t address, uint64_t *ret, size_t most);

/* An int that fits: 0 or -errno (ERANGE: it does not). */
int object_int(struct objects *o, uint64_t address, int64_t *ret);

#endif
