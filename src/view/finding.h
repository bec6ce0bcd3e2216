/* SPDX-License-Identifier: MIT
 * Findings (analyze/finding.h) for a terminal, and one of them as JSON. */
#ifndef VIEW_FINDING_H
#define VIEW_FINDING_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct finding;
struct json_writer;

/* Numbered from 1: the title, below it the place, evidence, change and saving, and what shows it; in the end what the levels mean. Nothing where there are none. */
void findings_print(const struct finding *v, size_t n, bool colour, size_t width, struct buf *out);

/* As an object; its keys stand in leadline-report(1). */
void finding_json(const struct finding *f, struct json_writer *w);

#endif
