/* SPDX-License-Identifier: MIT
 *
 * Answers that take long are made by a process beside the server, which goes on answering meanwhile. It is a copy of the
 * server, made when the first such answer is asked for: it has all recordings, and shares their memory until it changes it.
 * It stays, and keeps what it has made for later questions; one question comes after the other.
 *
 *	struct slow_answers *b = slow_answers_new(base, &library);
 *	slow_answers_ask(b, "diff", "r=0&with=1", ENCODING_GZIP, done, ctx);     done(ctx, …) is called by the event loop
 *	slow_answers_free(b);
 */
#ifndef SERVE_ANSWERS_SLOW_ANSWERS_H
#define SERVE_ANSWERS_SLOW_ANSWERS_H

#include <stddef.h>

#include "serve/http/compress.h"

struct slow_answers;
struct event_base;
struct library;

/* code: 0, the text is the answer, compressed as asked for; else an enum err_code, the text is one line. */
typedef void slow_answers_fn(void *ctx, int code, const void *text, size_t n);

/* Both are borrowed. */
struct slow_answers *slow_answers_new(struct event_base *base, struct library *l);
void slow_answers_free(
	struct slow_answers *b); /* accepts NULL; questions not answered yet are told so */

/* The question as params_parse takes it, NULL when there is nothing to say. */
void slow_answers_ask(struct slow_answers *b, const char *name, const char *query,
	enum encoding encoding, slow_answers_fn *done, void *ctx);

#endif
