/* SPDX-License-Identifier: MIT
 *
 * The bytes of another tool's file, gzip undone, in pieces: as a fill of json_reader_init, line by line, or
 * all at once up to a limit. Bytes looked at (input_head) come again.
 *
 * The file's budget lives here: what gzip unpacks is taken from it, and so is all that readers make of the file. Once it
 * is exceeded no more bytes come, and input_error says why. */
#ifndef FORMATS_INPUT_H
#define FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/buf.h"

struct err;

enum { INPUT_LINE = 1 << 20 }; /* longest line, bytes */

struct input {
	int fd; /* owned */
	struct buf window;
	size_t at; /* of window: what was not handed out yet begins there */
	bool has_ended;
	struct z_stream_s *gzip; /* NULL: plain */
	struct buf raw;          /* gzip: bytes not yet undone */
	uint64_t n_lines;        /* handed out by input_line */
	uint64_t n_bytes;        /* handed out */
	struct budget budget;
	uint64_t n_read; /* as the file has them */
	int sys;         /* errno of a failure to read, or 0 */
	bool is_bad_gzip;
};

/* Takes the descriptor. */
void input_init(struct input *in, int fd);
void input_done(struct input *in);

/* The first bytes, at most n; fewer only where the file is shorter. Borrowed, valid until anything is read. */
const char *input_head(struct input *in, size_t n, size_t *ret_n);

/* Begins again; ERR_SYSTEM where the file cannot (a pipe). */
int input_rewind(struct input *in, struct err *e);

/* For json_reader_init; ctx is the input. */
int input_fill(void *ctx, void *to, size_t n);

/* The next line without its end; 1, 0 at the end, negative on failure (a line too long: ERR_BAD_FILE).
 * Borrowed until the next call, followed by a NUL. */
int input_line(struct input *in, char **ret, size_t *ret_n, struct err *e);

/* All that is left. More than limit_bytes is ERR_BAD_FILE. */
int input_load(struct input *in, struct buf *to, size_t limit_bytes, struct err *e);

/* What a fill that failed has to tell; 0 when none did. */
int input_error(const struct input *in, struct err *e);

#endif
