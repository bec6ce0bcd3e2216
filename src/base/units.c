/* SPDX-License-Identifier: MIT
 * See units.h. */
#include "base/units.h"

#include <stdio.h>

#include "base/banned.h"

/* Three significant digits; what would round up to 1000 is left to the caller's next scale. */
static int digits_after_point(double value)
{
	double a = fabs(value);

	return a < 9.995 ? 2 : a < 99.95 ? 1 : 0;
}

static const char *scaled(
	char *out, double value, double step, const char *const names[], int n_names)
{
	int scale = 0;

	while (scale < n_names - 1 && fabs(value) >= (step == 1024 ? 1023.5 : 999.5)) {
		value /= step;
		scale++;
	}
	snprintf(out, UNITS_TEXT, "%.*f%s%s",
		scale || value != floor(value) ? digits_after_point(value) : 0, value,
		*names[scale] ? " " : "", names[scale]);
	return out;
}

static const char *seconds(char *out, double s)
{
	static const char *const names[] = { "ns", "\xc2\xb5s", "ms", "s" };
	double a = fabs(s), value = s * 1e9;
	int scale = 0;

	if (a >= 3599.5)
		snprintf(out, UNITS_TEXT, "%.0f h %02.0f min", trunc(s / 3600 + 1e-9),
			trunc(fmod(a, 3600) / 60));
	else if (a >= 119.5)
		snprintf(out, UNITS_TEXT, "%.0f min %02.0f s", trunc((s + 0.5) / 60),
			trunc(fmod(a + 0.5, 60)));
	if (a >= 119.5)
		return out;
	while (scale < 3 && fabs(value) >= 999.5) {
		value /= 1000;
		scale++;
	}
	snprintf(out, UNITS_TEXT, "%.*f %s",
		scale == 0 && fabs(value - round(value)) < 1e-6 ? 0 : digits_after_point(value),
		value, names[value == 0 ? 3 : scale]);
	return out;
}

const char *units_format(char out[UNITS_TEXT], enum unit unit, double value)
{
	static const char *const counts[] = { "", "k", "M", "G", "T" };
	static const char *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	static const char *const hertz[] = { "Hz", "kHz", "MHz", "GHz" };

	if (!units_is_known(value)) {
		snprintf(out, UNITS_TEXT, "unknown");
		return out;
	}
	switch (unit) {
	case UNIT_COUNT:
		return scaled(out, value, 1000, counts, 5);
	case UNIT_SECONDS:
		return seconds(out, value);
	case UNIT_BYTES:
		return scaled(out, value, 1024, bytes, 6);
	case UNIT_HERTZ:
		return scaled(out, value, 1000, hertz, 4);
	case UNIT_SHARE:
		snprintf(out, UNITS_TEXT, "%.*f %%", fabs(value) < 0.9995 && value != 0 ? 1 : 0,
			value * 100);
		return out;
	case UNIT_RATIO:
		snprintf(out, UNITS_TEXT, "%.*f", digits_after_point(value), value);
		return out;
	}
	return out;
}

const char *units_format_rate(char out[UNITS_TEXT], enum unit unit, double per_second)
{
	char text[UNITS_TEXT];

	units_format(text, unit, per_second);
	snprintf(out, UNITS_TEXT, "%s%.28s/s", per_second >= 0 ? "+" : "", text);
	return out;
}
