/* SPDX-License-Identifier: MIT
 * See line_patterns.h. */
#include "collect/agents/line_patterns.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

void line_patterns_found(struct line_patterns *w, uint64_t patterns)
{
	w->found |= patterns;
}

bool line_patterns_near(struct line_patterns *w, const void *data, uint32_t n_bytes)
{
	uint32_t i, n = n_bytes - (uint32_t)sizeof i;

	if (n_bytes < sizeof i)
		return false;
	memcpy(&i, data, sizeof i);
	if (i >= LINE_PATTERNS_MOST || n >= LINE_WISH_NEAR_BYTES)
		return false;
	if (w->near[i][0] == '\0')
		memcpy(w->near[i], (const char *)data + sizeof i, n);
	return true;
}

void line_patterns_tell(const struct line_patterns *w, struct buf *out)
{
	const char *line = w->patterns ? w->patterns : "";

	for (int i = 0; *line && i < LINE_PATTERNS_MOST; i++) {
		size_t n = strcspn(line, ",\n");

		if (!(w->found >> i & 1))
			buf_printf(out, "--lines=%.*s: no function that matches was called%s%s\n",
				(int)n, line, w->near[i][0] ? "; " : "", w->near[i]);
		line += n + (line[n] != '\0');
	}
}
