/* SPDX-License-Identifier: MIT
 *
 * Marked regions and the steps of a training that the program told, as JSON. */
#ifndef JSON_REGIONS_H
#define JSON_REGIONS_H

struct json_writer;
struct regions;
struct training;

/* "regions" */
void regions_json(const struct regions *r, struct json_writer *w);
/* "training" */
void training_json(const struct training *t, struct json_writer *w);

#endif
