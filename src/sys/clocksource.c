/* SPDX-License-Identifier: MIT
 * See clocksource.h. */
#include "sys/clocksource.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

#define SOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#if defined(__aarch64__)
static const char counter_source[] = "arch_sys_counter";
#else
static const char counter_source[] = "tsc";
#endif

enum clock_mode clock_decide(bool has_steady_ticks, const char *source, const char **ret_reason)
{
	enum clock_mode mode = CLOCK_MODE_MONOTONIC;
	const char *reason;

	if (!has_steady_ticks) {
		reason = "the CPU does not promise a steady cycle counter";
	} else if (*source == '\0') {
		reason = "the kernel's clock source is unknown";
	} else if (strcmp(source, counter_source) != 0) {
		reason = "the kernel does not use the CPU's counter as its clock source";
	} else {
		mode = CLOCK_MODE_TSC;
		reason = "the CPU's counter is steady and the kernel's own clock source";
	}
	if (ret_reason)
		*ret_reason = reason;
	return mode;
}

enum clock_mode clock_choose(const char **ret_reason)
{
	struct buf source = BUF_INIT;
	struct err e = ERR_INIT;
	enum clock_mode mode;
	const char *text = "";

	if (buf_load(&source, SOURCE_FILE, 256, &e) == 0 && source.n) {
		source.data[strcspn(source.data, "\n")] = '\0';
		text = source.data;
	}
	mode = clock_decide(clock_has_steady_ticks(), text, ret_reason);
	buf_done(&source);
	return mode;
}
