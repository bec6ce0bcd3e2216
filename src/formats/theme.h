/* SPDX-License-Identifier: MIT
 *
 * The colours of call graphs: gprof2dot's colour maps, by their names, so that its users find their picture
 * again. A weight is a share, 0 to 1. */
#ifndef FORMATS_THEME_H
#define FORMATS_THEME_H

#include <stdbool.h>

enum { THEME_COLOUR = 8 };

struct theme {
	const char *name;
	double min[3], max[3]; /* hue, saturation, lightness */
	double gamma;
	double min_font, max_font; /* points */
	double min_pen, max_pen;
	const char *font_colour, *style;
	bool is_filled;
};

/* NULL: there is none of that name. */
const struct theme *theme_find(const char *name);
/* "#rrggbb"; skew 1: even; returns `to`. */
const char *theme_colour(const struct theme *t, double weight, double skew, char to[THEME_COLOUR]);
double theme_font(const struct theme *t, double weight);
double theme_pen(const struct theme *t, double weight);

#endif
