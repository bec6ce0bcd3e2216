/* SPDX-License-Identifier: MIT
 * See op_pages.h. */
#include "analyze/op_pages.h"

#include <string.h>

#include "base/banned.h"

const char *op_page_find(const char *rule)
{
	for (size_t i = 0; i < n_op_pages; i++)
		if (strcmp(op_pages[i].rule, rule) == 0)
			return op_pages[i].text;
	return NULL;
}
