/* SPDX-License-Identifier: MIT
 * See instructions.h. */
#include "bench/instructions.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

bool instructions_start(struct instructions *c)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1 };

	c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return c->fd >= 0 && ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

bool instructions_stop(struct instructions *c, uint64_t *ret)
{
	uint64_t value = 0;
	bool is_good = c->fd >= 0 && ioctl(c->fd, PERF_EVENT_IOC_DISABLE, 0) == 0 &&
		read(c->fd, &value, sizeof value) == sizeof value && value > 0;

	if (c->fd >= 0)
		close(c->fd);
	if (is_good)
		*ret = value;
	return is_good;
}
