/* SPDX-License-Identifier: MIT
 * What reading a clock costs on this machine: ours in both modes, the system's, the bare counter.
 * Best of several rounds, because the cost of the reading is the question, not the machine's mood.
 * Built, not installed; run by hand. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "sys/clocksource.h"
#include "wire/clock.h"

enum { ROUNDS = 15, READINGS = 500000 };

static volatile enum clock_mode mode; /* volatile: read from a header in the agents */

static uint64_t read_ours(void)
{
	return clock_read(mode);
}

static uint64_t read_realtime(void)
{
	return clock_get_ns(CLOCK_REALTIME);
}

static uint64_t read_thread_cpu(void)
{
	return clock_get_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double ns_per_reading(uint64_t (*read)(void))
{
	double best = 1e9;
	uint64_t sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = clock_monotonic_ns();
		double ns;

		for (int i = 0; i < READINGS; i++)
			sum += read();
		ns = (double)(clock_monotonic_ns() - start_ns) / READINGS;
		best = ns < best ? ns : best;
	}
	return sum ? best : -1;
}

int main(void)
{
	static const struct {
		const char *name;
		uint64_t (*read)(void);
		enum clock_mode mode;
	} rows[] = {
		{ "clock_read, counter", read_ours, CLOCK_MODE_TSC },
		{ "clock_read, monotonic", read_ours, CLOCK_MODE_MONOTONIC },
		{ "bare counter (rdtsc, cntvct)", clock_ticks, CLOCK_MODE_TSC },
		{ "clock_gettime MONOTONIC", clock_monotonic_ns, CLOCK_MODE_MONOTONIC },
		{ "clock_gettime REALTIME", read_realtime, CLOCK_MODE_MONOTONIC },
		{ "clock_gettime THREAD_CPUTIME", read_thread_cpu, CLOCK_MODE_MONOTONIC },
	};
	const char *reason;
	enum clock_mode chosen = clock_choose(&reason);

	printf("%-30s %14s\n", "clock", "ns per reading");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mode = rows[i].mode;
		printf("%-30s %14.1f\n", rows[i].name, ns_per_reading(rows[i].read));
	}
	printf("a session here uses the %s: %s\n",
		chosen == CLOCK_MODE_TSC ? "counter" : "monotonic clock", reason);
	return 0;
}
