/* SPDX-License-Identifier: MIT
 *
 * How many bytes until the next sample: exponential with a given mean, so that each byte is as likely as any other to be the one, and
 * what was sampled before says nothing of what comes. Without libm, which a preloaded library must not need. */
#ifndef AGENT_MEMORY_DISTANCE_H
#define AGENT_MEMORY_DISTANCE_H

#include <stdint.h>
#include <string.h>

/* xorshift64*; the state must not be 0. */
static inline uint64_t distance_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 0x9e3779b97f4a7c15u;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

/* The natural logarithm of a normal number above 0, to 1e-9: the exponent's part and, of the mantissa m in [1, 2), the series of
 * 2 artanh((m − 1) ÷ (m + 1)). */
static inline double distance_log(double x)
{
	uint64_t bits;
	double m, s, s2;
	int exponent;

	memcpy(&bits, &x, sizeof bits);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
	memcpy(&m, &bits, sizeof m);
	s = (m - 1) / (m + 1);
	s2 = s * s;
	return exponent * 0.6931471805599453 +
		2 * s *
		(1 + s2 * (1.0 / 3 + s2 * (1.0 / 5 + s2 * (1.0 / 7 + s2 * (1.0 / 9 + s2 * (1.0 / 11 + s2 * (1.0 / 13 + s2 / 15)))))));
}

/* At least 1, and at most 37 times the mean. */
static inline uint64_t distance_next(uint64_t *state, uint64_t mean)
{
	/* in (0, 1]: 2^-53 at least */
	double u = (double)((distance_random(state) >> 11) + 1) * 0x1p-53;

	return (uint64_t)(-distance_log(u) * (double)mean) + 1;
}

#endif
