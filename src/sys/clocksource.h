/* SPDX-License-Identifier: MIT
 *
 * Which clock a session uses (wire/clock.h): the CPU's counter where CPU and kernel both trust it,
 * else CLOCK_MONOTONIC. Asked once per session, by the tool. */
#ifndef SYS_CLOCKSOURCE_H
#define SYS_CLOCKSOURCE_H

#include <stdbool.h>

#include "wire/clock.h"

/* *ret_reason (may be NULL) gets one sentence for `doctor`, a constant. */
enum clock_mode clock_choose(const char **ret_reason);

/* The decision alone: `source` is the kernel's current clock source, "" when unknown. */
enum clock_mode clock_decide(bool has_steady_ticks, const char *source, const char **ret_reason);

#endif
