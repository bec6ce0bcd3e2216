/* SPDX-License-Identifier: MIT
 *
 * One formatter for every number the tool shows: three significant digits, a unit a reader knows,
 * and "unknown" (UNITS_UNKNOWN) for what was not measured, never 0.
 *
 *	char t[UNITS_TEXT];
 *	units_format(t, UNIT_SECONDS, 0.01234);    "12.3 ms"
 *	units_format(t, UNIT_BYTES, 1536);         "1.50 KiB"
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <math.h>

enum unit {
	UNIT_COUNT,   /* "950", "12.3 k", "4.50 M" */
	UNIT_SECONDS, /* "123 ns" … "12.3 s", "2 min 5 s", "1 h 1 min" */
	UNIT_BYTES,   /* "950 B", "1.50 KiB" */
	UNIT_SHARE,   /* 0.123 as "12.3 %" */
	UNIT_RATIO,   /* "1.23" */
	UNIT_HERTZ,   /* "1.00 kHz" */
};

enum { UNITS_TEXT = 32 };

#define UNITS_UNKNOWN ((double)NAN)

static inline int units_is_known(double value)
{
	return !isnan(value);
}

/* Returns `out`. */
const char *units_format(char out[UNITS_TEXT], enum unit unit, double value);

/* A rate in words: "+5.00 MiB/s". The sign is always shown. */
const char *units_format_rate(char out[UNITS_TEXT], enum unit unit, double per_second);

#endif
