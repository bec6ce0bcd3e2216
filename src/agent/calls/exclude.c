/* SPDX-License-Identifier: MIT
 * See exclude.h. */
#include "agent/calls/exclude.h"

#include <stdio.h>

#include "agent/calls/tree.h"
#include "agent/core/codes.h"
#include "agent/lines/line_select.h"

enum { TEXT_MOST = 4096 }; /* bytes of a path, longer ones are cut off */

bool exclude_is_set;

static struct line_select chosen;

bool exclude_set(const char *patterns)
{
	bool fits = leadline_select_init(&chosen, patterns);

	exclude_is_set = chosen.n > 0;
	return fits;
}

bool exclude_means(const char *file, size_t n_file, const char *name, size_t n_name)
{
	char path[TEXT_MOST], called[TEXT_MOST];
	struct line_select_subject subject = { .file = path, .module = "", .name = called };

	if (!exclude_is_set || tree_is_rehearsing()) /* calibration's functions have names, too */
		return false;
	snprintf(path, sizeof path, "%.*s", (int)(n_file < TEXT_MOST ? n_file : TEXT_MOST), file);
	snprintf(called, sizeof called, "%.*s", (int)(n_name < TEXT_MOST ? n_name : TEXT_MOST),
		name);
	return leadline_select_match(&chosen, &subject) != 0;
}

bool exclude_has(const void *code)
{
	const struct function *f = codes_get(code, NULL);

	return f && f->is_excluded;
}
