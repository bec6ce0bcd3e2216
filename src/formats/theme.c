/* SPDX-License-Identifier: MIT
 * See theme.h. */
#include "formats/theme.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const struct theme themes[] = {
	{ "color", { 2.0 / 3, 0.80, 0.25 }, { 0, 1, 0.5 }, 1, 10, 10, 0.5, 4, "white", "filled",
		true },
	{ "pink", { 0, 1, 0.90 }, { 0, 1, 0.5 }, 2.2, 10, 10, 0.5, 4, "white", "filled", true },
	{ "gray", { 0, 0, 0.85 }, { 0, 0, 0 }, 2.2, 10, 10, 0.5, 4, "white", "filled", true },
	{ "bw", { 0, 0, 0 }, { 0, 0, 0 }, 2.2, 8, 24, 0.1, 8, "white", "filled", true },
	{ "print", { 0, 0, 0 }, { 0, 0, 0 }, 2.2, 18, 30, 0.1, 8, "black", "solid", false },
};

const struct theme *theme_find(const char *name)
{
	for (size_t i = 0; i < sizeof themes / sizeof *themes; i++)
		if (strcmp(themes[i].name, name) == 0)
			return &themes[i];
	return NULL;
}

static double channel(double low, double high, double hue)
{
	hue += hue < 0 ? 1 : hue > 1 ? -1 : 0;
	if (hue * 6 < 1)
		return low + (high - low) * hue * 6;
	if (hue * 2 < 1)
		return high;
	return hue * 3 < 2 ? low + (high - low) * (2.0 / 3 - hue) * 6 : low;
}

static unsigned byte_of(double x, double gamma)
{
	double v = 255 * pow(x, gamma) + 0.5;

	return v < 0 ? 0 : v > 255 ? 255 : (unsigned)v;
}

const char *theme_colour(const struct theme *t, double weight, double skew, char to[THEME_COLOUR])
{
	double hsl[3], low, high;

	weight = fmin(fmax(weight, 0), 1);
	if (skew != 1)
		weight = (pow(skew, weight) - 1) / (skew - 1);
	for (int i = 0; i < 3; i++)
		hsl[i] = t->min[i] + weight * (t->max[i] - t->min[i]);
	high = hsl[2] <= 0.5 ? hsl[2] * (hsl[1] + 1) : hsl[2] + hsl[1] - hsl[2] * hsl[1];
	low = hsl[2] * 2 - high;
	snprintf(to, THEME_COLOUR, "#%02x%02x%02x",
		byte_of(channel(low, high, hsl[0] + 1.0 / 3), t->gamma),
		byte_of(channel(low, high, hsl[0]), t->gamma),
		byte_of(channel(low, high, hsl[0] - 1.0 / 3), t->gamma));
	return to;
}

double theme_font(const struct theme *t, double weight)
{
	return fmax(weight * weight * t->max_font, t->min_font);
}

double theme_pen(const struct theme *t, double weight)
{
	return fmax(weight * t->max_pen, t->min_pen);
}
