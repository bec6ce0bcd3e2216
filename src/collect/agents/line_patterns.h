/* SPDX-License-Identifier: MIT
 *
 * The functions whose lines a user asked for, and which of these wishes came true: a pattern that no
 * process found a function for is told at the end, with what it may have meant. */
#ifndef COLLECT_LINE_WISHES_H
#define COLLECT_LINE_WISHES_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { LINE_WISHES_MOST = 64, LINE_WISH_NEAR_BYTES = 400 };

struct line_wishes {
	const char *patterns; /* as in agent/select.h, borrowed; NULL: none */
	uint64_t found;       /* a bit each */
	char near[LINE_WISHES_MOST][LINE_WISH_NEAR_BYTES]; /* what a process said */
};

/* These patterns, a bit each, chose a function. */
void line_wishes_found(struct line_wishes *w, uint64_t patterns);
/* A record TRACE_RECORD_LINES_NEAR; false when it makes no sense. */
bool line_wishes_near(struct line_wishes *w, const void *data, uint32_t n_bytes);
/* Adds a line for each pattern that chose nothing. */
void line_wishes_tell(const struct line_wishes *w, struct buf *out);

#endif
