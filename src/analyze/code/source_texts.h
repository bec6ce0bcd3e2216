/* SPDX-License-Identifier: MIT
 *
 * Texts: the source files a recording holds, by lines. */
#ifndef ANALYZE_CODE_SOURCE_TEXTS_H
#define ANALYZE_CODE_SOURCE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;
struct source_texts;

struct text_line {
	const char *p; /* borrowed, not ended by NUL; NULL: the recording has no such line */
	size_t n;      /* bytes, without the line end */
};

/* Reads all source records; lives in the arena. */
struct source_texts *source_texts_load(struct arena *a, struct tables *t);

/* A text from elsewhere, for a file that has none; copied. */
void source_texts_put(struct source_texts *t, const char *file, const char *text, size_t n);

/* `file`: the pointer a frame has, or an equal text. Lines count from 1. */
struct text_line source_texts_line(const struct source_texts *t, const char *file, int line);
/* Lines of the file; 0 when its text is not there. */
size_t source_texts_n_lines(const struct source_texts *t, const char *file);
/* Why a text is missing, or what to know about one that is there ("changed after the program started");
 * "" when there is nothing to say. */
const char *source_texts_note(const struct source_texts *t, const char *file);

#endif
