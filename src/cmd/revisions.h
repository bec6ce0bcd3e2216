/* SPDX-License-Identifier: MIT
 *
 * Two checkouts of two git revisions, in worktrees of their own under a folder that goes away afterwards. The user's own
 * checkout is not touched. */
#ifndef CMD_REVISIONS_H
#define CMD_REVISIONS_H

#include "base/opts.h"
#include "sys/private_dir.h"

struct err;

struct revisions {
	struct private_dir root;
	char folders[2][PRIVATE_BASE_PATH + 4]; /* in it; "": none */
};

/* build: shell command to run in each, or NULL. On failure nothing stays behind. */
int revisions_open(
	struct revisions *r, const struct opt_list *names, const char *build, struct err *e);
void revisions_close(struct revisions *r);

#endif
