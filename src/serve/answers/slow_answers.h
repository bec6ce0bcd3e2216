/* SPDX-License-Identifier: MIT
 *
 * Answers that take long are made by a process beside the server, which goes on answering meanwhile. It is a copy of the
 * server, made when the first such answer is asked for: it has all recordings, and shares their memory until it changes it.
 * It stays, and keeps what it has made for later questions; one question comes after the other.
 *
 *	struct beside *b = beside_new(base, &library);
 *	beside_ask(b, "diff", "r=0&with=1", ENCODING_GZIP, done, ctx);     done(ctx, …) is called by the event loop
 *	beside_free(b);
 */
#ifndef SERVE_BESIDE_H
#define SERVE_BESIDE_H

#include <stddef.h>

#include "serve/compress.h"

struct beside;
struct event_base;
struct library;

/* code: 0, the text is the answer, compressed as asked for; else an enum err_code, the text is one line. */
typedef void beside_fn(void *ctx, int code, const void *text, size_t n);

/* Both are borrowed. */
struct beside *beside_new(struct event_base *base, struct library *l);
void beside_free(struct beside *b); /* accepts NULL; questions not answered yet are told so */

/* The question as params_parse takes it, NULL when there is nothing to say. */
void beside_ask(struct beside *b, const char *name, const char *query, enum encoding encoding,
	beside_fn *done, void *ctx);

#endif
