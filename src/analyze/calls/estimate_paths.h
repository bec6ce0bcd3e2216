/* SPDX-License-Identifier: MIT
 *
 * Whose a time was while functions were off (estimate.h), and where it belongs. What is off is seen in windows only; outside of them
 * its time is that of the nearest caller that is on, and what it calls seems to be called by that one. So of
 *
 *	main → off → on → off_too		(seen in windows)
 *
 * the calls and times outside of windows are found at main and main → on: a path without what is off. From there they are
 * given back: own time of `off` out of main's, of `off_too` out of main → on's, never more than there is; and as much
 * of main → on is moved below `off` as its calls in windows say. */
#ifndef ANALYZE_CALLS_ESTIMATE_PATHS_H
#define ANALYZE_CALLS_ESTIMATE_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct nodes;

/* Filled by the caller, by node; arrays are borrowed. */
struct estimate_paths_input {
	const struct nodes *nodes;
	const uint32_t *rows; /* by node + 1: its function */
	const unsigned char *is_off;
	const double *growth; /* of one that is off: calls outside of windows for each one seen */
	const double *self_s; /* of one that is off: own time to be added */
};

struct estimate_paths {
	uint32_t *stripped; /* node + 1 whose time it was; 0: nobody's */
	double *got_s;      /* of one that is off: own time given back, self_s at most */
	double *self_s;     /* own time, with all that was given and taken */
	double *total_s;
	double *moved; /* of one that is on below one that is off: which part of stripped's calls are its */
	double threads_s; /* totals of all threads: no function has more */
	double there_s;   /* own time of all that something was taken from, before */
};

void estimate_paths_build(struct estimate_paths *p, const struct estimate_paths_input *in);
void estimate_paths_done(struct estimate_paths *p);

#endif
