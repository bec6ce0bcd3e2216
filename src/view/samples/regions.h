/* SPDX-License-Identifier: MIT
 * Regions the program has named, as a table and as JSON. */
#ifndef VIEW_SAMPLES_REGIONS_H
#define VIEW_SAMPLES_REGIONS_H

struct buf;
struct profile_view;
struct regions;

/* wall_s: of the recording, which the shares are of. */
void regions_print(
	const struct regions *r, double wall_s, const struct profile_view *v, struct buf *out);

#endif
