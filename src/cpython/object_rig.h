/* SPDX-License-Identifier: MIT
 *
 * For tests: a small memory with Python objects in it, laid out as any row of versions.c says. */
#ifndef CPYTHON_OBJECT_RIG_H
#define CPYTHON_OBJECT_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "cpython/layout_rows.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "wire/py_layout.h"

enum { IMAGE_BASE = 0x10000, IMAGE_BYTES = 1 << 16 };

struct image {
	unsigned char bytes[IMAGE_BYTES]; /* at the address IMAGE_BASE */
	uint64_t used;                    /* next free address */
	struct py_layout l;
	struct mem mem;
	struct objects o;
	uint64_t type, int_type, str_type, list_type, tuple_type, dict_type, set_type, float_type,
		none_type;
};

void image_init(struct image *m, const struct layout_row *row);
void image_done(struct image *m);

uint64_t image_alloc(struct image *m, size_t n);
void image_put(struct image *m, uint64_t address, const void *from, size_t n);
void image_put_u64(struct image *m, uint64_t address, uint64_t value);

/* flags: of enum object_flags. */
uint64_t image_type(struct image *m, const char *name, uint64_t flags, size_t basicsize);
uint64_t image_object(struct image *m, uint64_t type, size_t n);
uint64_t image_int(struct image *m, int64_t value); /* of at most 30 bits */
uint64_t image_str(struct image *m, const char *ascii);
uint64_t image_list(struct image *m, const uint64_t *items, size_t n);
/* Keys and values alternate. Keys of a dict of str keys only are kept without hashes from 3.11 on. */
uint64_t image_keys(struct image *m, const uint64_t *pairs, size_t n, int only_str);
uint64_t image_dict(struct image *m, const uint64_t *pairs, size_t n, int only_str);
/* An instance of a class made here, with these attributes, as the version keeps them at first. */
uint64_t image_instance(struct image *m, const char *class, const uint64_t *pairs, size_t n);

#endif
