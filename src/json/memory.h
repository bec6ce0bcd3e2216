/* SPDX-License-Identifier: MIT
 *
 * Sampled allocations as JSON. */
#ifndef JSON_MEMORY_H
#define JSON_MEMORY_H

struct json_writer;
struct memory;
struct profile;
struct recording;
struct selection;

/* Keys of the whole: peak, end, allocated, curve, processes. */
void memory_json(struct recording *r, const struct memory *m, struct json_writer *w);
/* One object: what was chosen of it, by function and line; the rows are those of the profile. */
void memory_view_json(const struct selection *s, const struct profile *rows, struct json_writer *w);

#endif
