/* SPDX-License-Identifier: MIT
 *
 * Several processes, or many threads, at one glance: which threads stand at the same place. */
#ifndef ANALYZE_SAMPLES_SNAPSHOTS_H
#define ANALYZE_SAMPLES_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cpython/snapshot.h"

struct arena;

struct snapshot_member {
	size_t process, thread; /* indices */
};

struct snapshot_group { /* threads with the same stack: functions, files and lines; and locals */
	const struct snapshot_member *members; /* at least 1 */
	size_t n;
	bool is_main; /* they are the main threads of their processes */
};

struct snapshots {
	const struct snapshot *const *v; /* borrowed */
	size_t n;
	const struct snapshot_group *groups; /* of main threads first, each kind by size */
	size_t n_groups, n_main_groups;
};

const struct snapshots *snapshots_build(struct arena *a, const struct snapshot *const *v, size_t n);

/* The thread that stands for the group. */
const struct snapshot_thread *snapshots_thread(
	const struct snapshots *s, const struct snapshot_member *m);

#endif
