/* SPDX-License-Identifier: MIT
 *
 * The page itself (ui/), one HTML file that travels inside the executable, and what is put into its marks
 * (docs/PAGE-API.md). Written by tools/embed.py. */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include <stddef.h>

struct buf;

extern const unsigned char page_html[];
extern const size_t n_page_html;

/* nonce: of scripts and styles; head, data: what stands in the two marks, "" nothing. */
void page_fill(
	const char *nonce, const char *head, const char *data, size_t n_data, struct buf *out);
/* The policy a browser holds the page to; connect: where scripts may fetch from, "'self'" or "'none'". nonce NULL: of what is
 * no page, where nothing runs. */
void page_policy(const char *nonce, const char *connect, struct buf *out);

#endif
