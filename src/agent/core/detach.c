/* SPDX-License-Identifier: MIT
 * See detach.h. */
#include "agent/core/detach.h"

#include <stdatomic.h>

#include "agent/calls/calls.h"
#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/lines/line_hooks.h"

static void take_hooks_out(void)
{
	struct compat_error error = compat_error_take();

	calls_stop();
	line_hooks_stop();
	tree_pause();
	PyErr_Clear();
	compat_error_put(error);
}

/* Without the GIL several threads may find out at once: one of them does it. */
uint64_t detach_check(uint64_t now)
{
	static _Atomic bool is_being_done;

	if (leadline_link_is_over() && !atomic_exchange(&is_being_done, true)) {
		take_hooks_out();
		atomic_store(&is_being_done, false);
	}
	return now +
		(uint64_t)(((unsigned __int128)QUIET_CHECK_MS * 1000000 << 32) /
			(tree_ns_per_tick ? tree_ns_per_tick : 1));
}
