/* SPDX-License-Identifier: MIT
 * All formats, alphabetical. */
#include "formats/format.h"

#include <string.h>

#include "formats/collapsed.h"
#include "base/banned.h"

const struct format *const formats[] = {
	&format_collapsed,
};
const size_t n_formats = sizeof formats / sizeof *formats;

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < n_formats; i++)
		if (strcmp(formats[i]->name, name) == 0 ||
			(formats[i]->alias && strcmp(formats[i]->alias, name) == 0))
			return formats[i];
	return NULL;
}
