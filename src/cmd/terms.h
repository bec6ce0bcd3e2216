/* SPDX-License-Identifier: MIT
 * Words explained by `leadline help WORD`. */
#ifndef CMD_TERMS_H
#define CMD_TERMS_H

#include <stddef.h>

struct term {
	const char *word, *aliases; /* aliases: with blanks between them, or NULL */
	const char *text;
};

extern const struct term terms[];
extern const size_t n_terms;

const struct term *term_find(const char *word); /* any case; NULL: there is none */

#endif
