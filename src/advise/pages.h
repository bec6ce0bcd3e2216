/* SPDX-License-Identifier: MIT
 * The pages of docs/advice, one for each rule of any subject. The build finds them: whatever lies in that folder is in here. */
#ifndef ADVISE_PAGES_H
#define ADVISE_PAGES_H

#include <stddef.h>

struct arena;

struct advice_page {
	const char *rule;
	const char *text; /* Markdown; begins with a heading, the title of the rule's findings */
};

extern const struct advice_page advice_pages[]; /* made by tools/embed.py */
extern const size_t n_advice_pages;

/* NULL: there is no such rule. */
const char *advice_page_find(const char *rule);
/* The heading of a rule's page; the rule's name where it has none. */
const char *advice_page_title(struct arena *a, const char *rule);
/* What it says of a saving that cannot be told; NULL: it can be. */
const char *advice_page_unknown(struct arena *a, const char *rule);

#endif
