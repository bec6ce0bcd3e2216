/* SPDX-License-Identifier: MIT
 *
 * Where a writer of a format puts its bytes: a buffer that is written out whenever it has grown to
 * SINK_BYTES, plain or as gzip, so that a file of any length needs no more memory than that. Append to
 * `text` with buf_… or a json_writer and call sink_flush now and then (each item will do). */
#ifndef FORMATS_SINK_H
#define FORMATS_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct format_options;

enum { SINK_BYTES = 256 << 10 };

struct sink {
	struct buf text;
	const struct format_options *options; /* how it is to look; never NULL, borrowed */
	int fd;                               /* borrowed; −1: all stays in text (tests) */
	uint64_t n_written;
	struct err error; /* the first failure; what comes later is dropped */
	struct z_stream_s *gzip;
	struct buf packed;
};

void sink_init(struct sink *s, int fd);
/* What is missing of the recording, for a comment in the file; "" nothing. */
const char *sink_damage(const struct sink *s);
/* From here on what is written is compressed; nothing may have been written before. */
void sink_gzip(struct sink *s);
/* Writes out when there is enough. */
void sink_flush(struct sink *s);
/* Writes out all of it; reports the first failure. */
int sink_finish(struct sink *s, struct err *e);
void sink_done(struct sink *s);

/* Digits, past printf and the json_writer: nearly all of a long file is these. `before` stands in front of them. */
void sink_add_u64(struct buf *out, char before, uint64_t value);
/* value / 10^decimals: 1234567 and 3 is "1234.567"; no zeros at its end. */
void sink_add_fixed(struct buf *out, char before, uint64_t value, unsigned decimals);

#endif
