/* SPDX-License-Identifier: MIT
 * What the pages of profile.h share. */
#ifndef VIEW_SAMPLES_PROFILE_PARTS_H
#define VIEW_SAMPLES_PROFILE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"
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

/* Of a corrected time (exact.h): "4.1 %", half of it as a part of its middle; of what is known by its bounds only those, "3.1–28 ms". */
enum { PROFILE_INTERVAL_TEXT = 64 };
const char *profile_interval_text(
	char text[PROFILE_INTERVAL_TEXT], struct interval of, bool is_bound);
void profile_cell_interval(struct table *t, struct interval of, bool is_bound);

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
