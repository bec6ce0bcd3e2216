/* SPDX-License-Identifier: MIT
 * Findings (advise/finding.h) for a terminal. */
#ifndef VIEW_FINDING_H
#define VIEW_FINDING_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct finding;

/* Numbered from 1: the title, below it the place, evidence, change and saving, and what shows it; in the end what the levels mean. Nothing where there are none. */
void findings_print(const struct finding *v, size_t n, bool colour, size_t width, struct buf *out);

#endif
