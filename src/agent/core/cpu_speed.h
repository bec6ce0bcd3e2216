/* SPDX-License-Identifier: MIT
 *
 * How fast this CPU is just now: the time of a fixed piece of work of the interpreter's own kind (numbers and a look-up, no
 * Python code, no event). It grows to twice its length while the core's other hyperthread is busy, and what tracing
 * costs grows alike; so costs are kept in units of it (calibrate.h), and hooks measure it now and then.
 *
 *	cpu_speed_start();
 *	uint64_t ticks = cpu_speed_measure(clock);	some microseconds */
#ifndef AGENT_CORE_CPU_SPEED_H
#define AGENT_CORE_CPU_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/clock.h"

#pragma GCC visibility push(hidden)

/* Once, with the GIL. False: no memory; then every measurement is 0. */
bool cpu_speed_start(void);

/* With the GIL, where there is one; any thread. 0: not now, as an exception is on its way. */
uint64_t cpu_speed_measure(enum clock_mode clock);

#pragma GCC visibility pop

#endif
