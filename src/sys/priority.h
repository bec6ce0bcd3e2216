/* SPDX-License-Identifier: MIT
 *
 * Being in time on a busy machine: who looks a thousand times a second for some microseconds should not queue behind programs that
 * compute. From Linux 6.12 on anybody may ask for short turns, which come sooner and are as much CPU time as before; with
 * CAP_SYS_NICE we go first, too. Of the calling thread alone: what it starts later has neither. */
#ifndef SYS_PRIORITY_H
#define SYS_PRIORITY_H

#include <stdbool.h>

struct priority { /* as it was before */
	bool is_raised;
	int nice;
};

/* may_be_first: else short turns alone. */
void priority_raise(struct priority *ret_before, bool may_be_first);
void priority_restore(const struct priority *before);

#endif
