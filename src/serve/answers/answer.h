/* SPDX-License-Identifier: MIT
 *
 * Answers: the JSON that the page asks for (docs/PAGE-API.md), one function per name. They wrap analyses and compute
 * nothing; the server sends them, the one-file page holds them. */
#ifndef SERVE_ANSWERS_ANSWER_H
#define SERVE_ANSWERS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct library;
struct params;

/* ERR_NO_FILE: no such answer, recording or function; ERR_USAGE: a parameter is wrong; ERR_UNSUPPORTED: the
 * recording does not say. `out` then holds nothing. */
int answer_make(
	struct library *l, const char *name, struct params *p, struct buf *out, struct err *e);

/* Whether it may take so long that others should not wait for it (slow_answers.h). */
bool answer_takes_long(const struct library *l, const char *name, const struct params *p);

/* Boxes an answer may hold: some 1 MB when compressed. */
enum { ANSWER_BOXES = 40000, ANSWER_FILES = 2000 };

#endif
