/* SPDX-License-Identifier: MIT
 *
 * JSON writer: appends to a buffer as it is told, keeps nothing but the nesting. One writer writes
 * one value (usually an object); for one value per line, call json_init again for each. The writer
 * owns nothing and has no json_done; the buffer is borrowed until the value is complete.
 *
 * The output is always valid RFC 8259 in UTF-8: invalid UTF-8 in strings becomes U+FFFD, NaN and
 * infinities become null, other doubles the shortest of %.15g, %.16g and %.17g that reads back as
 * the same double, integers all their digits. Calls in an order that is no JSON (a value without
 * its key, an end that does not match, deeper than JSON_WRITE_DEPTH) are programmer errors: assert.
 * Pretty output is indented by two blanks and has no newline at its end.
 *
 *	struct json_writer w;
 *
 *	json_init(&w, &out, true);
 *	json_object_begin(&w);
 *	json_kv_string(&w, "name", "train.py");
 *	json_key(&w, "samples");
 *	json_array_begin(&w);
 *	json_u64(&w, 12);
 *	json_array_end(&w);
 *	json_object_end(&w);
 *	assert(json_is_complete(&w));
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { JSON_WRITE_DEPTH = 256 };

struct json_writer {
	struct buf *out; /* borrowed */
	bool pretty;
	bool ascii;     /* everything else is escaped */
	bool is_begun;  /* the one value has begun */
	bool has_key;   /* a key waits for its value */
	unsigned depth; /* containers open */
	struct {
		bool is_object, has_items;
	} levels[JSON_WRITE_DEPTH]; /* of the open containers, outermost first */
};

void json_init(struct json_writer *w, struct buf *out, bool pretty);
/* Of results, which are printed: ASCII where a terminal would get no more (base/tty.h). It reads back as the same. */
void json_init_shown(struct json_writer *w, struct buf *out, bool pretty);
bool json_is_complete(const struct json_writer *w); /* a value was written and all is closed */

void json_object_begin(struct json_writer *w);
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w);
void json_array_end(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);

void json_string(struct json_writer *w, const char *s); /* NULL writes null */
void json_string_n(struct json_writer *w, const char *s, size_t n);
void json_u64(struct json_writer *w, uint64_t value);
void json_i64(struct json_writer *w, int64_t value);
void json_double(struct json_writer *w, double value);
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);

/* Key and value in one. */
void json_kv_string(struct json_writer *w, const char *key, const char *s);
void json_kv_u64(struct json_writer *w, const char *key, uint64_t value);
void json_kv_i64(struct json_writer *w, const char *key, int64_t value);
void json_kv_double(struct json_writer *w, const char *key, double value);
void json_kv_bool(struct json_writer *w, const char *key, bool value);

#endif
