/* SPDX-License-Identifier: MIT
 * The numbers of a training, in a few words and as JSON. */
#ifndef VIEW_TRAINING_H
#define VIEW_TRAINING_H

struct buf;
struct json_writer;
struct profile_view;
struct training;

void training_print(const struct training *t, const struct profile_view *v, struct buf *out);
/* A key and its value in an object that is open. */
void training_json(const struct training *t, struct json_writer *w);

#endif
