/* SPDX-License-Identifier: MIT
 * See quiet.h. */
#include "agent/quiet.h"

#include <stdatomic.h>

#include "agent/calls.h"
#include "agent/compat.h"
#include "agent/line_hooks.h"
#include "agent/link.h"
#include "agent/tree.h"

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
uint64_t quiet_check(uint64_t now)
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
