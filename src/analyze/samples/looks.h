/* SPDX-License-Identifier: MIT
 *
 * Looks: the samples of all threads that one look took, as a cluster: what they saw is not independent (interval.h). Memory is the
 * same for any number of looks: of those that a late sample belongs to, the oldest are closed before it comes. */
#ifndef ANALYZE_SAMPLES_LOOKS_H
#define ANALYZE_SAMPLES_LOOKS_H

#include <stdint.h>

enum {
	LOOKS_OPEN = 4096
}; /* power of two; seconds of looks, where sleepers wait 50 ms for their next sample */

struct looks {
	struct {
		uint64_t t_ns;
		double value;
	} open[LOOKS_OPEN];
	double squares; /* of those that are closed */
};

void looks_add(struct looks *l, uint64_t t_ns, double value);
/* The sum over all looks of the square of what their samples weigh together. */
double looks_squares(const struct looks *l);

#endif
