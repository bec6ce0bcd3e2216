/* SPDX-License-Identifier: MIT
 * What functions were called with, as a table and as JSON. */
#ifndef VIEW_CALLS_ARGUMENTS_H
#define VIEW_CALLS_ARGUMENTS_H

struct arguments;
struct buf;
struct profile_view;

void arguments_print(const struct arguments *a, const struct profile_view *v, struct buf *out);

#endif
