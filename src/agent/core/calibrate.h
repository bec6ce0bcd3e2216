/* SPDX-License-Identifier: MIT
 *
 * What a traced call costs in this interpreter on this machine, measured by tracing small functions for some
 * milliseconds. Reports subtract it. It is told together with the pace (cpu_speed.h) at which it was measured: the program may
 * run at another. */
#ifndef AGENT_CORE_CALIBRATE_H
#define AGENT_CORE_CALIBRATE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

struct trace_cost;

/* Before tracing starts, with the GIL and one thread only; runs Python code of its own, no line of the program's. False:
 * it could not be measured. tree_start is to follow. */
bool calibrate(struct trace_cost *ret);

#pragma GCC visibility pop

#endif
