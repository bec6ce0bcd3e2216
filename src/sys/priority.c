/* SPDX-License-Identifier: MIT
 * See priority.h. What the kernel does not grant is gone without. */
#include "sys/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

enum { FIRST_NICE = -10 };

static const uint64_t TURN_NS = 100000; /* the least there is */

/* As of linux/sched/types.h, which does not go together with sched.h of every libc. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

enum { RESET_ON_FORK = 1 };

static int set(int nice, uint64_t turn_ns)
{
	struct attributes a = { .size = sizeof a,
		.policy = SCHED_OTHER,
		.flags = RESET_ON_FORK,
		.nice = nice,
		.runtime_ns = turn_ns };

	return (int)syscall(SYS_sched_setattr, 0, &a, 0);
}

void priority_raise(struct priority *ret_before, bool may_be_first)
{
	*ret_before = (struct priority){ .is_raised = sched_getscheduler(0) == SCHED_OTHER,
		.nice = getpriority(PRIO_PROCESS, 0) };
	if (!ret_before->is_raised) /* somebody chose another way */
		return;
	/* Who was told to be modest stays so, and so does who is first already. */
	if (!may_be_first || ret_before->nice > 0 || ret_before->nice < FIRST_NICE ||
		set(FIRST_NICE, TURN_NS) < 0)
		set(ret_before->nice, TURN_NS);
}

void priority_restore(const struct priority *before)
{
	if (before->is_raised)
		set(before->nice, 0);
}
