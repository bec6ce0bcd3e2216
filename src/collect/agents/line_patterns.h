/* SPDX-License-Identifier: MIT
 *
 * The functions whose lines a user asked for, and which of these wishes came true: a pattern that no
 * process found a function for is told at the end, with what it may have meant. */
#ifndef COLLECT_AGENTS_LINE_PATTERNS_H
#define COLLECT_AGENTS_LINE_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

enum { LINE_PATTERNS_MOST = 64, LINE_WISH_NEAR_BYTES = 400 };

struct line_patterns {
	const char *patterns; /* as in agent/lines/line_select.h, borrowed; NULL: none */
	uint64_t found;       /* a bit each */
	char near[LINE_PATTERNS_MOST][LINE_WISH_NEAR_BYTES]; /* what a process said */
};

/* These patterns, a bit each, chose a function. */
void line_patterns_found(struct line_patterns *w, uint64_t patterns);
/* A record TRACE_RECORD_LINES_NEAR; false when it makes no sense. */
bool line_patterns_near(struct line_patterns *w, const void *data, uint32_t n_bytes);
/* Adds a line for each pattern that chose nothing. */
void line_patterns_tell(const struct line_patterns *w, struct buf *out);

#endif
