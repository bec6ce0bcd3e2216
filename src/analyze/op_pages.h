/* SPDX-License-Identifier: MIT
 * The pages of docs/advice, which go with the rules of op_advice. */
#ifndef ANALYZE_OP_PAGES_H
#define ANALYZE_OP_PAGES_H

#include <stddef.h>

struct op_page {
	const char *rule;
	const char *text; /* Markdown */
};

extern const struct op_page op_pages[]; /* made by tools/embed.py */
extern const size_t n_op_pages;

/* NULL: there is no such rule. */
const char *op_page_find(const char *rule);

#endif
