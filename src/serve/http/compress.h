/* SPDX-License-Identifier: MIT
 *
 * Compressing what is sent, and text that may stand in HTML. */
#ifndef SERVE_HTTP_COMPRESS_H
#define SERVE_HTTP_COMPRESS_H

#include <stddef.h>

struct buf;

enum encoding { ENCODING_NONE, ENCODING_GZIP, ENCODING_ZSTD };

/* The best one an Accept-Encoding header (NULL: none) takes; "q=0" is a refusal. */
enum encoding encoding_choose(const char *accepted);
const char *encoding_name(enum encoding e); /* "gzip"; NULL for none */
void encoding_apply(enum encoding e, const void *p, size_t n, struct buf *out);

void compress_deflate(const void *p, size_t n, struct buf *out); /* without any frame */
void compress_base64(const void *p, size_t n, struct buf *out);

#endif
