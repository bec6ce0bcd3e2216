/* SPDX-License-Identifier: MIT
 * See line_wishes.h. */
#include "collect/line_wishes.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

void line_wishes_found(struct line_wishes *w, uint64_t patterns)
{
	w->found |= patterns;
}

bool line_wishes_near(struct line_wishes *w, const void *data, uint32_t n_bytes)
{
	uint32_t i, n = n_bytes - (uint32_t)sizeof i;

	if (n_bytes < sizeof i)
		return false;
	memcpy(&i, data, sizeof i);
	if (i >= LINE_WISHES_MOST || n >= LINE_WISH_NEAR_BYTES)
		return false;
	if (w->near[i][0] == '\0')
		memcpy(w->near[i], (const char *)data + sizeof i, n);
	return true;
}

void line_wishes_tell(const struct line_wishes *w, struct buf *out)
{
	const char *line = w->patterns ? w->patterns : "";

	for (int i = 0; *line && i < LINE_WISHES_MOST; i++) {
		size_t n = strcspn(line, ",\n");

		if (!(w->found >> i & 1))
			buf_printf(out, "--lines=%.*s: no function that matches was called%s%s\n",
				(int)n, line, w->near[i][0] ? "; " : "", w->near[i]);
		line += n + (line[n] != '\0');
	}
}
