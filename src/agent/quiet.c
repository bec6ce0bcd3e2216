/* SPDX-License-Identifier: MIT
 * See quiet.h. */
#include "agent/quiet.h"

#include <stdatomic.h>

#include "agent/calls.h"
#include "agent/compat.h"
#include "agent/line_hooks.h"
#include "agent/link.h"
#include "agent/tree.h"

static _Atomic int is_asked;

/* Another session may have begun meanwhile. */
static int take_hooks_out(void *unused)
{
	(void)unused;
	atomic_store(&is_asked, 0);
	if (leadline_link_is_live())
		return 0;
	calls_stop();
	line_hooks_stop();
	tree_pause();
	PyErr_Clear();
	return 0;
}

uint64_t quiet_check(uint64_t now)
{
	if (!leadline_link_is_live() && !atomic_exchange(&is_asked, 1) &&
		Py_AddPendingCall(take_hooks_out, NULL) < 0)
		atomic_store(&is_asked, 0);
	return now +
		(uint64_t)(((unsigned __int128)QUIET_CHECK_MS * 1000000 << 32) /
			(tree_ns_per_tick ? tree_ns_per_tick : 1));
}
