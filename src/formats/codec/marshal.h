/* SPDX-License-Identifier: MIT
 *
 * The part of Python's marshal format that profiles are made of: None, booleans, integers, floats, strings,
 * tuples, lists and dicts, in all versions that Python 3 (and 2) wrote, references included. Anything
 * else, code objects above all, is refused. Reading executes nothing and believes no length. */
#ifndef FORMATS_CODEC_MARSHAL_H
#define FORMATS_CODEC_MARSHAL_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct err;

enum { MARSHAL_DEPTH = 16 };

enum marshal_kind {
	MARSHAL_NONE,
	MARSHAL_INT,   /* booleans too */
	MARSHAL_FLOAT, /* integers that do not fit, too */
	MARSHAL_STRING,
	MARSHAL_TUPLE, /* lists too */
	MARSHAL_DICT,  /* items: key, value, key, value … */
};

struct marshal_value {
	enum marshal_kind kind;
	uint32_t n; /* bytes of a string, items of a tuple or dict (keys and values) */
	union {
		int64_t integer;
		double real;
		const char *text; /* not ended by NUL; as in the file, or in the arena */
		const struct marshal_value *const *items;
	};
};

/* The one value that bytes[0..n) holds; strings are borrowed from them. A shared part is one value: who
 * walks it must bound the walk himself. ERR_BAD_FILE names the byte. */
int marshal_parse(struct arena *a, const void *bytes, size_t n, const struct marshal_value **ret,
	struct err *e);

/* Version 2, which every Python since 2.5 reads. A dict is marshal_dict_begin, keys and values in turn, and
 * marshal_dict_end; a tuple its head and so many items. */
void marshal_dict_begin(struct buf *out);
void marshal_dict_end(struct buf *out);
void marshal_tuple(struct buf *out, uint32_t n_items);
void marshal_string(struct buf *out, const char *s);
void marshal_int(struct buf *out, uint64_t value);
void marshal_float(struct buf *out, double value);

#endif
