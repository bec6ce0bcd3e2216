/* SPDX-License-Identifier: MIT
 * What the pages of profile.h share. */
#ifndef VIEW_PROFILE_PARTS_H
#define VIEW_PROFILE_PARTS_H

#include <stddef.h>

#include "base/units.h"

struct buf;
struct profile;
struct profile_view;
struct table;

/* The heading of a column of values: "time", "bytes", "count". */
const char *profile_unit(enum unit unit);
/* "file:line", without the line where that is not known (0). */
void profile_cell_place(
	struct table *t, const struct profile_view *v, const char *file, unsigned line);

/* Of all time that was sampled, lost samples included. */
double profile_share(const struct profile *p, double seconds);
/* The path as a reader knows it: from the program's folder or the module's root on. */
const char *profile_path(const struct profile_view *v, const char *file);
/* "Functions, on a CPU": a blank line and the heading in bold. */
void profile_title(const struct profile_view *v, const char *title, struct buf *out);
size_t profile_rows(const struct profile_view *v, size_t n);
/* "… and 12 more" where not all were shown. */
void profile_more(const struct profile_view *v, size_t shown, size_t all, struct buf *out);

#endif
