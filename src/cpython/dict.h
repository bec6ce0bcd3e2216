/* SPDX-License-Identifier: MIT
 *
 * Python dicts and the attributes of instances, in somebody's memory. How a dict lies there changed
 * with nearly every version:
 *
 *	3.8 … 3.10   keys: a hash table of indices, then entries of hash, key, value. With `values` the
 *	             values are an array of their own, beside keys that all instances of a class share.
 *	3.11+        entries of key and value alone where all keys are str (kind 1, and 2 for shared ones)
 *	3.11         an instance has no dict at first: a pointer to its values lies 4 words before it, one
 *	             to its dict 3 words before it
 *	3.12         one pointer for both, 3 words before it; bit 0 says that it is values
 *	3.13+        the values lie inside the instance, behind its basic size, until `valid` is 0; the
 *	             pointer to a dict is 3 words before it (free-threaded builds: 1)
 *
 * Look-ups compare keys one by one, because hashes of str are salted. */
#ifndef CPYTHON_DICT_H
#define CPYTHON_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct objects;

enum { DICT_ENTRIES_MOST = 1 << 20 };

/* Called per item; false ends the loop. */
typedef bool dict_visitor(void *ctx, uint64_t key, uint64_t value);

/* All items of a dict or a subclass's instance: 0, or -errno when it is none. */
int dict_each(struct objects *o, uint64_t dict, dict_visitor *visit, void *ctx);

/* How many items it says to have, or -errno. */
int64_t dict_length(struct objects *o, uint64_t dict);

/* The value of a str key: 0, or -errno (ENOENT: there is none). */
int dict_find(struct objects *o, uint64_t dict, const char *key, uint64_t *ret_value);

/* The attributes of an instance or module, without those of its class. */
int attribute_each(struct objects *o, uint64_t object, dict_visitor *visit, void *ctx);
int attribute_find(struct objects *o, uint64_t object, const char *name, uint64_t *ret_value);

#endif
