/* SPDX-License-Identifier: MIT
 *
 * Python's str objects as UTF-8, out of somebody's memory. */
#ifndef CPYTHON_STRINGS_H
#define CPYTHON_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct mem;
struct py_layout;

/* Appends the text of the str at this address. At most limit_chars are read, a longer one is
 * refused. Bytes that Python kept as lone surrogates (file names that are not UTF-8) become these
 * bytes again; other lone surrogates become U+FFFD.
 *
 * 0, or -errno and nothing appended: EINVAL when there is no str (nor a subclass's instance, whose
 * text lies elsewhere), E2BIG when it is too long, else what reading gave. The type is not looked
 * at: the caller knows what it follows. */
int strings_read(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, struct buf *out);

/* As strings_read, but a longer one gives its first limit_chars, and instances of subclasses will do.
 * *ret_length: characters of all of it. */
int strings_read_start(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, struct buf *out, uint64_t *ret_length);

/* As strings_read, but of a name: one that is longer is cut as wire/name.h says, and NUL, at which texts end in C, is U+2400. */
int strings_read_name(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t most_chars, struct buf *out);

#endif
