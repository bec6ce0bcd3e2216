/* SPDX-License-Identifier: MIT
 * See analyze/samples/books.h. */
#ifndef JSON_BOOKS_H
#define JSON_BOOKS_H

struct books;
struct json_writer;

/* "books"; of NULL, which are unknown, null. */
void books_json(const struct books *b, struct json_writer *w);

#endif
