/* SPDX-License-Identifier: MIT
 *
 * Lines with what was sampled or counted of them, as JSON. */
#ifndef JSON_LINES_H
#define JSON_LINES_H

#include <stddef.h>

struct exact_line;
struct exact_lines;
struct exact_lines_function;
struct json_writer;
struct profile;
struct profile_line;

/* What is known of a line, without the names of its function and its file. */
void line_json(const struct profile *p, const struct profile_line *l, struct json_writer *w);
void counted_line_json(const struct exact_lines *of, const struct exact_lines_function *f,
	const struct exact_line *l, struct json_writer *w);

/* At most n rows from `first` on. */
void lines_json_rows(const struct profile *p, size_t first, size_t n, struct json_writer *w);
/* A row of a line that was counted; all of them in the order of files, at most n. */
void counted_lines_json_row(const struct exact_lines *of, const struct exact_lines_function *f,
	const struct exact_line *l, struct json_writer *w);
void counted_lines_json_rows(const struct exact_lines *l, size_t n, struct json_writer *w);

#endif
