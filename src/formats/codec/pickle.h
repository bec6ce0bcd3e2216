/* SPDX-License-Identifier: MIT
 *
 * The part of Python's pickle format that line_profiler's files are made of: numbers, strings, tuples, lists, dicts,
 * and one object of a class the caller allows, whose state is a dict. No class is looked up, nothing is called: an
 * instruction beyond that list, or another class, is an error. Protocols 2 to 5. */
#ifndef FORMATS_CODEC_PICKLE_H
#define FORMATS_CODEC_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

enum pickle_kind {
	PICKLE_NONE,
	PICKLE_INT, /* booleans too */
	PICKLE_FLOAT,
	PICKLE_STRING,
	PICKLE_TUPLE,
	PICKLE_LIST,
	PICKLE_DICT,   /* items: key, value, key, value … */
	PICKLE_CLASS,  /* of the allowed one */
	PICKLE_OBJECT, /* items: its state, once it is built */
	PICKLE_MARK,
};

struct pickle_value {
	enum pickle_kind kind;
	uint32_t n, capacity; /* bytes of a string, items of the others */
	union {
		int64_t integer;
		double real;
		const char *text; /* not ended by NUL, borrowed */
		struct pickle_value **items;
	};
};

typedef bool pickle_class_fn(const char *module, size_t n_module, const char *name, size_t n_name);

/* What bytes[0..n) describe; shared parts are one value, so who walks it bounds the walk himself. ERR_BAD_FILE
 * names the byte. */
int pickle_parse(struct arena *a, const void *bytes, size_t n, pickle_class_fn *is_allowed,
	const struct pickle_value **ret, struct err *e);

/* The value of a dict's key, or NULL. */
const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key);

#endif
