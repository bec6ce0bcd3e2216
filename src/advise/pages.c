/* SPDX-License-Identifier: MIT
 * See pages.h. */
#include "advise/pages.h"

#include <string.h>

#include "base/arena.h"
#include "base/banned.h"

const char *advice_page_find(const char *rule)
{
	for (size_t i = 0; i < n_advice_pages; i++)
		if (strcmp(advice_pages[i].rule, rule) == 0)
			return advice_pages[i].text;
	return NULL;
}

const char *advice_page_title(struct arena *a, const char *rule)
{
	const char *page = advice_page_find(rule);

	if (!page || strncmp(page, "# ", 2) != 0)
		return rule;
	return arena_strndup(a, page + 2, strcspn(page + 2, "\n"));
}

const char *advice_page_unknown(struct arena *a, const char *rule)
{
	static const char head[] = "**What it can bring:** ";
	const char *page = advice_page_find(rule), *at = page ? strstr(page, head) : NULL;
	char *text;
	size_t n;

	if (!at ||
		strncmp(at += sizeof head - 1, "Not ", 4) != 0) /* "Not known", "Not time but …" */
		return NULL;
	n = strcspn(at, "\n");
	text = arena_strndup(a, at, n && at[n - 1] == '.' ? n - 1 : n);
	*text = 'n'; /* within a sentence */
	return text;
}
