/* SPDX-License-Identifier: MIT
 *
 * What an instruction's argument means, in the words of the dis module of its interpreter; jump targets as "to OFFSET"
 * in all versions. */
#ifndef CPYTHON_ARGUMENT_H
#define CPYTHON_ARGUMENT_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct instruction;
struct opcodes;

struct words {
	const char *const *v; /* an entry may be NULL: not known */
	size_t n;
};

struct code_words {          /* of one code object */
	struct words consts; /* their repr */
	struct words names;
	struct words locals; /* 3.11+: co_localsplusnames, which the others index, too */
	struct words frees;  /* up to 3.10: cell variables, then free ones */
};

/* The n-th word, or NULL when it is not known. */
const char *words_get(const struct words *w, size_t n);

/* The symbol of a BINARY_OP, or of BINARY_ADD and its like: "+", "+=", "[]"; NULL: none. */
const char *argument_operator(const struct opcodes *o, const struct instruction *i);
/* "<", "==", "not in"; NULL: none. */
const char *argument_comparison(const struct opcodes *o, const struct instruction *i);
/* The name it loads, stores or deletes: an attribute, a global, a local; NULL: none, or not known. */
const char *argument_name(
	const struct opcodes *o, const struct instruction *i, const struct code_words *w);

/* Appends nothing when there is nothing to say beyond the number. */
void argument_format(const struct opcodes *o, const struct instruction *i,
	const struct code_words *w, struct buf *out);

#endif
