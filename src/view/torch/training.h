/* SPDX-License-Identifier: MIT
 * The numbers of a training, in a few words and as JSON. */
#ifndef VIEW_TORCH_TRAINING_H
#define VIEW_TORCH_TRAINING_H

struct buf;
struct profile_view;
struct training;

void training_print(const struct training *t, const struct profile_view *v, struct buf *out);

#endif
