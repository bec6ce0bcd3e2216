/* SPDX-License-Identifier: MIT
 * All formats, as formats.def lists them. */
#include "formats/format.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

const struct format *const formats[] = {
#define FORMAT(name) &format_##name,
#include "formats/formats.def"
#undef FORMAT
};
const size_t n_formats = sizeof formats / sizeof *formats;

const struct format_options format_defaults = {
	.graph = { .node_share = 0.005, .edge_share = 0.001 },
	.colormap = "color",
	.skew = 1,
};

void formats_list(struct buf *out)
{
	for (size_t i = 0; i < n_formats; i++)
		if (formats[i]->write)
			buf_printf(out, "%s%s", out->n ? ", " : "", formats[i]->name);
}

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < n_formats; i++)
		if (strcmp(formats[i]->name, name) == 0 ||
			(formats[i]->alias && strcmp(formats[i]->alias, name) == 0))
			return formats[i];
	return NULL;
}

const struct format *format_for_path(const char *path)
{
	const struct format *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < n_formats; i++)
		for (size_t k = 0; formats[i]->write && k < 4 && formats[i]->suffixes[k]; k++) {
			const char *suffix = formats[i]->suffixes[k];

			if (strlen(suffix) > longest && text_ends_with(path, suffix)) {
				found = formats[i];
				longest = strlen(suffix);
			}
		}
	return found;
}
