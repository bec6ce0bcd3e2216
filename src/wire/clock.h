/* SPDX-License-Identifier: MIT
 *
 * The session's clock: what agents stamp events with and how the tool turns stamps into
 * CLOCK_MONOTONIC ns. The tool picks the mode once (sys/clocksource.h) and passes it in the session
 * header, so all processes of a session stamp alike.
 *
 *	CLOCK_MODE_MONOTONIC	clock_gettime, ns; works everywhere
 *	CLOCK_MODE_TSC		the CPU's counter: rdtsc on x86, cntvct_el0 on aarch64; about a
 *				third of the cost; only where it runs at one rate on all CPUs
 *
 * Counter stamps are converted between two triples (counter, monotonic, realtime) taken around
 * them, by one 128-bit multiplication: exact to the error of the triples (tens of ns) and free of
 * overflow for any input. A counter reading is not ordered against the instructions around it; it
 * may be off by the few ns the CPU runs ahead.
 *
 * The only inline assembly outside symbol/. No system calls beyond the vDSO's. */
#ifndef WIRE_CLOCK_H
#define WIRE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum clock_mode {
	CLOCK_MODE_MONOTONIC,
	CLOCK_MODE_TSC,
};

/* One instant on three clocks. */
struct clock_triple {
	uint64_t ticks;        /* the CPU's counter; 0 on CPUs without one we know */
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
	uint64_t realtime_ns;  /* CLOCK_REALTIME: what torch, CUPTI and log files use */
};

static inline uint64_t clock_get_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_get_ns(CLOCK_MONOTONIC);
}

/* The CPU's counter. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Whether the CPU promises a counter that neither stops nor changes its rate. The kernel may know
 * better (unsynchronised sockets, some hypervisors): see sys/clocksource.h. */
static inline bool clock_has_steady_ticks(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#elif defined(__aarch64__)
	return true; /* by architecture */
#else
	return false;
#endif
}

/* A stamp in the session's clock. */
static inline uint64_t clock_read(enum clock_mode mode)
{
	return mode == CLOCK_MODE_TSC ? clock_ticks() : clock_monotonic_ns();
}

/* Takes the tightest of a few tries, so that an interrupt between two readings does no harm. */
static inline void clock_triple_take(struct clock_triple *ret_triple)
{
	enum { TRIES = 8 };
	struct clock_triple best = { 0 };
	uint64_t best_span = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t ticks = clock_ticks(), monotonic_ns = clock_monotonic_ns();
		uint64_t ticks_after = clock_ticks(), realtime_ns = clock_get_ns(CLOCK_REALTIME);
		uint64_t to_realtime_ns = (clock_monotonic_ns() - monotonic_ns) / 2;
		uint64_t span = ticks_after - ticks + to_realtime_ns; /* mixed units, only ranks */

		if (span >= best_span)
			continue;
		best_span = span;
		best = (struct clock_triple){ .ticks = ticks + (ticks_after - ticks) / 2,
			.monotonic_ns = monotonic_ns,
			.realtime_ns = realtime_ns - to_realtime_ns };
	}
	*ret_triple = best;
}

/* x as seen from the line through (a, fa) and (b, fb), a before b. Beyond the two the line goes
 * on; results outside uint64_t stop at its ends. Points that make no line: both run at one rate. */
static inline uint64_t clock_line(uint64_t x, uint64_t a, uint64_t fa, uint64_t b, uint64_t fb)
{
	uint64_t run = b - a, rise = fb - fa, way = x >= a ? x - a : a - x;
	unsigned __int128 move;

	if (b <= a || fb < fa)
		run = rise = 1;
	move = (unsigned __int128)way * rise / run;
	if (x < a)
		return move > fa ? 0 : fa - (uint64_t)move;
	return move > UINT64_MAX - fa ? UINT64_MAX : fa + (uint64_t)move;
}

/* A stamp of clock_read(mode) as CLOCK_MONOTONIC ns; `a` is the earlier triple. */
static inline uint64_t clock_to_monotonic_ns(enum clock_mode mode, const struct clock_triple *a,
	const struct clock_triple *b, uint64_t stamp)
{
	if (mode == CLOCK_MODE_MONOTONIC)
		return stamp;
	return clock_line(stamp, a->ticks, a->monotonic_ns, b->ticks, b->monotonic_ns);
}

/* A CLOCK_REALTIME stamp as CLOCK_MONOTONIC ns. A clock set back between the triples (b before a)
 * is taken as running at the monotonic rate from a. */
static inline uint64_t clock_realtime_to_monotonic_ns(
	const struct clock_triple *a, const struct clock_triple *b, uint64_t realtime_ns)
{
	return clock_line(
		realtime_ns, a->realtime_ns, a->monotonic_ns, b->realtime_ns, b->monotonic_ns);
}

#endif
