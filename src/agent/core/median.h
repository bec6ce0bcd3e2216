/* SPDX-License-Identifier: MIT
 *
 * The middle of some measurements, of which a few may be wrong by any amount: times in which the CPU changed its pace, or
 * other programs had it. And how far it may be off.
 *
 *	double times[N]; …
 *	struct median m = median_of(times, N);	puts them in order */
#ifndef AGENT_CORE_MEDIAN_H
#define AGENT_CORE_MEDIAN_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

struct median {
	double value; /* the median; 0 of none */
	double error; /* it is off by no more, as a part of it, in 95 of 100 cases */
};

struct median median_of(double *v, size_t n);

#pragma GCC visibility pop

#endif
