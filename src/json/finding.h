/* SPDX-License-Identifier: MIT
 * A finding (advise/finding.h) as JSON. */
#ifndef JSON_FINDING_H
#define JSON_FINDING_H

struct finding;
struct json_writer;

/* As an object. */
void finding_json(const struct finding *f, struct json_writer *w);

#endif
