/* SPDX-License-Identifier: MIT
 * See page.h. */
#include "serve/page.h"

#include <string.h>

#include "base/buf.h"
#include "base/banned.h"

/* The mark that stands at p, NULL: none. */
static const char *mark_at(const char *p, size_t n, const char *const *marks, size_t n_marks)
{
	for (size_t i = 0; i < n_marks; i++)
		if (n >= strlen(marks[i]) && memcmp(p, marks[i], strlen(marks[i])) == 0)
			return marks[i];
	return NULL;
}

void page_fill(
	const char *nonce, const char *head, const char *data, size_t n_data, struct buf *out)
{
	static const char *const marks[] = { "LEADLINE-NONCE", "<!--LEADLINE-HEAD-->",
		"<!--LEADLINE-DATA-->" };
	const char *html = (const char *)page_html;

	for (size_t i = 0; i < n_page_html; i++) {
		const char *mark = html[i] == 'L' || html[i] == '<'
			? mark_at(html + i, n_page_html - i, marks, 3)
			: NULL;

		if (!mark) {
			buf_addc(out, html[i]);
			continue;
		}
		if (mark == marks[0])
			buf_adds(out, nonce);
		else if (mark == marks[1])
			buf_adds(out, head);
		else
			buf_add(out, data, n_data);
		i += strlen(mark) - 1;
	}
}

void page_policy(const char *nonce, const char *connect, struct buf *out)
{
	if (!nonce) {
		buf_adds(out, "default-src 'none'; base-uri 'none'; form-action 'none'");
		return;
	}
	buf_printf(out,
		"default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src %s; "
		"img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'",
		nonce, nonce, connect);
}
