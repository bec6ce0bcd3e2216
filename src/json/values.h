/* SPDX-License-Identifier: MIT
 *
 * What all results share: the names of units, and how values are written. docs/JSON.md is the manual of all results.
 *
 * A function *_json writes keys into an object that the caller opened; one named *_rows an array. */
#ifndef JSON_VALUES_H
#define JSON_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_write.h"
#include "base/units.h"

/* What a command prints: one object, and a newline. */
void json_page_begin(struct json_writer *w, struct buf *out);
void json_page_end(struct json_writer *w);

/* "s", "bytes", "count" or "share". */
const char *unit_json_name(enum unit unit);
/* "unit" and "total", what shares are of. */
void total_json(enum unit unit, double total, struct json_writer *w);
/* Whole nanoseconds of a second, which are short: for columns of many values. */
void short_json(double value, struct json_writer *w);
/* null where it is not known. */
void known_i64_json(const char *key, bool is_known, int64_t value, struct json_writer *w);
/* null where it is "". */
void text_json(const char *key, const char *text, struct json_writer *w);

#endif
