/* SPDX-License-Identifier: MIT
 * See svg.h. */
#include "formats/svg.h"

#include <stdint.h>
#include <string.h>

#include "analyze/selection.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

void svg_text(struct buf *out, const char *s, size_t most)
{
	size_t n = strlen(s), used = 0;

	for (size_t at = 0; at < n; used++) {
		uint32_t c;

		at += text_decode(s + at, n - at, &c);
		if (used + 1 == most && at < n)
			c = 0x2026; /* … */
		if (used == most)
			break;
		if (c == '&')
			buf_adds(out, "&amp;");
		else if (c == '<')
			buf_adds(out, "&lt;");
		else if (c == '>')
			buf_adds(out, "&gt;");
		else if (c == '"')
			buf_adds(out, "&quot;");
		else
			text_add_char(
				out, text_is_control(c) || c == 0xfffe || c == 0xffff ? 0xfffd : c);
	}
}

void svg_choice(struct buf *out, const struct selection *s)
{
	struct buf what = BUF_INIT;

	selection_describe(s, &what);
	if (what.n) {
		buf_adds(out, "; ");
		svg_text(out, buf_str(&what), 140);
	}
	buf_done(&what);
}

void svg_begin(struct buf *out, double width, double height, const char *title)
{
	buf_printf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>",
		width, height, width, height);
	svg_text(out, title, SIZE_MAX);
	buf_adds(out,
		"</title>\n<style>text{font-family:'DejaVu Sans Mono',ui-monospace,Consolas,Menlo,monospace;font-size:11px;fill:#111;pointer-"
		"events:none}.t{font-size:14px;font-weight:bold}.d{fill:#555}.b{fill:#fff}rect:hover{stroke:#000;stroke-width:1.5}</style>\n"
		"<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n");
}
