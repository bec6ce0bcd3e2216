/* SPDX-License-Identifier: MIT
 * The page `pprof -text` prints, for those who read it daily (and their scripts): the same head, units,
 * percentages and order. */
#ifndef VIEW_SAMPLES_PPROF_TEXT_H
#define VIEW_SAMPLES_PPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

struct buf;
struct by_name;

struct pprof_text {
	const char *program; /* its last word of a path stands behind File: */
	const char *type;    /* "wall", "cpu" */
	const char *comment; /* what was chosen and left out; "" nothing */
	enum unit unit;
	uint64_t begun_ns;    /* realtime; 0: not known */
	uint64_t duration_ns; /* 0: not known */
	size_t limit;         /* rows; 0: all */
};

void pprof_text_print(const struct pprof_text *p, const struct by_name *rows, struct buf *out);

#endif
