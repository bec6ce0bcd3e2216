/* SPDX-License-Identifier: MIT
 *
 * What works here and what does not, as JSON. */
#ifndef JSON_DOCTOR_H
#define JSON_DOCTOR_H

struct doctor;
struct json_writer;

void doctor_json(const struct doctor *d, struct json_writer *w);

#endif
